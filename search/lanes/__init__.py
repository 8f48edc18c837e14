"""The lanes: each finds units its own way and returns a ranked list."""
