"""The whole tree of an index in the disk, once at build time: as one tree, and split into a disk a repository.

One root over hundreds of repositories is more than float64 separates in two dimensions (`NotSeparable` says so), so
beside the one disk, which the paper's global variant uses as well as it can, each repository has its own (Method 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from io import BytesIO

import numpy as np
import orjson
from numpy.typing import NDArray

from treeline.graph.embedding import (
    Embedding,
    Nodes,
    NotSeparable,
    Quality,
    centred,
    embed,
    quality,
    reachable_scale,
    separating_scale,
)
from treeline.graph.hyperbolic import Floats, Points
from treeline.graph.tree import REPOSITORY, Tree


@dataclass(frozen=True, slots=True)
class GlobalEmbedding:
    """Every node's point in the one disk, what that disk is worth, and whether its branches are kept apart."""

    embedding: Embedding
    quality: Quality
    separable: bool


def embed_whole(tree: Tree) -> GlobalEmbedding:
    weights = (tree.parents >= 0).astype(float)
    embedding = embed(tree.parents, weights)
    separable = separating_scale(tree.parents, weights) <= reachable_scale(tree.parents, weights)
    return GlobalEmbedding(embedding, quality(embedding, tree.parents, weights), separable)


def embed_again(tree: Tree, before: GlobalEmbedding) -> GlobalEmbedding:
    """A tree of which little has changed: its places anew, and what the disk was worth when it was last measured.

    Measuring takes ten times as long as placing, and its figures are those of a sample.
    """
    weights = (tree.parents >= 0).astype(float)
    return GlobalEmbedding(embed(tree.parents, weights), before.quality, before.separable)


def embed_split(tree: Tree, *, strict: bool = True) -> dict[str, tuple[NDArray[np.intp], Embedding]]:
    """Method 1: for each repository its nodes in the whole tree and their places in a disk of their own.

    One that is too deep to hang from its root hangs from its middle (6 of 440 in CodeSearchNet's Python); one that
    cannot be kept apart even so raises `NotSeparable` that names it, or is placed as well as it can be (not `strict`).
    """
    found = {}
    for label, nodes, parents, weights in _repositories(tree):
        try:
            found[label] = (nodes, _apart(parents, weights, strict))
        except NotSeparable as error:
            raise NotSeparable(f"{label}: {error.message}", error.hint) from error
    return found


def split_quality(tree: Tree) -> tuple[int, float, float]:
    """How many disks `embed_split` makes, and their average distortion and MAP, weighted by their nodes."""
    measured = [
        (len(nodes), quality(_apart(parents, weights, strict=False), parents, weights))
        for _, nodes, parents, weights in _repositories(tree)
    ]
    if not measured:
        return 0, 0.0, 1.0
    sizes = [size for size, _ in measured]
    distortion = np.average([one.average_distortion for _, one in measured], weights=sizes)
    precision = np.average([one.mean_average_precision for _, one in measured], weights=sizes)
    return len(measured), float(distortion), float(precision)


def _repositories(tree: Tree) -> Iterator[tuple[str, NDArray[np.intp], Nodes, Floats]]:
    """Each repository's label, its nodes in the whole tree, and the tree that they make by themselves."""
    owner = _owners(tree)
    for root in np.flatnonzero(tree.kinds == REPOSITORY):
        nodes = np.flatnonzero(owner == root)
        place = np.full(len(tree), -1, dtype=np.int32)
        place[nodes] = np.arange(len(nodes), dtype=np.int32)
        parents = place[tree.parents[nodes]]
        yield tree.labels[root], nodes, parents, (parents >= 0).astype(float)


def _apart(parents: Nodes, weights: Floats, strict: bool) -> Embedding:
    if separating_scale(parents, weights) > reachable_scale(parents, weights):
        embedding = embed(*centred(parents, weights), strict=strict)
        return Embedding(embedding.points.take(np.arange(len(parents))), embedding.scale)
    return embed(parents, weights)


def _owners(tree: Tree) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The repository node above each node (the root is its own)."""
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
    with np.load(BytesIO(data), allow_pickle=False) as stored:
        facts = orjson.loads(stored["facts"].tobytes())
        return GlobalEmbedding(
            Embedding(Points(stored["x"], stored["gap"]), facts["scale"]),
            Quality(**facts["quality"]),
            facts["separable"],
        )
