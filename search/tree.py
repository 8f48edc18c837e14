"""The repository tree of an index or of results, as a networkx graph; `graph/network.py` documents its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from treeline.corpus.errors import InputError
from treeline.engine.protocol import Engine
from treeline.graph import corpus_clusters, global_embedding, network
from treeline.graph import tree as trees
from treeline.graph.global_embedding import GlobalEmbedding
from treeline.graph.local_tree import local_tree
from treeline.graph.tree import Tree
from treeline.rerank.candidates import Candidate
from treeline.rerank.clustering import hyperbolic_kmeans
from treeline.search.artifacts import obtain

if TYPE_CHECKING:
    import networkx as nx

CLUSTERS = 10  # of a list of results, as in the paper


def index_graph(
    engine: Engine, embed: Callable[[Tree, GlobalEmbedding], GlobalEmbedding] = lambda _, disk: disk
) -> nx.DiGraph[int]:
    """The whole tree in its disk, units labelled with their cluster by meaning; `embed` gives another embedding."""
    tree_bytes, embedding_bytes = obtain(engine, "tree"), obtain(engine, "embedding")
    if tree_bytes is None or embedding_bytes is None:
        raise InputError(f"the index {engine.info.name!r} has no tree", "index it again")
    labels = {}
    if meanings := engine.artifact("clusters"):
        clusters = corpus_clusters.load(meanings)
        pairs = zip(clusters.ids, clusters.clusters_of.tolist(), strict=True)
        labels = {id_: number for id_, number in pairs if number >= 0}
    tree, disk = trees.load(tree_bytes), global_embedding.load(embedding_bytes)
    return network.index_graph(tree, embed(tree, disk), labels)


def result_graph(candidates: Sequence[Candidate], *, clusters: int = CLUSTERS) -> nx.DiGraph[int]:
    """The tree that these candidates span, each labelled by its cluster there."""
    ids, addresses = [one.id for one in candidates], [one.address for one in candidates]
    return network.result_graph(ids, addresses, tree_clusters(candidates, clusters))


def tree_clusters(candidates: Sequence[Candidate], count: int = CLUSTERS) -> list[int | None]:
    """The re-ranker's clusters, or clusters of the tree if the re-ranker made none."""
    if len(candidates) <= count or any(candidate.cluster is not None for candidate in candidates):
        return [candidate.cluster for candidate in candidates]
    labels = hyperbolic_kmeans(local_tree([candidate.address for candidate in candidates]), count).tolist()
    order = {label: number for number, label in enumerate(dict.fromkeys(labels))}  # by the best of each
    return [order[label] for label in labels]
