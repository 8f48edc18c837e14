"""Training the static encoder: from functions and teachers to the folder that `encoder.static` loads."""
