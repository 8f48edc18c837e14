"""The words that some model families want before a question and before a passage."""

from __future__ import annotations

# Matched by a part of the model's name; from the families' own model cards.
PROMPTS = {
    "bge-": ("Represent this sentence for searching relevant passages: ", ""),
    "e5-": ("query: ", "passage: "),
    "nomic-embed": ("search_query: ", "search_document: "),
    "snowflake-arctic-embed": ("Represent this sentence for searching relevant passages: ", ""),
}


def prompts(name: str) -> tuple[str, str]:
    """The question's and the passage's prompt of a model's family; empty for families that want none."""
    lowered = name.lower()
    return next((pair for part, pair in PROMPTS.items() if part in lowered), ("", ""))
