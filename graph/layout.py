"""A query's candidates as a picture: points in the disk with their parents, labels and clusters, ready to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treeline.corpus.function import Address
from treeline.graph.embedding import average_distortion, centred, embed
from treeline.graph.embedding import heights as path_lengths
from treeline.graph.hyperbolic import distances
from treeline.graph.local_tree import LocalTree, local_tree
from treeline.graph.tree import SEPARATOR, Kind, scopes

# The reach of the drawing: at 36, where distances are best, all leaves would lie within 1e-15 of the rim; at 5 the
# deepest node is at 98.7 % of the radius and every level has room of its own.
DRAWN_REACH = 5.0


@dataclass(frozen=True, slots=True)
class MapNode:
    """One node: its place in the unit disk, its parent (an index into the nodes), and what it stands for.

    A candidate has `id`, `rank` (from 1), `address` and perhaps `cluster`; `label` is the path from the parent on.
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


@dataclass(frozen=True, slots=True)
class DiskMap:
    """The drawn tree, parents before children, and the average distortion of the geometry that ranks by it."""

    nodes: tuple[MapNode, ...]
    distortion: float


def disk_map(ids: Sequence[str], addresses: Sequence[Address], clusters: Sequence[int | None] = ()) -> DiskMap:
    """The picture of these candidates, given in the order of their ranks."""
    if not addresses:
        return DiskMap((), 0.0)
    local = local_tree(addresses)
    deepest = float(path_lengths(local.parents, local.weights).max())
    places = embed(local.parents, local.weights, scale=DRAWN_REACH / max(deepest, 1.0)).points.x
    candidate_at = {int(node): position for position, node in enumerate(local.leaves)}
    nodes = []
    for node, (x, y) in enumerate(places.tolist()):
        parent = int(local.parents[node])
        position = candidate_at.get(node)
        label = "/".join(local.steps(node)).split(SEPARATOR)[0]
        common = (round(x, 6), round(y, 6), parent if parent >= 0 else None, label, _kind(local, addresses, node))
        if position is None:
            nodes.append(MapNode(*common))
        else:
            cluster = clusters[position] if clusters else None
            nodes.append(MapNode(*common, ids[position], position + 1, cluster, addresses[position]))
    return DiskMap(tuple(nodes), local_distortion(local))


def local_distortion(local: LocalTree) -> float:
    """Average distortion between the candidates of the embedding that clustering uses."""
    parents, weights = centred(local.parents, local.weights)
    embedding = embed(parents, weights)
    leaves = embedding.points.take(local.leaves.astype(np.intp))
    return average_distortion(distances(leaves, leaves) / embedding.scale, local.distances)


def _kind(local: LocalTree, addresses: Sequence[Address], node: int) -> Kind:
    """What a node is, from how deep it lies on the path of a candidate below it."""
    address = addresses[local.witnesses[node]]
    depth = int(local.depths[node])
    file_depth = 1 + len(address.path.split("/"))
    if depth == 0:
        return "root"
    if depth == 1:
        return "repository"
    if depth < file_depth:
        return "folder"
    if depth == file_depth:
        return "file"
    return "function" if depth == file_depth + len(scopes(address)) else "class"
