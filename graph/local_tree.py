"""The subtree that a query's candidates span, unary chains contracted into weighted edges.

Path lengths between candidates are those of the whole tree, and the fan-out is small. It is made from the addresses
alone, in well under a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from posixpath import commonprefix

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address
from treeline.graph.embedding import Nodes
from treeline.graph.hyperbolic import Floats
from treeline.graph.tree import SEPARATOR


@frozen
class LocalTree:
    """Parents and edge weights (node 0 is the lowest common ancestor), and each candidate's leaf and path."""

    parents: Nodes
    weights: Floats
    depths: NDArray[np.int32]  # steps below the common root in the whole tree
    leaves: NDArray[np.int32]
    witnesses: NDArray[np.int32]  # per node: a candidate below it, whose path names the node
    paths: tuple[tuple[str, ...], ...]
    distances: Floats

    def steps(self, node: int) -> tuple[str, ...]:
        """The path steps from the node's parent down to the node."""
        parent = int(self.parents[node])
        start = int(self.depths[parent]) if parent >= 0 else 0
        return self.paths[self.witnesses[node]][start : int(self.depths[node])]


def paths(addresses: Sequence[Address]) -> list[tuple[str, ...]]:
    """Steps from the common root: repository, folders, file, classes, function. The last is unique per candidate."""
    result: list[tuple[str, ...]] = []
    for position, address in enumerate(addresses):
        *classes, name = address.scopes
        leaf = f"{name}{SEPARATOR}{position}"  # two functions may have the same name and path
        result.append((address.repo, *address.path.split("/"), *classes, leaf))
    return result


def nearest_above(addresses: Sequence[Address]) -> list[float | None]:
    """The tree distance of each candidate to the nearest of those ranked above it; None for the first.

    Paths are inserted into a trie one by one. At each node, a path looks up the shortest earlier path through that
    node; their distance is the sum of what both have left below it.
    """
    child: dict[tuple[int, str], int] = {}
    shortest = [inf]  # per node: the length of the shortest path through it so far
    result: list[float | None] = []
    for path in paths(addresses):
        node, length, nearest = 0, len(path), inf
        for depth, step in enumerate(path):
            before = shortest[node]
            if length + before - 2 * depth < nearest:
                nearest = length + before - 2 * depth
            if length < before:
                shortest[node] = length
            node = child.setdefault((node, step), len(shortest))
            if node == len(shortest):
                shortest.append(inf)
        result.append(nearest if result else None)
    return result


def local_tree(addresses: Sequence[Address]) -> LocalTree:
    """The contracted subtree of at least one candidate."""
    steps = paths(addresses)
    order = sorted(range(len(steps)), key=steps.__getitem__)
    prefixes = [len(commonprefix(pair)) for pair in pairwise(steps[row] for row in order)]  # shared with the next

    # Sorted paths visit the tree depth first, and neighbours diverge at its branching nodes: one pass with a stack of
    # open nodes finds them all.
    depth: list[int] = []
    parent: list[int] = []
    witness: list[int] = []
    leaf_of = [0] * len(steps)
    open_nodes: list[int] = []

    def new(at: int, candidate: int) -> int:
        depth.append(at)
        parent.append(-1)
        witness.append(candidate)
        return len(depth) - 1

    for row, candidate in enumerate(order):
        parting = prefixes[row - 1] if row else -1
        last = -1
        while open_nodes and depth[open_nodes[-1]] > parting:
            node = open_nodes.pop()
            if last >= 0:
                parent[last] = node
            last = node
        if last >= 0:
            if not open_nodes or depth[open_nodes[-1]] < parting:
                open_nodes.append(new(parting, candidate))
            parent[last] = open_nodes[-1]
        leaf_of[candidate] = new(len(steps[candidate]), candidate)
        open_nodes.append(leaf_of[candidate])
    for ancestor, node in pairwise(open_nodes):
        parent[node] = ancestor

    # The nodes renumbered from the root down.
    depths = np.array(depth, dtype=np.int32)
    down = np.argsort(depths, kind="stable")
    numbers = np.empty(len(down), dtype=np.int32)
    numbers[down] = np.arange(len(down), dtype=np.int32)
    parents = np.array(parent, dtype=np.int32)[down]
    parents = np.where(parents < 0, -1, numbers[parents]).astype(np.int32)
    depths = depths[down]
    weights = np.where(parents < 0, 0, depths - depths[parents]).astype(float)
    leaves, witnesses = numbers[np.array(leaf_of, dtype=np.intp)], np.array(witness, dtype=np.int32)[down]
    return LocalTree(parents, weights, depths, leaves, witnesses, tuple(steps), _distances(steps, order, prefixes))


def _distances(steps: Sequence[tuple[str, ...]], order: Sequence[int], prefixes: Sequence[int]) -> Floats:
    """Tree distances. Two sorted paths share as many steps as the least that neighbours between them share."""
    count = len(steps)
    common = np.full((count, count), np.inf)
    columns = np.arange(count)
    if count > 1:
        nearest = np.array([np.inf, *prefixes])
        common = np.where(columns[None, :] > columns[:, None], nearest[None, :], np.inf)
        common = np.minimum.accumulate(common, axis=1)
        common = np.minimum(common, common.T)
    length = np.array([len(path) for path in steps], dtype=float)
    np.fill_diagonal(common, length[order])
    result = np.empty_like(common)
    rows = np.array(order, dtype=np.intp)
    result[np.ix_(rows, rows)] = length[rows][:, None] + length[rows][None, :] - 2 * common
    return result
