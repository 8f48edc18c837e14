"""Clusters of a whole index by meaning: k-means over its vectors at build time, for "similar functions".

Mini-batch k-means on a sample (Sculley, "Web-scale k-means clustering", WWW 2010), then one pass that assigns every
function to its nearest centre: 182,431 × 256 in seconds. An update keeps the centres until a fifth of
the index has changed, so the clusters of an updated index may differ from those of a rebuilt one.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.arrays import read_archive
from treeline.corpus.frozen import frozen
from treeline.graph.tree import pack_texts, unpack_texts

Vectors = NDArray[np.float32]

CLUSTERS = 50
SAMPLE = 40_000  # of 182,431 functions: inertia within 1 % of a fit on all of them, in a quarter of the time
BATCH = 4_096
STEPS = 100  # 40,000 × 256 in 1.5 s, to an inertia of 20,950; scikit-learn's took 3 s to 21,050 and 146 MB with scipy
BLOCK = 16_384
REFIT_AFTER = 0.2  # of the functions


@frozen
class CorpusClusters:
    """Each function's cluster, and the centres."""

    ids: tuple[str, ...]
    clusters_of: NDArray[np.int32]
    centres: Vectors
    rows: dict[str, int]
    strangers: int  # functions added or removed since the centres were fitted

    def of(self, function_id: str) -> int | None:
        row = self.rows.get(function_id)
        return None if row is None or self.clusters_of[row] < 0 else int(self.clusters_of[row])

    def members(self, cluster: int) -> list[str]:
        return [self.ids[row] for row in np.flatnonzero(self.clusters_of == cluster)]


def build(ids: Sequence[str], vectors: Vectors, k: int = CLUSTERS, seed: int = 0) -> bytes:
    """The `clusters` artifact."""
    usable = _usable(vectors)
    centres = np.zeros((0, vectors.shape[1] if vectors.ndim == 2 else 0), dtype=np.float32)
    if len(usable):
        centres = _centres(vectors, usable, min(k, len(usable)), seed)
    clusters_of = _assign(vectors, centres)
    return _dump(ids, clusters_of, centres, 0)


def update(before: bytes, new_ids: Sequence[str], vectors: Vectors, old_ids: Sequence[str]) -> bytes | None:
    """The artifact with functions added (with their vectors) and removed; None when it is time to refit."""
    clusters = load(before)
    strangers = clusters.strangers + len(new_ids) + len(old_ids)
    if strangers > REFIT_AFTER * len(clusters.ids) or vectors.shape[1] != clusters.centres.shape[1]:
        return None
    old_rows = {clusters.rows[id_] for id_ in (*old_ids, *new_ids) if id_ in clusters.rows}
    remaining = np.setdiff1d(np.arange(len(clusters.ids)), np.fromiter(old_rows, np.int64, len(old_rows)))
    clusters_of = np.concatenate([clusters.clusters_of[remaining], _assign(vectors, clusters.centres)])
    ids = [*(clusters.ids[row] for row in remaining.tolist()), *new_ids]
    return _dump(ids, clusters_of, clusters.centres, strangers)


def _dump(ids: Sequence[str], clusters_of: NDArray[np.int32], centres: Vectors, strangers: int) -> bytes:
    buffer = BytesIO()
    np.savez(
        buffer,
        ids=pack_texts(ids),
        assigned=clusters_of,
        centres=centres,
        strangers=np.array([strangers]),
    )
    return buffer.getvalue()


def load(data: bytes) -> CorpusClusters:
    arrays = read_archive(data)
    clusters_of, centres = arrays["assigned"], arrays["centres"]
    ids = tuple(unpack_texts(arrays["ids"], len(clusters_of)))
    rows = {function_id: row for row, function_id in enumerate(ids)}
    return CorpusClusters(ids, clusters_of, centres, rows, int(arrays.get("strangers", [0])[0]))


def _centres(vectors: Vectors, usable: NDArray[np.intp], k: int, seed: int) -> Vectors:
    random = np.random.default_rng(seed)
    sample = vectors[np.sort(random.choice(usable, size=min(SAMPLE, len(usable)), replace=False))]
    centres: Vectors = sample[random.choice(len(sample), size=k, replace=False)]
    sizes = np.zeros(k, dtype=np.float32)
    for _ in range(STEPS if k < len(sample) else 0):
        batch = sample[random.integers(len(sample), size=BATCH)]
        members = (_nearest(batch, centres)[:, None] == np.arange(k)).astype(np.float32)
        here = members.sum(axis=0)
        sizes += here
        centres = centres + (members.T @ batch - here[:, None] * centres) / np.maximum(sizes, 1)[:, None]
    return centres


def _usable(vectors: Vectors) -> NDArray[np.intp]:
    """The rows whose vector is not zero."""
    return np.flatnonzero(np.einsum("ij,ij->i", vectors, vectors) > 0)


def _assign(vectors: Vectors, centres: Vectors) -> NDArray[np.int32]:
    """The nearest centre of every row, −1 for a zero row."""
    clusters_of = np.full(len(vectors), -1, dtype=np.int32)
    usable = _usable(vectors)
    for start in range(0, len(usable) if len(centres) else 0, BLOCK):
        rows = usable[start : start + BLOCK]
        clusters_of[rows] = _nearest(vectors[rows], centres)
    return clusters_of


def _nearest(vectors: Vectors, centres: Vectors) -> NDArray[np.intp]:
    """The nearest centre by ‖v − c‖², leaving out ‖v‖², which is the same for every centre."""
    closeness = vectors @ centres.T - 0.5 * np.einsum("ij,ij->i", centres, centres)
    return np.asarray(closeness.argmax(axis=1))
