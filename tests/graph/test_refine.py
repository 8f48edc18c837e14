"""Refinement by geoopt lowers the distortion of an embedding, or leaves it."""

import numpy as np
import pytest

from tests.graph.trees import address
from treeline.corpus.function import Address
from treeline.graph import network
from treeline.graph.global_embedding import embed_whole
from treeline.graph.local_tree import local_tree
from treeline.graph.refine import embed_refined, refine
from treeline.graph.tree import grow


@pytest.mark.transformers
@pytest.mark.filterwarnings("ignore")
def test_refinement_never_makes_it_worse() -> None:
    pytest.importorskip("geoopt")
    random = np.random.default_rng(0)
    addresses = [
        address(f"o/r{random.integers(6)}", f"d{random.integers(3)}/f{random.integers(3)}.py", f"f{i}")
        for i in range(30)
    ]
    local = local_tree(addresses)
    found = refine(local.parents, local.weights, dimension=5, steps=60)
    assert found.after <= found.before
    assert found.embedding.points.x.shape == (len(local.parents), 5)


@pytest.mark.transformers
@pytest.mark.filterwarnings("ignore")
def test_geoopt_lowers_the_distortion_of_a_tree_that_two_dimensions_cannot_hold() -> None:
    pytest.importorskip("geoopt")
    wide = [Address(f"o/r{i % 10}", f"d{i // 10 % 6}/f{i // 60 % 6}.py", f"f{i}", "python", "") for i in range(1440)]
    deep = Address("o/deep", "a/" * 24 + "z.py", "g", "python", "")  # its depth leaves the others little room
    grown = grow((str(i), address) for i, address in enumerate([*wide, deep]))
    flat, refined = embed_whole(grown), embed_refined(grown, 5)
    assert not flat.separable
    assert refined.quality.average_distortion < 0.5 * flat.quality.average_distortion  # .12 and .43
    graph = network.index_graph(grown, refined)
    assert all({"x", "y", "x3", "x4", "x5", "radius"} <= data.keys() for _, data in graph.nodes(data=True))
