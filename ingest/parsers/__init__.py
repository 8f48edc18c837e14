"""Parsers: from the text of a file to its functions and to the names that they refer to."""
