"""Drops what contains a word that the question excludes, from the lists of all lanes before they are fused.

The engines find functions that have words, not those that lack them; the lanes' few hundred can be looked at. Where
that leaves fewer than were asked for, the lanes are asked once more, for more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from treeline.corpus.analysis import analyse, terms
from treeline.engine.hits import chosen, ids_of
from treeline.engine.protocol import Engine
from treeline.rerank.ranked_list import RankedList
from treeline.search.lanes.results import LaneResults
from treeline.search.question.exact import ExactList

# Times as deep as usual, the second time. Some 5,000 functions are then looked at, which takes about a second; of a
# word that all but one in 200 functions have, a page is left.
DEEPER = 8


class Without:
    """The words that one question excludes; it remembers which functions contain them, because the lists overlap."""

    def __init__(self, engine: Engine, words: Sequence[str]) -> None:
        self._engine = engine
        self._excluded = [found for word in words if (found := set(terms(word)))]
        self._dropped: dict[str, bool] = {}

    def filled(self, ask: Callable[[int], LaneResults], depth: int, wanted: int) -> LaneResults:
        """What is left of what the lanes bring, `ask`ed for so many each; for more where fewer than `wanted` are left
        and a lane has more."""
        found = ask(depth)
        left = self.left_of(found)
        if self._excluded and len(left.found) < wanted and any(len(ranked.hits) >= depth for ranked in found.lists):
            left = self.left_of(ask(DEEPER * depth))
        return left

    def left_of(self, lanes: LaneResults) -> LaneResults:
        """The same lists without the functions that contain one of the words, in whatever form or part of a name."""
        if not self._excluded:
            return lanes
        every = dict.fromkeys(id_ for ranked in lanes.lists for id_ in ids_of(ranked.hits))
        for function in self._engine.fetch([id_ for id_ in every if id_ not in self._dropped]):
            contained = set(analyse(function).split())
            self._dropped[function.id] = any(word <= contained for word in self._excluded)
        lists = tuple(map(self._kept, lanes.lists))
        return replace(lanes, lists=lists, excluded=any(self._dropped.get(id_) for id_ in every))

    def _kept(self, ranked: RankedList) -> RankedList:
        places = [place for place, id_ in enumerate(ids_of(ranked.hits)) if not self._dropped.get(id_)]
        stages = [ranked.stages[place] for place in places] if ranked.stages else ranked.stages
        kept = replace(ranked, hits=chosen(ranked.hits, places), stages=stages)
        if not isinstance(kept, ExactList):
            return kept
        gone = len(ranked.hits) - len(places)
        exact = replace(kept.exact, found=kept.exact.found - gone, functions=len(places), narrowed=True)
        return replace(kept, exact=exact)
