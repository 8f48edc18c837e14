"""The repository tree as a networkx graph: of a list of results, or of a whole index.

The map, the export and `python -m lab.tree` are made from it. Edges lead from parent to child. Nodes carry

- `label`, `kind` and `depth` (steps below the common root); a unit also its id as `function`, and its `cluster`,
- their place in the Poincaré disk (`x`, `y`; in more dimensions also `x3`, `x4`, …) and their hyperbolic distance from
  its centre (`radius`),

edges their `distance` in the tree, in steps, and their hyperbolic `length`. Divided by the graph's `scale`, hyperbolic
distances are those of the tree; its `distortion` says how nearly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treeline.corpus.function import Address
from treeline.graph.embedding import Embedding, average_distortion, depths, embed, reroot
from treeline.graph.global_embedding import GlobalEmbedding
from treeline.graph.hyperbolic import Points, at_origin, distance, distances
from treeline.graph.local_tree import LocalTree, local_tree
from treeline.graph.tree import FOLDER, KINDS, SEPARATOR, Kind, Tree

if TYPE_CHECKING:
    import networkx as nx

PLANE = ("x", "y")


def index_graph(tree: Tree, disk: GlobalEmbedding, clusters: Mapping[str, int] | None = None) -> nx.DiGraph[int]:
    """The tree of an index (the paper's Method 2); `clusters` goes by unit id.

    Its `distortion`, its mean average `precision` and whether its branches are `separable` are those of the disk.
    """
    graph = _new()
    ids = {node: function_id for function_id, node in tree.leaves.items()}
    depth = depths(tree.parents).tolist()
    for node in range(len(tree)):
        id_ = ids.get(node, "")
        graph.add_node(node, label=tree.labels[node], kind=KINDS[tree.kinds[node]], depth=depth[node], function=id_)
        if clusters is not None and id_ in clusters:
            graph.nodes[node]["cluster"] = clusters[id_]
    graph.add_edges_from(
        ((parent, node) for node, parent in enumerate(tree.parents.tolist()) if parent >= 0), distance=1
    )
    _set_coordinates(graph, disk.embedding)
    disk_quality = disk.quality
    graph.graph |= {"distortion": disk_quality.average_distortion, "precision": disk_quality.mean_average_precision}
    graph.graph["separable"] = disk.separable
    return graph


def forest(graph: nx.DiGraph[int]) -> nx.DiGraph[int]:
    """The same without the common root: one tree a repository (the paper's Method 1)."""
    return graph.subgraph([node for node, data in graph.nodes(data=True) if data["kind"] != "root"]).copy()


def result_graph(
    ids: Sequence[str], addresses: Sequence[Address], clusters: Sequence[int | None] = ()
) -> nx.DiGraph[int]:
    """The tree that these results span, given in the order of their ranks.

    An unbranched chain of folders is one edge of that many steps; the label of the node below it has the whole path.
    Results also carry their `rank` (from 1), `repo`, `path` and `name`.
    """
    graph = _new()
    if not addresses:
        return graph
    local = local_tree(addresses)
    position_at = {int(node): position for position, node in enumerate(local.leaves)}
    for node in range(len(local.parents)):
        position = position_at.get(node)
        more: dict[str, Any] = {"function": ""}
        if position is not None:
            address = addresses[position]
            more = {"function": ids[position], "rank": position + 1}
            more |= {"repo": address.repo, "path": address.path, "name": address.func_name}
            if clusters and clusters[position] is not None:
                more["cluster"] = clusters[position]
        label = "/".join(local.steps(node)).split(SEPARATOR)[0]
        graph.add_node(node, label=label, kind=_kind(local, addresses, node), depth=int(local.depths[node]), **more)
        if local.parents[node] >= 0:
            graph.add_edge(int(local.parents[node]), node, distance=int(local.weights[node]))
    embedding = _embedding(local)
    _set_coordinates(graph, embedding)
    leaves = embedding.points.take(local.leaves.astype(np.intp))
    graph.graph["distortion"] = average_distortion(distances(leaves, leaves) / embedding.scale, local.distances)
    return graph


def _new() -> nx.DiGraph[int]:
    import networkx as nx  # here, because it takes 0.2 s, and a search does not need it

    return nx.DiGraph()


def _embedding(local: LocalTree) -> Embedding:
    """The embedding that clusters are made in."""
    embedding = embed(*reroot(local.parents, local.weights))
    # Without the node that centring may add.
    return Embedding(embedding.points.take(np.arange(len(local.parents))), embedding.scale)


def _set_coordinates(graph: nx.DiGraph[int], embedding: Embedding) -> None:
    """Set the nodes' coordinates and the edges' lengths."""
    points: Points = embedding.points
    dimension = points.x.shape[1]
    names = [*PLANE, *(f"x{number}" for number in range(3, dimension + 1)), "radius"]
    columns = (*points.x.T.tolist(), distance(points, at_origin(len(points), dimension)).tolist())
    for name, values in zip(names, columns, strict=True):
        for node in graph:
            graph.nodes[node][name] = values[node]
    ends = np.array(list(graph.edges), dtype=np.intp).reshape(-1, 2)
    lengths = distance(points.take(ends[:, 0]), points.take(ends[:, 1])).tolist()
    for edge, length in zip(graph.edges, lengths, strict=True):
        graph.edges[edge]["length"] = length
    graph.graph["scale"] = embedding.scale


def _kind(local: LocalTree, addresses: Sequence[Address], node: int) -> Kind:
    """The kind of a node, from its depth on the path of a candidate below it."""
    address = addresses[local.witnesses[node]]
    depth = int(local.depths[node])
    file_depth = 1 + len(address.path.split("/"))
    if depth < FOLDER:
        return KINDS[depth]
    if depth <= file_depth:
        return "folder" if depth < file_depth else "file"
    return "function" if depth == file_depth + len(address.scopes) else "class"
