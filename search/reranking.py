"""The re-rankers of one open index, each with the service's options, made when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence

from treeline.engine.protocol import Engine
from treeline.rerank.candidates import Candidate, RerankContext, Reranker
from treeline.search.query import Query
from treeline.search.settings import Settings

SLOW = frozenset({"cross-encoder"})  # those that take seconds: other searches must not wait for them


class Reranking:
    """Puts candidates in a re-ranker's order; it looks at the first `rerank_depth` of them."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings
        self._made: dict[str, Reranker] = {}

    def __call__(self, query: Query, candidates: Sequence[Candidate], method: str) -> Sequence[Candidate]:
        run = self._reranker(method)
        vectors = self._engine.vectors if self._engine.info.encoders else None
        context = RerankContext(query=query.text, vectors=vectors, texts=self._texts, explain=query.explain)
        depth = self._settings.rerank_depth
        if len(candidates) <= depth:
            return run(candidates, context)
        return [*run(candidates[:depth], context), *candidates[depth:]]

    def _reranker(self, method: str) -> Reranker:
        found = self._made.get(method)
        if found is None:
            from treeline.rerank.registry import RerankOptions, reranker

            options = RerankOptions(
                clusters=self._settings.clusters,
                cross_encoder=self._settings.cross_encoder,
                cross_encoder_depth=self._settings.cross_encoder_depth,
            )
            found = self._made[method] = reranker(method, options)
        return found

    def _texts(self, ids: Sequence[str]) -> list[str]:
        bodies = {function.id: function for function in self._engine.fetch(ids)}
        return [f"{bodies[id_].docstring}\n{bodies[id_].code}" if id_ in bodies else "" for id_ in ids]
