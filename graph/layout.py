"""Lays out the tree of a list of results for drawing: points in the disk with parents, labels and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address
from treeline.graph.embedding import embed
from treeline.graph.embedding import heights as path_lengths
from treeline.graph.tree import Kind

if TYPE_CHECKING:
    import networkx as nx

# How far the drawing reaches. At 36, where distances are most exact, all leaves would lie within 1e-15 of the rim; at
# 5 the deepest node is at 98.7 % of the radius, and the levels can be told apart.
DRAWN_REACH = 5.0
DIGITS = 6


@frozen
class MapNode:
    """One node: its point in the unit disk, its parent (an index into the nodes), and what it stands for.

    A candidate has `id`, `rank` (from 1), `address` and perhaps `cluster`; `label` is the path below the parent.
    """

    x: float
    y: float
    parent: int | None
    label: str
    kind: Kind
    id: str | None = None
    rank: int | None = None
    cluster: int | None = None
    address: Address | None = None


@frozen
class DiskMap:
    """The drawn tree, parents before children, and the average distortion of the embedding used for ranking."""

    nodes: tuple[MapNode, ...]
    distortion: float


def draw(graph: nx.DiGraph[int], addresses: Sequence[Address]) -> DiskMap:
    """Lays out a `result_graph`, with nodes nearer to the centre than in the embedding used for ranking."""
    if not len(graph):
        return DiskMap((), 0.0)
    parents = np.full(len(graph), -1, dtype=np.int32)
    weights = np.zeros(len(graph))
    for parent, node, edge in graph.edges(data=True):
        parents[node], weights[node] = parent, edge["distance"]
    deepest = float(path_lengths(parents, weights).max())
    places = embed(parents, weights, scale=DRAWN_REACH / max(deepest, 1.0)).points.x.round(DIGITS).tolist()
    nodes = []
    for node, data in graph.nodes(data=True):
        rank = data.get("rank")
        x, y = places[node]
        nodes.append(
            MapNode(
                x,
                y,
                parent=int(parents[node]) if parents[node] >= 0 else None,
                label=data["label"],
                kind=data["kind"],
                id=data["function"] or None,
                rank=rank,
                cluster=data.get("cluster"),
                address=None if rank is None else addresses[rank - 1],
            )
        )
    return DiskMap(tuple(nodes), graph.graph["distortion"])
