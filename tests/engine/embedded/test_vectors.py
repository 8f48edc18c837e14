"""The scan finds what a plain matrix product finds."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from treeline.engine.embedded import scans
from treeline.engine.embedded.scans import Matrix, merge_vectors, write_vectors
from treeline.engine.hits import normalize

DIMENSION = 64


def clustered(count: int, seed: int = 0, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Unit vectors in bunches, as real ones are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((50, dimension))
    return normalize(centres[rng.integers(0, 50, count)] + 0.7 * rng.standard_normal((count, dimension)))


def matrix_of(folder: Path, rows: NDArray[np.float32]) -> Matrix:
    part = folder / "part"
    part.mkdir(parents=True)
    write_vectors(part, 0, rows)
    merge_vectors(folder, 0, rows.shape[1], [(part, 0)], [np.arange(len(rows))])
    return Matrix(folder, 0)


def exact(rows: NDArray[np.float32], query: NDArray[np.float32], k: int) -> set[int]:
    return set(np.argsort(-(rows @ query), kind="stable")[:k].tolist())


@pytest.mark.parametrize("count", [1, 150, 5_000, 50_000])
def test_a_scan_finds_the_nearest(tmp_path: Path, count: int) -> None:
    rows = clustered(count)
    matrix = matrix_of(tmp_path, rows)
    shares = []
    for query in clustered(20, seed=1):
        positions, scores = matrix.nearest(query, 100, None)
        assert len(positions) == min(count, 100)
        assert list(scores) == sorted(scores, reverse=True)
        shares.append(len(set(positions.tolist()) & exact(rows, query, 100)) / len(positions))
    assert np.mean(shares) >= 0.99


@pytest.mark.parametrize("passing", [0.001, 0.05, 0.5])
def test_a_masked_scan_finds_the_nearest_of_those_that_pass(tmp_path: Path, passing: float) -> None:
    rows = clustered(30_000)
    mask = np.random.default_rng(2).random(len(rows)) < passing
    matrix = matrix_of(tmp_path, rows)
    allowed = np.flatnonzero(mask)
    for query in clustered(10, seed=1):
        positions, _ = matrix.nearest(query, 20, mask)
        best = allowed[np.argsort(-(rows[allowed] @ query))[:20]]
        assert len(set(positions.tolist()) & set(best.tolist())) >= 19


@pytest.mark.parametrize("passing", [1.0, 0.7])
def test_signs_leave_hardly_any_of_the_nearest_out(tmp_path: Path, passing: float) -> None:
    rows = clustered(60_000, dimension=256)
    rows[::50] = 0
    mask = np.random.default_rng(2).random(len(rows)) < passing
    matrix = matrix_of(tmp_path, rows)
    allowed = np.flatnonzero(mask & rows.any(axis=1))
    shares = []
    for query in near_some_of(rows):
        positions, scores = matrix.nearest(query, 100, None if passing == 1 else mask)
        assert np.isin(positions, allowed).all()
        assert scores == pytest.approx(rows[positions] @ query, abs=1e-3)
        best = allowed[np.argsort(-(rows[allowed] @ query))[:100]]
        shares.append(len(set(positions.tolist()) & set(best.tolist())) / 100)
    assert np.mean(shares) >= 0.98


def test_rows_that_pass_in_a_regular_pattern_are_the_only_ones_found(tmp_path: Path) -> None:
    rows = clustered(48_000, dimension=192)
    matrix = matrix_of(tmp_path, rows)
    place = np.arange(len(rows))
    for mask in (place % 2 == 0, place % 2 == 1, place % 8 == 0, place % 8 != 0, place % 16 > 7):
        allowed = np.flatnonzero(mask)
        for query in near_some_of(rows)[:5]:
            positions, _ = matrix.nearest(query, 10, mask)
            best = allowed[np.argsort(-(rows[allowed] @ query))[:10]]
            assert mask[positions].all()
            assert len(set(positions.tolist()) & set(best.tolist())) >= 9


@pytest.mark.parametrize("passing", [0, 1, 7])
def test_where_fewer_pass_than_are_asked_for_all_of_them_are_found_and_no_others(tmp_path: Path, passing: int) -> None:
    rows = clustered(25_000, dimension=192)
    mask = np.zeros(len(rows), dtype=np.bool_)
    mask[3 : 3 + passing] = True
    positions, scores = matrix_of(tmp_path, rows).nearest(rows[0], 10, mask)
    assert sorted(positions.tolist()) == np.flatnonzero(mask).tolist()
    assert len(scores) == passing


@pytest.mark.parametrize("counting", [0, 5, 500])
def test_rows_that_do_not_count_are_not_near_however_few_do(counting: int) -> None:
    distances = np.full(8_000, scans.FAR, dtype=np.uint16)
    distances[1 : 1 + 8 * counting : 8] = np.arange(counting)  # never where the sample looks
    assert len(scans.nearest_by(distances, 100)) == min(counting, 100)
    assert (distances[scans.nearest_by(distances, 100)] < scans.FAR).all()


def near_some_of(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Questions that mean something: each is like some of what there is."""
    return normalize(rows[1:2_000:100] + 0.05 * np.random.default_rng(3).standard_normal((20, rows.shape[1])))


def test_of_equally_near_rows_the_first_are_found(tmp_path: Path) -> None:
    rows = clustered(500)
    rows[100:400] = rows[100]
    positions, scores = matrix_of(tmp_path, rows).nearest(rows[100], 120, None)
    assert positions.tolist() == list(range(100, 220)) and len(set(scores.tolist())) == 1


@pytest.mark.parametrize("dimension", [3, 64, 100, 256, 300])
def test_signs_differ_where_components_do(dimension: int) -> None:
    rows = clustered(70_000 if dimension == 3 else 50, dimension=dimension)
    query = clustered(1, seed=1, dimension=dimension)
    expected = ((rows > 0) != (query > 0)).sum(axis=1)
    assert (scans.sign_distances(scans.signs(rows), scans.signs(query)) == expected).all()


def test_rows_without_a_vector_are_never_found(tmp_path: Path) -> None:
    rows = clustered(300)
    rows[::3] = 0
    matrix = matrix_of(tmp_path, rows)
    positions, _ = matrix.nearest(rows[1], 300, None)
    assert len(positions) == 200
    assert not (positions % 3 == 0).any()


@pytest.mark.parametrize("k", [1, 2, 3, 10, 49, 50])
def test_exactly_the_k_best_are_found(tmp_path: Path, k: int) -> None:
    """All scores differ, so one too few or another last one shows."""
    angles = np.random.default_rng(4).permutation(50) * np.pi / 100
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    positions, _ = matrix_of(tmp_path, rows).nearest(np.array([1, 0], dtype=np.float32), k, None)
    assert positions.tolist() == np.argsort(angles)[:k].tolist()
