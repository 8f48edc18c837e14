"""Thumbs and opens: kept per (question, function) without a person, and used as a small, explained lift."""
