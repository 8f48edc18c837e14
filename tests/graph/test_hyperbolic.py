"""The geometry of the Poincaré ball: its laws, its rim, and geoopt as the oracle where geoopt is exact."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeline.graph import hyperbolic
from treeline.graph.hyperbolic import Points

LENGTHS = st.floats(0.01, 30.0)
ANGLES = st.floats(0.0, 2 * math.pi)
PLACES = st.tuples(LENGTHS, ANGLES)


def at(*places: tuple[float, float]) -> Points:
    lengths, angles = np.array(places).T
    return hyperbolic.polar(lengths, angles)


@given(PLACES, PLACES)
def test_distance_is_symmetric_and_points_stay_inside(a: tuple[float, float], b: tuple[float, float]) -> None:
    one, other = at(a), at(b)
    assert hyperbolic.distance(one, other) == pytest.approx(hyperbolic.distance(other, one))
    moved = hyperbolic.add(at((a[0] / 2, a[1])), at((b[0] / 2, b[1])))
    assert moved.gap[0] > 0
    assert np.linalg.norm(moved.x) <= 1.0


@given(PLACES, PLACES, PLACES)
def test_the_triangle_inequality_holds(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> None:
    points = at(a, b, c)
    between = hyperbolic.distances(points, points)
    assert between[0, 2] <= between[0, 1] + between[1, 2] + 1e-3  # digits left at 30 from the centre


@given(LENGTHS, ANGLES)
def test_the_distance_from_the_centre_is_right_up_to_the_rim(length: float, angle: float) -> None:
    assert hyperbolic.distance(hyperbolic.at_origin(1), at((length, angle)))[0] == pytest.approx(length, rel=1e-9)


@given(LENGTHS, LENGTHS, ANGLES)
def test_the_hyperbolic_law_of_cosines_holds(a: float, b: float, angle: float) -> None:
    # In the form that has no differences of large numbers: sinh²(d/2) = sinh²((a−b)/2) + sinh a sinh b sin²(θ/2).
    half = math.sinh((a - b) / 2) ** 2 + math.sinh(a) * math.sinh(b) * math.sin(angle / 2) ** 2
    assert hyperbolic.distance(at((a, 0.0)), at((b, angle)))[0] == pytest.approx(
        2 * math.asinh(math.sqrt(half)), abs=5e-3
    )


@given(st.tuples(st.floats(0.01, 8.0), ANGLES), st.tuples(st.floats(0.01, 8.0), ANGLES), PLACES)
def test_translations_keep_distances(a: tuple[float, float], b: tuple[float, float], by: tuple[float, float]) -> None:
    one, other, centre = at(a), at(b), at((by[0] / 4, by[1]))
    before = hyperbolic.distance(one, other)[0]
    translated = hyperbolic.distance(hyperbolic.add(centre, one), hyperbolic.add(centre, other))[0]
    assert translated == pytest.approx(before, rel=1e-4, abs=1e-5)


@given(st.tuples(st.floats(0.01, 8.0), ANGLES), st.tuples(st.floats(0.01, 8.0), ANGLES))
def test_exp_undoes_log_and_log_has_the_length_of_the_distance(a: tuple[float, float], b: tuple[float, float]) -> None:
    centre, other = at(a), at(b)
    tangent = hyperbolic.log(centre, other)
    assert np.linalg.norm(tangent) == pytest.approx(hyperbolic.distance(centre, other)[0], rel=1e-6, abs=1e-9)
    assert hyperbolic.distance(hyperbolic.exp(centre, tangent), other)[0] == pytest.approx(0.0, abs=1e-3)


@given(st.lists(st.tuples(st.floats(0.01, 20.0), ANGLES), min_size=2, max_size=12))
def test_no_point_nearby_has_a_smaller_sum_of_squares_than_the_frechet_mean(places: list[tuple[float, float]]) -> None:
    points = at(*places)
    mean = hyperbolic.frechet_means(points, np.zeros(len(places), dtype=np.intp), 1, steps=200)

    def cost(centre: Points) -> float:
        return float((hyperbolic.distances(centre, points) ** 2).sum())

    for angle in np.linspace(0, 2 * np.pi, 8, endpoint=False):
        aside = hyperbolic.add(mean, at((0.1, float(angle))))
        assert cost(mean) <= cost(aside) + 1e-6


def test_the_mean_of_two_points_lies_half_way() -> None:
    points = at((4.0, 0.3), (6.0, 2.1))
    mean = hyperbolic.frechet_means(points, np.zeros(2, dtype=np.intp), 1, steps=100)
    assert hyperbolic.distances(mean, points)[0] == pytest.approx(
        hyperbolic.distance(points.take([0]), points.take([1]))[0] / 2
    )


@pytest.mark.transformers
@pytest.mark.filterwarnings("ignore")
def test_geoopt_agrees_where_it_is_exact() -> None:
    geoopt = pytest.importorskip("geoopt")
    torch = pytest.importorskip("torch")
    ball = geoopt.PoincareBall()
    random = np.random.default_rng(3)
    x = random.normal(size=(60, 5))
    x *= (random.uniform(0.05, 0.99, size=60) / np.linalg.norm(x, axis=1))[:, None]
    a, b = hyperbolic.points(x[:30]), hyperbolic.points(x[30:])
    left, right = torch.from_numpy(a.x), torch.from_numpy(b.x)
    assert hyperbolic.distance(a, b) == pytest.approx(ball.dist(left, right).numpy(), rel=1e-6)
    assert hyperbolic.add(a, b).x == pytest.approx(ball.mobius_add(left, right).numpy(), abs=1e-9)
    # geoopt's log map at a point is scaled by the conformal factor there; ours has the length of the distance.
    factor = 2.0 / a.gap[:, None]
    assert hyperbolic.log(a, b) == pytest.approx(ball.logmap(left, right).numpy() * factor, rel=1e-5, abs=1e-7)
