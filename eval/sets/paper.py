"""The paper's table, measured in the paper's set-up and in Treeline's.

The paper's set-up: full-text search with Elasticsearch's `standard` analyser over name, docstring and code, relaxed to
words within one edit and then to chunks of the question while fewer than 100 were found. The tree of the whole corpus
is embedded in the disk, under a common root or as one tree per repository. The first 100 results are put into 10
clusters by k-means, flat or hyperbolic. Lists have ten results. Random choices are averaged over several seeds.
docs/explanation/evaluation.md says what differs from the paper and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.protocol import strip_prior
from treeline.encoder.static import StaticEncoder
from treeline.engine.hits import Hit, concatenate
from treeline.engine.protocol import Engine, Filters
from treeline.eval.dataset import Case, DataSet, Evaluation, Ranking, System, SystemScores
from treeline.eval.report.document import PAPER_HEAD, Document
from treeline.eval.systems import DEFAULT, HYBRID, LaneCache, Stages, Variant
from treeline.graph import global_embedding
from treeline.graph import tree as trees
from treeline.graph.global_embedding import embed_split
from treeline.graph.hyperbolic import Points, at_origin
from treeline.graph.tree import Tree
from treeline.rerank.algorithms import Algorithm1, Algorithm2
from treeline.rerank.candidates import Candidate, RerankContext, Reranker, arrange
from treeline.rerank.clustering import Clusterer, Labels, hyperbolic_kmeans_points
from treeline.rerank.methods import keep_order
from treeline.search.artifacts import obtain
from treeline.search.lanes.words import ENOUGH, chunks

LIST = 10  # results per list
CANDIDATES = 100  # that are clustered
CLUSTERS = 10
SEEDS = 5
ITERATIONS = 50  # of flat k-means
STARTS = 4  # of flat k-means, the tightest counts
ENCODED_AT_ONCE = 4_096
DATASET = "codesearchnet-paper"
TREES = {"root": "common root", "split": "a tree a repository"}  # the paper's Method 2 and Method 1
Rows = NDArray[np.floating[Any]]
ClusterPoints = Callable[[Points, int, int], Labels]
MakeAlgorithm = Callable[[Clusterer, int], Reranker]
Method = Callable[[Sequence[Candidate]], Reranker]  # makes the re-ranker for a question's candidates
CLUSTERINGS: Mapping[str, ClusterPoints] = {
    "hyperbolic k-means": hyperbolic_kmeans_points,
    "k-means": lambda points, count, seed: lloyd(points.x, count, seed),
}
ALGORITHMS: Mapping[str, MakeAlgorithm] = {
    "Clusters (Algorithm 1)": lambda cluster, seed: Algorithm1(cluster, CLUSTERS, seed),
    "Importance sampling (Algorithm 2)": lambda cluster, seed: Algorithm2(cluster, CLUSTERS, LIST, seed),
    "Algorithm 2 in the order of scores": lambda cluster, seed: Algorithm2(
        cluster, CLUSTERS, LIST, seed, by_score=True
    ),
}
NBOW = "Neural bag of words"
# The paper's figures, by our row. The paper does not say which tree and clustering it used for its clusters.
REPORTED = {
    NBOW: 0.1898,
    "Elasticsearch": 0.1955,
    "Elasticsearch, randomised": 0.1553,
    "Clusters (Algorithm 1), hyperbolic k-means, common root": 0.1410,
    "Importance sampling (Algorithm 2), hyperbolic k-means, common root": 0.2081,
}
ONLY_KEYWORD = ("keyword",)
OURS = (
    Variant("Treeline keyword", "split and stemmed words", ONLY_KEYWORD),
    Variant("Treeline keyword, Algorithm 1", "the candidates' own tree", ONLY_KEYWORD, rerank="algorithm1"),
    Variant("Treeline keyword, Algorithm 2", "the candidates' own tree", ONLY_KEYWORD, rerank="algorithm2"),
    replace(HYBRID, name="Treeline hybrid"),
    replace(DEFAULT, name="Treeline default"),
)
COMPARABLE = (
    "All lists are cut after ten results. The paper's column is quoted, not measured here. Questions, judgements and "
    "the definition of NDCG are the same, the corpus is not: this index holds only repositories that the annotators "
    "saw, so a judged function has fewer rivals. Compare the order of the rows within each column, never one column "
    "with the other."
)


def retrieve(engine: Engine, text: str, filters: Filters) -> Sequence[Hit]:
    """The paper's search: the next relaxation is tried only while fewer than 100 were found."""
    parts: list[Sequence[Hit]] = []
    hits_so_far: Sequence[Hit] = []
    for hits in _stages(engine, text, filters):
        parts.append(hits)
        hits_so_far, _ = concatenate(parts, CANDIDATES)
        if len(hits_so_far) >= ENOUGH:
            break
    return hits_so_far


def _stages(engine: Engine, text: str, filters: Filters) -> Iterator[Sequence[Hit]]:
    yield engine.as_written(text, CANDIDATES, filters)
    yield engine.as_written(text, CANDIDATES, filters, fuzziness=1)
    for chunk in chunks(text):
        yield engine.as_written(chunk, CANDIDATES, filters)


@dataclass(frozen=True, slots=True)
class WholeTree:
    """The points of all functions of the index: in the one disk under the common root, or in their repository's."""

    tree: Tree
    points: Mapping[str, Points]

    @classmethod
    def of(cls, engine: Engine) -> WholeTree:
        tree_bytes, embedding_bytes = obtain(engine, "tree"), obtain(engine, "embedding")
        if tree_bytes is None or embedding_bytes is None:
            raise InputError(f"the index {engine.info.name!r} has no tree", "index it again")
        tree = trees.load(tree_bytes)
        return cls(
            tree, {"root": global_embedding.load(embedding_bytes).embedding.points, "split": _split_points(tree)}
        )

    def places(self, which: str, ids: Sequence[str]) -> Points:
        return self.points[which].take([self.tree.leaves[one] for one in ids])


def _split_points(tree: Tree) -> Points:
    """Method 1: every node's point in the disk of its repository. All disks share one space, because k-means needs one;
    so a cluster may join functions with similar positions in different repositories."""
    layout = at_origin(len(tree))
    for nodes, embedding in embed_split(tree, strict=False).values():
        layout.x[nodes], layout.gap[nodes] = embedding.points.x, embedding.points.gap
    return layout


@dataclass(slots=True)
class PaperSystems:
    """The rows that follow the paper, over one open index. Each question is sent to the engine once."""

    engine: Engine
    _trees: WholeTree | None = None
    _candidates: dict[tuple[str, Filters], tuple[list[Candidate], float]] = field(default_factory=dict)

    def systems(self) -> Iterator[System]:
        """One system per row, or one per seed of the row, all with the row's name."""
        yield self._system("Elasticsearch", "the `standard` analyser, fuzziness, chunks", lambda candidates: keep_order)
        for seed in range(SEEDS):
            about = f"its top ten in a random order, mean of {SEEDS} seeds"
            yield self._system("Elasticsearch, randomised", about, partial(_shuffle, seed))
        about = f"{CLUSTERS} clusters of {CANDIDATES} candidates, mean of {SEEDS} seeds"
        for algorithm, make in ALGORITHMS.items():
            for clustering, cluster in CLUSTERINGS.items():
                for which, tree in TREES.items():
                    for seed in range(SEEDS):
                        method = partial(self._cluster, make, cluster, which, seed)
                        yield self._system(f"{algorithm}, {clustering}, {tree}", about, method)

    def _cluster(
        self, make: MakeAlgorithm, cluster: ClusterPoints, which: str, seed: int, candidates: Sequence[Candidate]
    ) -> Reranker:
        if self._trees is None:
            self._trees = WholeTree.of(self.engine)
        places = self._trees.places(which, [one.id for one in candidates])
        return make(lambda local, count, seed=0: cluster(places, count, seed), seed)

    def _system(self, name: str, about: str, method: Method) -> System:
        return System(name, about, lambda case, _: self._answer(case, method))

    def _answer(self, case: Case, method: Method) -> Ranking:
        key = (case.text, case.filters)
        begin = perf_counter()
        if key not in self._candidates:
            hits = retrieve(self.engine, *key)
            candidates = [Candidate(hit.id, hit.address, hit.score) for hit in hits]
            self._candidates[key] = candidates, (perf_counter() - begin) * 1000
        candidates, searching = self._candidates[key]
        begin = perf_counter()
        order = method(candidates)(candidates, RerankContext(case.text, explain=False))[:LIST]
        ranking = (perf_counter() - begin) * 1000
        hits = [Hit(one.id, one.score, one.address) for one in order]
        return Ranking(hits, searching + ranking, {"search": searching, "rerank": ranking})


def _shuffle(seed: int, top: Sequence[Candidate]) -> Reranker:
    """A random order of the first ten, the floor of the table; the same for the same question and seed."""

    def shuffle(candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        random = np.random.default_rng([seed, crc32(context.query.encode())])
        return arrange(candidates[:LIST], random.permutation(len(candidates[:LIST])).tolist())

    return shuffle


def lloyd(points: Rows, count: int, seed: int = 0) -> Labels:
    """At most `count` clusters of the rows: the tightest of several seeded starts."""
    random = np.random.default_rng(seed)
    count = min(count, len(np.unique(points.round(12), axis=0)))
    attempts = [_settle(points, points[_flat_seeds(points, count, random)]) for _ in range(STARTS)]
    return min(attempts, key=lambda one: one[1])[0]


def _settle(points: Rows, means: Rows) -> tuple[Labels, float]:
    """The labels once they no longer change, and the sum of squared distances to the means."""
    labels: Labels = _squared_distances(points, means).argmin(axis=1)
    for _ in range(ITERATIONS):
        for label in range(len(means)):
            if (members := labels == label).any():  # an empty cluster keeps its mean
                means[label] = points[members].mean(axis=0)
        nearest = _squared_distances(points, means).argmin(axis=1)
        if (nearest == labels).all():
            break
        labels = nearest
    return labels, float(_squared_distances(points, means).min(axis=1).sum())


def _flat_seeds(points: Rows, count: int, random: np.random.Generator) -> list[int]:
    """k-means++ seeds by Euclidean distance, the first by chance."""
    picks = [int(random.integers(len(points)))]
    while len(picks) < count:
        nearest = _squared_distances(points, points[picks]).min(axis=1)
        picks.append(int(random.choice(len(points), p=nearest / nearest.sum())))
    return picks


def _squared_distances(points: Rows, means: Rows) -> Rows:
    """Squared distances, one row per point."""
    apart = points[:, None, :] - means[None, :, :]
    sums: Rows = np.einsum("ijk,ijk->ij", apart, apart)
    return sums


class NbowSystem:
    """Ranks every function of an index by a neural bag of words."""

    def __init__(
        self, encoder: StaticEncoder, engine: Engine, progress: Callable[[int], None] = lambda _: None
    ) -> None:
        self.encoder = encoder
        self.entries = list(engine.addresses())
        self.vectors = np.zeros((len(self.entries), encoder.dimension - 1), dtype=np.float32)
        rows = {id_: row for row, (id_, _) in enumerate(self.entries)}
        batch = []
        for function in engine.scan():
            batch.append(function)
            if len(batch) == ENCODED_AT_ONCE:
                self._encode(batch, rows, progress)
                batch = []
        self._encode(batch, rows, progress)
        languages = np.array([address.language for _, address in self.entries], dtype=np.object_)
        self._spoken: dict[str, NDArray[np.bool_]] = {name: languages == name for name in set(languages.tolist())}

    def _encode(self, batch: Sequence[Function], rows: Mapping[str, int], progress: Callable[[int], None]) -> None:
        if batch:
            # A function's prior is Treeline's, not part of a bag of words.
            without_prior = strip_prior(self.encoder.encode_functions(batch))
            self.vectors[[rows[function.id] for function in batch]] = without_prior
            progress(len(batch))

    def answer(self, case: Case, depth: int) -> Ranking:
        begin = perf_counter()
        scores = self.vectors @ strip_prior(self.encoder.encode_queries([case.text]))[0]
        if case.filters.language:
            scores = np.where(self._spoken[case.filters.language], scores, -np.inf)
        best = np.argsort(-scores, kind="stable")[:LIST].tolist()
        hits = [Hit(self.entries[row][0], float(scores[row]), self.entries[row][1]) for row in best]
        return Ranking(hits, (perf_counter() - begin) * 1000)

    def system(self) -> System:
        return System(NBOW, "learnt from docstrings of the partition `train`", self.answer)


def mean_over_seeds(evaluation: Evaluation) -> Evaluation:
    """Merge systems of the same name: each question's score is their mean."""
    by_name: dict[str, list[SystemScores]] = {}
    for scores in evaluation.systems:
        by_name.setdefault(scores.system, []).append(scores)
    return replace(evaluation, systems=[_mean(parts) for parts in by_name.values()])


def _mean(parts: Sequence[SystemScores]) -> SystemScores:
    values = {
        metric: {case: float(np.mean([part.values[metric][case] for part in parts])) for case in values}
        for metric, values in parts[0].values.items()
    }
    return replace(parts[0], values=values)


def lists_of_ten(dataset: DataSet) -> DataSet:
    """The data set with every answer cut after ten results."""
    return replace(dataset, measure=lambda case, hits: dataset.measure(case, hits[:LIST]), depth=LIST)


def systems(searcher: Stages, engine: Engine, nbow: StaticEncoder | None) -> list[System]:
    """Every row of the table, the paper's before ours; random ones once per seed."""
    first = [NbowSystem(nbow, engine).system()] if nbow is not None else []
    return [*first, *PaperSystems(engine).systems(), *LaneCache(searcher).systems(OURS)]


def with_table(document: Document) -> Document:
    """The document with the paper's figures beside ours."""
    means = {system["name"]: system["means"] for system in document["systems"]}
    rows = [
        {
            "label": label,
            "paper": REPORTED.get(label),
            **{metric: means.get(label, {}).get(metric, {}).get("mean") for metric in list(PAPER_HEAD)[2:]},
        }
        for label in dict.fromkeys([*REPORTED, *means])
    ]
    return {**document, "dataset": DATASET, "paper": rows, "notes": [*document["notes"], COMPARABLE]}
