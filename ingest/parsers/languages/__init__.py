"""One file per language, each with its `GRAMMARS`; a new file here is found by itself."""
