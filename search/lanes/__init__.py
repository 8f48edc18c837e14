"""The lanes: each a way to find functions, which answers with a ranked list."""
