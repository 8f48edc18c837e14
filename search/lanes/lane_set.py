"""The lanes of one open index, each as a call without arguments, ready to be run side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.encoder.protocol import Encoder
from treeline.engine.protocol import Engine
from treeline.rerank.ranked_list import RankedList
from treeline.search.lanes.dense import dense_lane
from treeline.search.lanes.graph import graph_lane
from treeline.search.lanes.keyword import keyword_lane
from treeline.search.lanes.results import DENSE, GRAPH, KEYWORD, TFIDF, WRITTEN
from treeline.search.lanes.stored_graph import StoredGraph
from treeline.search.lanes.tfidf import Progress, TfidfLane, untold
from treeline.search.lanes.written import base_lane, written_lane
from treeline.search.query import Query
from treeline.search.question.routing import Route
from treeline.search.question.structural import INHERITS

Lane = Callable[[], RankedList]


class LaneSet:
    """Makes lanes; holds what some of them load the first time they run."""

    def __init__(
        self, engine: Engine, encoders: Mapping[str, Encoder], graph: StoredGraph, *, cache: Path | None = None
    ) -> None:
        self._engine, self._encoders, self._graph = engine, encoders, graph
        self._tfidf = TfidfLane(engine, cache)

    def names(self, query: Query, way: Route) -> Sequence[str]:
        """Which lanes a question gets, by its mode and, when that is hybrid, by its route."""
        if query.mode != "hybrid":
            return (query.mode,)
        return [lane for lane in way.lanes() if lane != DENSE or self._engine.info.encoders]

    def make(self, names: Sequence[str], query: Query, way: Route, depth: int) -> dict[str, Lane]:
        """The named lanes for one question, each to bring so many; an index with several encoders has a dense lane for
        each."""
        made: dict[str, Lane] = {}
        for name in names:
            if name == KEYWORD:
                made[name] = self._keyword(query, depth)
            elif name == DENSE:
                made |= self._dense(query, depth)
            elif name == GRAPH:
                made[name] = lambda: graph_lane(self._engine, self._graph(), way, query.text, depth, query.filters)
            elif name == WRITTEN:
                made[name] = self._written(query, way, depth)
            elif name == TFIDF:
                made[name] = partial(self._tfidf, query.text, depth, query.filters)
            else:
                raise InputError(f"unknown lane {name!r}", f"choose from: {KEYWORD}, {DENSE}, {TFIDF}, {GRAPH}")
        return made

    def prepare(self, name: str, progress: Progress = untold) -> None:
        """Load or build now, and wait for it, what the lane would otherwise need at its first question."""
        if name == TFIDF:
            self._tfidf.prepare(progress)
        elif name == GRAPH:
            self._graph()

    def _keyword(self, query: Query, depth: int) -> Lane:
        return partial(keyword_lane, self._engine, query.text, depth, query.filters, expanded=query.expand)

    def _written(self, query: Query, way: Route, depth: int) -> Lane:
        symbol = way.symbols[0]
        if way.relations == INHERITS:
            return lambda: base_lane(self._engine, self._graph(), symbol, depth, query.filters)
        return partial(written_lane, self._engine, symbol, depth, query.filters)

    def _dense(self, query: Query, depth: int) -> dict[str, Lane]:
        info = self._engine.info
        if not info.encoders:
            raise InputError(f"the index {info.name!r} has no vectors", "use keyword mode, or index it again")
        made: dict[str, Lane] = {}
        for number, spec in enumerate(info.encoders):
            lane = f"{DENSE}:{spec.name}" if number else DENSE
            encoder = self._encoders[spec.name]
            made[lane] = partial(
                dense_lane,
                self._engine,
                encoder,
                query.text,
                depth,
                query.filters,
                index_name=spec.name,
                lane=lane,
            )
        return made
