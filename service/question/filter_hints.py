"""Filters as the index spells them; why one leaves nothing: what it asks for is not there, and what is near it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from engine.protocol import NO_FILTERS, Filters

Facets = Mapping[str, Mapping[str, int]]
NAMED = 5


def as_spelt(filters: Filters, known: Facets) -> Filters:
    """The same filters where only upper and lower case differ from what is in the index."""

    def spelt(name: str, value: str) -> str:
        values = known.get(name, {})
        if not value or value in values:
            return value
        return next((one for one in values if one.casefold() == value.casefold()), value)

    return replace(
        filters,
        language=spelt("language", filters.language),
        repo=spelt("repo", filters.repo),
        partition=spelt("partition", filters.partition),
    )


def filter_hints(filters: Filters, known: Callable[[], Facets]) -> list[str]:
    """A sentence for each filter that nothing in the index passes; `known` tells what may be filtered by."""
    if filters == NO_FILTERS:
        return []
    there = known()
    filters = as_spelt(filters, there)
    asked = {"language": filters.language, "repo": filters.repo, "partition": filters.partition}
    hints = []
    for name, value in asked.items():
        values = there.get(name, {})
        if value and value not in values:
            near = get_close_matches(value, values, n=NAMED, cutoff=0.5)
            most = sorted(values, key=lambda one: -values[one])[:NAMED]
            others = f"{'near it' if near else 'there is'}: {', '.join(near or most)}"
            hints.append(f"{name} {value}: there is none; {others}")
    if filters.path_prefix and not hints:
        hints.append(f"path {filters.path_prefix}: paths begin at the repository, without a slash, and case counts")
    return hints
