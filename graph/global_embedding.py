"""Embeds the whole tree of an index in the Poincaré disk at build time: in one disk, or one disk per repository.

float64 cannot separate hundreds of repositories under one root in two dimensions (`NotSeparable` says so). So
besides the one disk, which the paper's global variant uses, each repository has a disk of its own (Method 1).
"""

from __future__ import annotations

from dataclasses import asdict
from io import BytesIO

import numpy as np
import orjson
from numpy.typing import NDArray

from treeline.corpus.arrays import read_archive
from treeline.corpus.frozen import frozen
from treeline.graph.embedding import (
    Embedding,
    Nodes,
    NotSeparable,
    Quality,
    embed,
    quality,
    reachable_scale,
    reroot,
    separating_scale,
)
from treeline.graph.hyperbolic import Floats, Points
from treeline.graph.tree import REPOSITORY, Tree


@frozen
class GlobalEmbedding:
    """Every node's point in the one disk, the embedding's quality, and whether its branches are separated."""

    embedding: Embedding
    quality: Quality
    separable: bool


def embed_whole(tree: Tree) -> GlobalEmbedding:
    weights = (tree.parents >= 0).astype(float)
    embedding = embed(tree.parents, weights)
    separable = is_separable(tree.parents, weights)
    return GlobalEmbedding(embedding, quality(embedding, tree.parents, weights), separable)


def embed_again(tree: Tree, before: GlobalEmbedding) -> GlobalEmbedding:
    """Embed a slightly changed tree, and keep the quality measured before.

    Measuring takes ten times as long as embedding, and samples the tree anyway.
    """
    weights = (tree.parents >= 0).astype(float)
    return GlobalEmbedding(embed(tree.parents, weights), before.quality, before.separable)


def embed_split(tree: Tree, *, strict: bool = True) -> dict[str, tuple[NDArray[np.intp], Embedding]]:
    """Method 1: for each repository, its nodes in the whole tree and their points in its own disk.

    A tree too deep for its root is centred at its middle (6 of 440 in CodeSearchNet's Python). If its branches still
    cannot be separated, `strict` raises `NotSeparable` with its name; otherwise they overlap.
    """
    disks = {}
    owner = _owners(tree)
    for root in np.flatnonzero(tree.kinds == REPOSITORY):
        nodes = np.flatnonzero(owner == root)
        numbers = np.full(len(tree), -1, dtype=np.int32)
        numbers[nodes] = np.arange(len(nodes), dtype=np.int32)
        try:
            disks[tree.labels[root]] = (nodes, _apart(numbers[tree.parents[nodes]], strict))
        except NotSeparable as error:
            raise NotSeparable(f"{tree.labels[root]}: {error.message}", error.hint) from error
    return disks


def is_separable(parents: Nodes, weights: Floats) -> bool:
    return separating_scale(parents, weights) <= reachable_scale(parents, weights)


def _apart(parents: Nodes, strict: bool) -> Embedding:
    weights = (parents >= 0).astype(float)
    if is_separable(parents, weights):
        return embed(parents, weights)
    embedding = embed(*reroot(parents, weights), strict=strict)
    return Embedding(embedding.points.take(np.arange(len(parents))), embedding.scale)


def _owners(tree: Tree) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The repository node above each node (the root's is itself)."""
    owner = np.arange(len(tree), dtype=np.intp)
    while (climbs := (tree.kinds[owner] != REPOSITORY) & (owner > 0)).any():
        owner[climbs] = tree.parents[owner[climbs]]
    return owner


def dump(whole: GlobalEmbedding) -> bytes:
    """The `embedding` artifact of an index."""
    facts = {"scale": whole.embedding.scale, "separable": whole.separable, "quality": asdict(whole.quality)}
    buffer = BytesIO()
    points = whole.embedding.points
    np.savez(buffer, x=points.x, gap=points.gap, facts=np.frombuffer(orjson.dumps(facts), dtype=np.uint8))
    return buffer.getvalue()


def load(data: bytes) -> GlobalEmbedding:
    arrays = read_archive(data)
    facts = orjson.loads(arrays["facts"].tobytes())
    return GlobalEmbedding(
        Embedding(Points(arrays["x"], arrays["gap"]), facts["scale"]), Quality(**facts["quality"]), facts["separable"]
    )
