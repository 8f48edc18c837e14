"""One file per language, each with a `GRAMMAR`; a new file here is found by itself."""
