"""Functions that are alike: the nearest by meaning, and which of them are of the same cluster; a result's cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treeline.corpus.errors import EngineUnavailable
from treeline.engine.protocol import Hit
from treeline.graph import corpus_clusters
from treeline.graph.corpus_clusters import CorpusClusters
from treeline.rerank.candidates import Candidate
from treeline.search.once import once_a_generation

if TYPE_CHECKING:
    from treeline.search.live import LiveSearcher
    from treeline.search.searcher import Searcher


@dataclass(frozen=True, slots=True)
class Alike:
    """A function's like, nearest first, and whether each is of its cluster; the words that name the cluster."""

    hits: tuple[tuple[Hit, bool], ...]
    cluster: int | None
    label: str


def alike(searcher: LiveSearcher, function_id: str, k: int) -> Alike:
    hits = searcher.similar(function_id, k)
    clusters = clusters_of(searcher)
    cluster = clusters.of(function_id) if clusters is not None else None
    if clusters is None or cluster is None:
        return Alike(tuple((hit, False) for hit in hits), None, "")
    marked = tuple((hit, clusters.of(hit.id) == cluster) for hit in hits)
    return Alike(marked, cluster, clusters.labels[cluster])


def clusters_of(searcher: LiveSearcher) -> CorpusClusters | None:
    """The clusters of the whole index; a tenth of a second the first time, for 182,431 functions."""
    try:
        return _clusters(searcher)
    except EngineUnavailable:  # an answer that was found is not lost for want of its clusters
        return None


def cluster_of(candidate: Candidate, clusters: CorpusClusters | None) -> tuple[int | None, str]:
    """A result's cluster: the re-ranker's, which has no name, or else that of the whole index with its words."""
    if candidate.cluster is not None or clusters is None:
        return candidate.cluster, ""
    cluster = clusters.of(candidate.id)
    return cluster, "" if cluster is None else clusters.labels[cluster]


@once_a_generation
def _clusters(searcher: Searcher) -> CorpusClusters | None:
    data = searcher.engine.artifact("clusters")
    return corpus_clusters.load(data) if data else None
