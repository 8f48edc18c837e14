"""Presents answers: rows for JSON, sentences, highlighted code, hidden characters made visible."""
