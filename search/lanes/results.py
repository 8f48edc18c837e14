"""What the lanes of one search brought, and which of them were left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from treeline.engine.hits import Distinct
from treeline.rerank.ranked_list import RankedList
from treeline.search.lanes.keyword import CHUNKS
from treeline.search.lanes.written import WrittenList
from treeline.search.question.exact import Exact, ExactList
from treeline.search.question.routing import Route
from treeline.search.question.spelling import Spelt

KEYWORD, DENSE, TFIDF, GRAPH, CALLEES, WRITTEN = "keyword", "dense", "tfidf", "graph", "callees", "written"
MEANING = "meaning"  # the last relaxation: no function has any of the words
UNFOUND = "no function here contains these words; what follows"


@dataclass(frozen=True, slots=True)
class Degradation:
    """A lane that was left out of an answer, and why."""

    lane: str
    reason: str


@dataclass(frozen=True)
class LaneResults:
    """The ranked lists of one search before fusion, with what was looked for, the route taken and what was
    left out."""

    spelt: Spelt
    route: Route
    lists: tuple[RankedList, ...]
    degraded: tuple[Degradation, ...]
    timings: Mapping[str, float]  # milliseconds per lane
    excluded: bool = False  # whether some were dropped for a word in them: the rest does not tell which words there are

    @cached_property
    def exact(self) -> Exact | None:
        """What the call graph says to a structural question that its lane was asked, and what is only written."""
        known = next((ranked for ranked in self.lists if isinstance(ranked, ExactList)), None)
        written = next((ranked for ranked in self.lists if isinstance(ranked, WrittenList)), None)
        if known is None:
            return None
        cut = known.exact.found > known.exact.functions  # then those beyond the list would be counted twice
        if written is None or cut:
            return known.exact
        more = len(Distinct([known.hits, written.hits])) - len(known.hits)
        return replace(known.exact, written=more, all_written=written.complete, written_classes=written.classes)

    @property
    def relaxed(self) -> tuple[str, ...]:
        """The relaxation stages that were needed beyond the exact one, in their order; where none of them found a word
        of the question, that what was found is only near it in meaning."""
        stages = {ranked.lane: ranked.stages for ranked in self.lists}.get(KEYWORD)
        if stages is None:
            return ()
        beyond = tuple(stage for stage in dict.fromkeys(stages) if stage != "exact")
        return (*beyond, MEANING) if self._by_meaning and self._pieces is not None else beyond

    @property
    def unfound(self) -> str:
        """A sentence where no function has any of the words, not even a near spelling of one; else nothing."""
        if self._pieces is None:
            return ""
        if not self._by_meaning:
            return f"{UNFOUND} has only pieces of them" if self._pieces else ""
        return f"{UNFOUND} is the nearest by meaning{', or has pieces of them' if self._pieces else ''}"

    @property
    def _by_meaning(self) -> bool:
        return any(ranked.hits and base(ranked.lane) == DENSE for ranked in self.lists)

    @property
    def _pieces(self) -> bool | None:
        """Whether heads and tails of the words are all that was found of them: whole words, even in near spellings,
        are found before those. Nothing where whole words were found or may have been, or nobody looked for them."""
        found = {base(ranked.lane): ranked for ranked in self.lists if base(ranked.lane) != DENSE}
        keyword = found.pop(KEYWORD, None)
        if keyword is None or self.excluded or any(ranked.hits for ranked in found.values()):
            return None
        return bool(keyword.hits) if all(stage == CHUNKS for stage in keyword.stages) else None

    @cached_property
    def found(self) -> Distinct:
        """The different functions that the lanes brought together."""
        return Distinct([ranked.hits for ranked in self.lists])

    def only(self, *lanes: str) -> LaneResults:
        """The same search with these lanes alone (`dense` stands for every encoder's)."""
        kept = tuple(ranked for ranked in self.lists if ranked.lane in lanes or base(ranked.lane) in lanes)
        return replace(self, lists=kept)


def base(lane: str) -> str:
    """`dense:NAME` is a dense lane."""
    return lane.partition(":")[0]
