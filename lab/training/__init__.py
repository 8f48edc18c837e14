"""Training the static encoder: from functions and teachers to the folder that `treeline.encoder.static` loads."""
