"""What is shown of an answer: rows for JSON, sentences, coloured code, hidden characters made visible."""
