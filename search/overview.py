"""Reads counts, tree and clusters of an index once per generation."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from treeline.corpus.errors import EngineUnavailable
from treeline.corpus.frozen import frozen
from treeline.engine.hits import Hit
from treeline.engine.protocol import IndexInfo
from treeline.graph import corpus_clusters
from treeline.graph.corpus_clusters import CorpusClusters
from treeline.rerank.candidates import Candidate
from treeline.search.location import Locations

if TYPE_CHECKING:
    from treeline.search.live import LiveSearcher
    from treeline.search.searcher import Searcher

Value = TypeVar("Value")


def per_generation(read: Callable[[Searcher], Value]) -> Callable[[LiveSearcher], Value]:
    """Decorator: computes something once per generation, and caches it while the generation is open.

    The cache key is the open searcher. A generation's number would not do: numbers start again after a drop.
    """
    values: WeakKeyDictionary[Searcher, Value] = WeakKeyDictionary()

    @wraps(read)
    def of_current(live: LiveSearcher) -> Value:
        with live.searcher() as current:
            if current not in values:
                values[current] = read(current)
            return values[current]

    return of_current


@frozen
class Overview:
    """Counts of an index."""

    info: IndexInfo
    languages: dict[str, int]
    repositories: int


@per_generation
def overview(searcher: Searcher) -> Overview:
    facets = searcher.engine.facets()
    languages = dict(sorted(facets.get("language", {}).items(), key=lambda pair: -pair[1]))
    return Overview(searcher.info, languages, len(facets.get("repo", {})))


@per_generation
def locations(searcher: Searcher) -> Locations | None:
    """The locations of all units; None if the index has no tree."""
    return searcher.locations


def clusters_of(searcher: LiveSearcher) -> CorpusClusters | None:
    """The clusters of the whole index; a tenth of a second the first time, for 182,431 functions."""
    try:
        return _clusters(searcher)
    except EngineUnavailable:  # an answer without clusters is better than none
        return None


@per_generation
def _clusters(searcher: Searcher) -> CorpusClusters | None:
    data = searcher.engine.artifact("clusters")
    return corpus_clusters.load(data) if data else None


def cluster_of(candidate: Candidate, clusters: CorpusClusters | None) -> int | None:
    """A result's cluster: the re-ranker's, else the whole index's."""
    if candidate.cluster is not None or clusters is None:
        return candidate.cluster
    return clusters.of(candidate.id)


@frozen
class Similar:
    """The units nearest to one, and whether each is in its cluster."""

    hits: tuple[tuple[Hit, bool], ...]
    cluster: int | None


def find_similar(searcher: LiveSearcher, function_id: str, k: int) -> Similar:
    hits = searcher.similar(function_id, k)
    clusters = clusters_of(searcher)
    cluster = clusters.of(function_id) if clusters is not None else None
    if clusters is None or cluster is None:
        return Similar(tuple((hit, False) for hit in hits), None)
    pairs = tuple((hit, clusters.of(hit.id) == cluster) for hit in hits)
    return Similar(pairs, cluster)
