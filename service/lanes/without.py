"""Drops what contains a word that the question excludes, from the lists of all lanes before they are fused.

The engines find functions that have words, not those that lack them; the lanes' few hundred can be looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from corpus.analysis import analyse, terms
from engine.hits import chosen, ids_of
from engine.protocol import Engine
from rerank.ranked import RankedList
from service.lanes.results import LaneResults
from service.question.exact import ExactList


def without(engine: Engine, lanes: LaneResults, words: Sequence[str]) -> LaneResults:
    """The same lists without the functions that contain one of the words, in whatever form or part of a name."""
    excluded = [found for word in words if (found := set(terms(word)))]
    if not excluded:
        return lanes
    every = list(dict.fromkeys(id_ for ranked in lanes.lists for id_ in ids_of(ranked.hits)))
    dropped = set()
    for function in engine.fetch(every):
        contained = set(analyse(function).split())
        if any(word <= contained for word in excluded):
            dropped.add(function.id)
    return replace(lanes, lists=tuple(_kept(ranked, dropped) for ranked in lanes.lists))


def _kept(ranked: RankedList, dropped: Collection[str]) -> RankedList:
    places = [place for place, id_ in enumerate(ids_of(ranked.hits)) if id_ not in dropped]
    stages = [ranked.stages[place] for place in places] if ranked.stages else ranked.stages
    kept = replace(ranked, hits=chosen(ranked.hits, places), stages=stages)
    if not isinstance(kept, ExactList):
        return kept
    gone = len(ranked.hits) - len(places)
    exact = replace(kept.exact, found=kept.exact.found - gone, functions=len(places), narrowed=True)
    return replace(kept, exact=exact)
