"""Filters as the index spells them; why one leaves nothing: what it asks for is not there, and what is near it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from treeline.engine.protocol import NO_FILTERS, Filters
from treeline.rerank.language import ALIKE, LANGUAGES, WORDS, named

Facets = Mapping[str, Mapping[str, int]]
NAMED = 5


def as_spelt(filters: Filters, known: Facets) -> Filters:
    """The same filters where only upper and lower case differ from what is in the index; `js` is a language too."""

    def spelt(name: str, value: str) -> str:
        values = known.get(name, {})
        if not value or value in values:
            return value
        return next((one for one in values if one.casefold() == value.casefold()), value)

    return replace(
        filters,
        language=spelt("language", _language(filters.language, known)),
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
            hints.append(_not_there(name, value, values))
    if filters.path_prefix and not hints:
        hints.append(f"path {filters.path_prefix}: paths begin at the repository, without a slash, and case counts")
    return hints


def language_hint(question: str, known: Callable[[], Facets]) -> list[str]:
    """A sentence where the question asks for a language ("… in go") that the index has nothing of."""
    wanted, rest = named(question)
    if not wanted or rest == question:  # none, or it may be about the word
        return []
    languages = known().get("language", {})
    there = wanted in languages or ALIKE.get(wanted) in languages
    return [] if there or not languages else [_not_there("language", wanted, languages)]


def _language(value: str, known: Facets) -> str:
    if value in known.get("language", {}):
        return value
    return LANGUAGES.get(value.lower()) or WORDS.get(value.lower()) or value


def _not_there(name: str, value: str, values: Mapping[str, int]) -> str:
    if not any(values):
        return f"{name} {value}: this index has no {name}s at all"
    near = get_close_matches(value, values, n=NAMED, cutoff=0.5)
    most = sorted(filter(None, values), key=lambda one: -values[one])[:NAMED]
    return f"{name} {value}: there is none; {'near it' if near else 'there is'}: {', '.join(near or most)}"
