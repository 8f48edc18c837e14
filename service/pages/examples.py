"""Questions to try: their best answers do not contain their words."""

from __future__ import annotations

EXAMPLES = (
    "function that retries with exponential backoff",
    "sort list of dictionaries by key",
    "convert bytes to a human readable size",
    "remove html tags from a string",
    "find the longest common prefix",
    "how to check if a port is in use",
)
