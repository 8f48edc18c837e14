"""The contracted subtree of a query keeps the whole tree's path lengths."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from tests.graph.trees import ADDRESS_LISTS, SMALL
from treeline.corpus.function import Address
from treeline.graph import tree
from treeline.graph.embedding import tree_distance
from treeline.graph.local_tree import local_tree, nearest_above


@given(ADDRESS_LISTS)
def test_distances_are_those_of_the_whole_tree(addresses: list[Address]) -> None:
    whole = tree.grow((str(i), address) for i, address in enumerate(addresses))
    undirected = nx.Graph([(int(parent), node) for node, parent in enumerate(whole.parents) if parent >= 0])
    lengths = dict(nx.all_pairs_shortest_path_length(undirected))
    found = local_tree(addresses).distances
    for i in range(len(addresses)):
        for j in range(len(addresses)):
            assert found[i, j] == lengths[whole.leaves[str(i)]][whole.leaves[str(j)]]


@given(ADDRESS_LISTS)
def test_the_nearest_above_is_the_least_of_the_distances(addresses: list[Address]) -> None:
    between = local_tree(addresses).distances
    assert nearest_above(addresses) == [None, *(between[i, :i].min() for i in range(1, len(addresses)))]


@given(ADDRESS_LISTS)
def test_contraction_keeps_path_lengths_and_leaves_no_unary_chain(addresses: list[Address]) -> None:
    local = local_tree(addresses)
    count = len(addresses)
    rows, columns = np.divmod(np.arange(count * count), count)
    leaves = local.leaves.astype(np.intp)
    between = tree_distance(local.parents, local.weights, leaves[rows], leaves[columns]).reshape(count, count)
    assert (between == local.distances).all()
    children = np.bincount(local.parents[1:], minlength=len(local.parents))
    inner = np.setdiff1d(np.arange(len(local.parents)), leaves)
    assert (children[inner] >= 2).all()
    assert (children[leaves] == 0).all()


def test_a_single_candidate_is_a_tree_of_one_node() -> None:
    local = local_tree(SMALL[:1])
    assert local.parents.tolist() == [-1]
    assert local.distances.tolist() == [[0.0]]


def test_nodes_can_name_the_steps_they_stand_for() -> None:
    local = local_tree(SMALL)
    leaf = int(local.leaves[4])
    assert local.steps(leaf)[:-1] == ("owner/two", "two", "csv.py")


@pytest.mark.parametrize(("a", "b", "steps"), [(0, 1, 3), (0, 2, 4), (0, 3, 7), (0, 4, 9)])
def test_neighbours_in_the_tree_are_near(a: int, b: int, steps: int) -> None:
    assert local_tree(SMALL).distances[a, b] == steps


def test_a_file_hangs_one_step_below_its_own_node() -> None:
    file = Address("o/r", "web/client.py", "client.py", "python", "", "file")
    method = Address("o/r", "web/client.py", "Client.send", "python", "", "method")
    assert local_tree([file, method]).distances[0, 1] == 3
