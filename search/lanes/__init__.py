"""The lanes, each a way to find functions that answers with a ranked list; and what they brought together."""
