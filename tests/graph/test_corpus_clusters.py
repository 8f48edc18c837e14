"""Corpus clusters: near vectors share one, zero vectors have none."""

import sys

import numpy as np
import pytest

from treeline.graph import corpus_clusters


@pytest.fixture
def built() -> corpus_clusters.CorpusClusters:
    random = np.random.default_rng(0)
    centres = np.eye(3, 8, dtype=np.float32)
    vectors = np.repeat(centres, 20, axis=0) + random.normal(scale=0.05, size=(60, 8)).astype(np.float32)
    vectors = np.vstack([vectors, np.zeros((1, 8), dtype=np.float32)])
    data = corpus_clusters.build([f"id{i}" for i in range(61)], vectors, k=3)
    return corpus_clusters.load(data)


def test_near_functions_are_in_one_cluster(built: corpus_clusters.CorpusClusters) -> None:
    cluster = built.of("id0")
    assert cluster is not None
    assert set(built.members(cluster)) == {f"id{i}" for i in range(20)}
    assert built.of("id0") != built.of("id25")


def test_a_function_without_a_vector_or_unknown_has_no_cluster(built: corpus_clusters.CorpusClusters) -> None:
    assert built.of("id60") is None
    assert built.of("unknown") is None


def test_fewer_functions_than_clusters_and_none_at_all_are_fine() -> None:
    few = corpus_clusters.load(corpus_clusters.build(["a"], np.ones((1, 4), dtype=np.float32)))
    assert few.of("a") == 0
    none = corpus_clusters.load(corpus_clusters.build([], np.zeros((0, 4), dtype=np.float32)))
    assert none.of("a") is None


def test_no_more_functions_than_clusters_are_one_each_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)  # a second to import, for a project of ten functions
    vectors = np.vstack([np.eye(10, dtype=np.float32), np.zeros((1, 10), dtype=np.float32)])
    found = corpus_clusters.load(corpus_clusters.build([f"id{number}" for number in range(11)], vectors))
    assert sorted(found.of(f"id{number}") for number in range(10)) == list(range(10))  # type: ignore[type-var]
    assert found.of("id10") is None


def test_clusters_are_fitted_again_once_a_fifth_of_the_functions_is_new() -> None:
    random = np.random.default_rng(1)
    vectors = random.normal(size=(100, 8)).astype(np.float32)
    data = corpus_clusters.build([f"id{number}" for number in range(100)], vectors, k=5)
    first = corpus_clusters.update(data, ["new0"], vectors[:1], ["id1"])
    assert first is not None
    found = corpus_clusters.load(first)
    assert found.of("new0") == corpus_clusters.load(data).of("id0")
    assert found.of("id1") is None
    many = [f"more{number}" for number in range(20)]
    assert corpus_clusters.update(first, many[:18], vectors[:18], []) is not None
    assert corpus_clusters.update(first, many, vectors[:20], []) is None
