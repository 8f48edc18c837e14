"""Why a filter leaves nothing: what it asks for is not in the index, and what is near it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from engine.protocol import Filters

Facets = Mapping[str, Mapping[str, int]]
NAMED = 5


def filter_hints(filters: Filters, known: Callable[[], Facets]) -> list[str]:
    """A sentence for each filter that nothing in the index passes; `known` tells what may be filtered by."""
    asked = {"language": filters.language, "repo": filters.repo, "partition": filters.partition}
    if not any(asked.values()):
        prefix = filters.path_prefix
        return [f"path {prefix}: paths begin at the repository, without a slash"] if prefix else []
    there = known()
    hints = []
    for name, value in asked.items():
        values = there.get(name, {})
        if value and value not in values:
            near = get_close_matches(value, values, n=NAMED, cutoff=0.5)
            most = sorted(values, key=lambda one: -values[one])[:NAMED]
            others = f"{'near it' if near else 'there is'}: {', '.join(near or most)}"
            hints.append(f"{name} {value}: there is none; {others}")
    return hints
