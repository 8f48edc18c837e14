"""The tree as a networkx graph: of an index and of a list of results, with places, distances and clusters."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given

from tests.graph.trees import ADDRESS_LISTS, SMALL
from treeline.corpus.function import Address
from treeline.graph import network, tree
from treeline.graph.global_embedding import embed_whole
from treeline.graph.local_tree import local_tree

IDS = [str(number) for number in range(len(SMALL))]


def whole() -> nx.DiGraph[int]:
    grown = tree.grow(zip(IDS, SMALL, strict=True))
    return network.index_graph(grown, embed_whole(grown), {"0": 3})


def test_an_index_is_one_tree_and_method_1_a_tree_per_repository() -> None:
    graph = whole()
    assert nx.is_arborescence(graph)
    forest = network.forest(graph)
    assert nx.is_forest(forest)
    assert nx.number_weakly_connected_components(forest) == 2
    assert len(forest) == len(graph) - 1


def test_nodes_of_an_index_have_their_place_in_the_disk_and_their_cluster() -> None:
    graph = whole()
    scale = graph.graph["scale"]
    for _, data in graph.nodes(data=True):
        assert data["x"] ** 2 + data["y"] ** 2 < 1
        assert 0.8 * data["depth"] * scale <= data["radius"] <= data["depth"] * scale + 1e-6
        assert data.get("cluster") == (3 if data["function"] == "0" else None)
    assert all(data["length"] == pytest.approx(scale, rel=1e-2) for _, _, data in graph.edges(data=True))
    assert graph.graph["separable"] and 0 <= graph.graph["distortion"] < 1 and graph.graph["precision"] > 0.5


@given(ADDRESS_LISTS)
def test_paths_between_results_are_as_long_as_in_the_whole_tree(addresses: list[Address]) -> None:
    graph = network.result_graph([str(i) for i in range(len(addresses))], addresses)
    assert nx.is_arborescence(graph)
    at = {data["rank"]: node for node, data in graph.nodes(data=True) if "rank" in data}
    wanted = local_tree(addresses).distances
    found = dict(nx.all_pairs_dijkstra_path_length(graph.to_undirected(), weight="distance"))
    for rank, node in at.items():
        for other, there in at.items():
            assert found[node][there] == wanted[rank - 1, other - 1]


def test_results_say_what_they_are_and_edges_are_as_long_as_their_steps() -> None:
    graph = network.result_graph(IDS, SMALL, [0, 0, 1, None, 2])
    results = {data["function"]: data for _, data in graph.nodes(data=True) if data["function"]}
    assert {id_: data.get("cluster") for id_, data in results.items()} == {"0": 0, "1": 0, "2": 1, "3": None, "4": 2}
    assert [results[id_]["rank"] for id_ in IDS] == [1, 2, 3, 4, 5]
    assert (results["4"]["repo"], results["4"]["path"]) == (SMALL[4].repo, SMALL[4].path)
    scale = graph.graph["scale"]
    for _, _, data in graph.edges(data=True):
        assert data["length"] == pytest.approx(data["distance"] * scale, rel=1e-2)
    assert 0 <= graph.graph["distortion"] < 0.2


def test_no_results_make_an_empty_graph() -> None:
    assert len(network.result_graph([], [])) == 0
