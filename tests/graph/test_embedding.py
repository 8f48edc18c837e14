"""The combinatorial embedding: edges keep their length, branches keep apart, and float64's limit is named."""

import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.trees import ADDRESS_LISTS, address
from treeline.corpus.function import Address
from treeline.graph import hyperbolic
from treeline.graph.embedding import (
    NotSeparable,
    average_distortion,
    depths,
    embed,
    heights,
    quality,
    reachable_scale,
    reroot,
    separating_scale,
    tree_distance,
)
from treeline.graph.hyperbolic import Floats
from treeline.graph.local_tree import local_tree


def random_tree(count: int, seed: int, window: int = 40) -> tuple[np.ndarray, Floats]:
    random = np.random.default_rng(seed)
    parents = np.array([-1, *(int(random.integers(max(0, i - window), i)) for i in range(1, count))], dtype=np.int32)
    weights = random.integers(1, 4, size=count).astype(float)
    weights[0] = 0.0
    return parents, weights


def leaf_distances(addresses: Sequence[Address]) -> tuple[Floats, Floats]:
    local = local_tree(addresses)
    parents, weights = reroot(local.parents, local.weights)
    embedding = embed(parents, weights)
    leaves = embedding.points.take(local.leaves.astype(np.intp))
    return hyperbolic.distances(leaves, leaves) / embedding.scale, local.distances


@given(ADDRESS_LISTS)
def test_every_point_is_inside_the_disk_and_every_edge_has_its_length(addresses: list[Address]) -> None:
    local = local_tree(addresses)
    embedding = embed(local.parents, local.weights)
    assert (embedding.points.gap > 0).all()
    assert (np.linalg.norm(embedding.points.x, axis=1) <= 1.0).all()
    below = np.arange(1, len(local.parents))
    found = hyperbolic.distance(embedding.points.take(below), embedding.points.take(local.parents[1:].astype(np.intp)))
    assert found / embedding.scale == pytest.approx(local.weights[1:], rel=5e-3)


@pytest.mark.parametrize("seed", range(3))
def test_every_node_sees_its_neighbours_at_equal_angles(seed: int) -> None:
    """Sarkar's construction, checked by Möbius addition of complex numbers."""
    parents, weights = random_tree(60, seed, window=6)
    scale = 3.0 / float(heights(parents, weights).max())  # far from the rim, where subtracting points is precise
    x = embed(parents, weights, scale=scale).points.x
    points = x[:, 0] + 1j * x[:, 1]
    for node, here in enumerate(points):
        around = np.flatnonzero((parents == node) | (np.arange(len(parents)) == parents[node]))
        seen = (points[around] - here) / (1 - np.conj(here) * points[around])
        angles = np.sort(np.angle(seen))
        turns = np.diff(np.r_[angles, angles[0] + 2 * np.pi])
        assert turns == pytest.approx(2 * np.pi / len(around), abs=1e-6)


@given(ADDRESS_LISTS)
def test_embedded_distance_is_a_metric_that_grows_with_tree_distance(addresses: list[Address]) -> None:
    embedded, tree = leaf_distances(addresses)
    assert embedded == pytest.approx(embedded.T)
    for middle in range(len(addresses)):
        assert (embedded <= embedded[:, [middle]] + embedded[[middle], :] + 1e-2).all()
    # No embedded distance exceeds the tree's (the way through the branching points is the longest), and pairs that
    # are farther apart in the tree are farther apart on average.
    assert (embedded <= tree + 1e-2).all()
    means = [embedded[tree == steps].mean() for steps in np.unique(tree)]
    assert (np.diff(means) > 0).all()


@given(st.integers(2, 120), st.integers(0, 10_000))
def test_hanging_the_tree_up_at_its_middle_keeps_distances_and_halves_its_depth(count: int, seed: int) -> None:
    parents, weights = random_tree(count, seed)
    hung, lengths = reroot(parents, weights)
    rows, columns = np.triu_indices(count, 1)
    before = tree_distance(parents, weights, rows, columns)
    assert tree_distance(hung, lengths, rows, columns) == pytest.approx(before)
    assert heights(hung, lengths).max() == pytest.approx(before.max() / 2)


def test_a_tree_too_wide_for_its_depth_is_an_error_that_says_what_to_do() -> None:
    chain = list(range(-1, 13))  # 14 deep
    parents = np.array([*chain, *[0] * 440], dtype=np.int32)
    weights = (parents >= 0).astype(float)
    assert separating_scale(parents, weights) > reachable_scale(parents, weights)
    with pytest.raises(NotSeparable) as refused:
        embed(parents, weights, strict=True)
    assert "to keep its branches apart" in refused.value.message
    assert "one repository at a time" in refused.value.hint
    embed(parents, weights)  # and it is still placed for whoever takes it as it is


@pytest.mark.parametrize(
    ("parents", "weights", "neighbours"),
    [([-1, 0, 1, 1], [0, 1, 1, 1], 3), ([-1, 0, 1, 1], [0, 2, 2, 2], 3), ([-1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1], 5)],
)
def test_the_node_with_most_neighbours_for_its_edges_says_how_far_apart_they_must_be(
    parents: list[int], weights: list[float], neighbours: int
) -> None:
    wanted = -np.log(np.tan(np.pi / (2 * neighbours))) / weights[1]
    assert separating_scale(np.array(parents), np.array(weights, dtype=float)) == pytest.approx(wanted)


def test_a_star_and_a_path_are_kept_almost_exactly() -> None:
    star = np.array([-1, 0, 0, 0, 0], dtype=np.int32)
    path = np.array([-1, 0, 1, 2, 3], dtype=np.int32)
    for parents in (star, path):
        weights = (parents >= 0).astype(float)
        found = quality(embed(parents, weights), parents, weights)
        assert found.average_distortion < 0.02
        assert found.mean_average_precision == 1.0


def test_the_quality_of_a_large_tree_is_estimated_from_a_sample() -> None:
    parents, weights = random_tree(600, seed=3)
    placed = embed(parents, weights)
    whole = quality(placed, parents, weights, sample=600)
    for seed in range(3):
        some = quality(placed, parents, weights, sample=100, seed=seed)
        assert some.average_distortion == pytest.approx(whole.average_distortion, rel=0.15)
        assert some.mean_average_precision == pytest.approx(whole.mean_average_precision, abs=0.1)


def test_lists_across_many_repositories_are_distorted_by_less_than_a_tenth() -> None:
    random = np.random.default_rng(5)
    for _ in range(5):
        addresses = [
            address(
                f"o/r{random.integers(60)}",
                "/".join(f"d{random.integers(3)}" for _ in range(random.integers(1, 5))) + "/f.py",
                f"C{random.integers(2)}.f{i}",
            )
            for i in range(100)
        ]
        assert average_distortion(*leaf_distances(addresses)) <= 0.10


@settings(max_examples=20)
@given(st.integers(2, 60), st.integers(0, 1_000))
def test_depths_count_edges(count: int, seed: int) -> None:
    parents, _ = random_tree(count, seed)
    assert (depths(parents)[1:] == depths(parents)[parents[1:]] + 1).all()


def test_a_quarter_of_a_million_nodes_are_placed_in_under_five_seconds() -> None:
    random = np.random.default_rng(1)
    parents = np.empty(250_000, dtype=np.int32)
    parents[0] = -1
    parents[1:] = (np.arange(249_999) * random.uniform(0.2, 0.9, size=249_999)).astype(np.int32)
    weights = (parents >= 0).astype(float)
    start = time.process_time()
    embedding = embed(parents, weights)
    assert time.process_time() - start < 5.0
    assert (embedding.points.gap > 0).all()
