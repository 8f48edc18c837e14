"""A question in the words of the open index: its filters as they are spelt there, slips of the keyboard mended, and
what it asks for that is not there."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from treeline.engine.protocol import NO_FILTERS, Engine
from treeline.search.lanes.results import LaneResults
from treeline.search.query import Query
from treeline.search.question.filter_hints import Facets, as_spelt, filter_hints, language_hint
from treeline.search.question.routing import Route
from treeline.search.question.spelling import Spelt, doubtful, spelt
from treeline.search.side_by_side import Run

SPELLING_SECONDS = 0.5  # for an engine to say what is near a mistyped word; the question goes on as it is without


class Wording:
    """Of one open generation."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def as_spelt(self, query: Query) -> Query:
        """The question with its filters in the index's own spelling."""
        if query.filters == NO_FILTERS:
            return query
        return replace(query, filters=as_spelt(query.filters, self._known))

    def mended(self, query: Query, way: Route, run: Run) -> Spelt:
        """The question without slips of the keyboard; as it is where the engine does not say at once what is near."""
        words = [] if query.as_typed else doubtful(query.text, way)
        if not words:
            return Spelt(query.text)
        look = {"spelling": lambda: {word: self._engine.spellings(word) for word in words}}
        near = run(look, {"spelling": SPELLING_SECONDS}).values.get("spelling")
        return Spelt(query.text, unsure=True) if near is None else spelt(query.text, near)

    def hints(self, query: Query, found: LaneResults) -> list[str]:
        """What the question asks for and the index has not: a language, and where nothing was found, its filters; and
        that everything contained what it excludes."""
        why = [] if found.found else filter_hints(query.filters, lambda: self._known)
        if found.excluded and not found.found:
            words = " or ".join(f"“{word}”" for word in query.without)
            why.append(f"everything that was found contains {words}, which the question excludes")
        return why or language_hint(query.text, lambda: self._known)

    @cached_property
    def _known(self) -> Facets:
        """What there is to filter by."""
        return self._engine.facets()
