"""The drawn map: every candidate once, inside the disk, below its parents."""

from hypothesis import given

from tests.graph.trees import ADDRESS_LISTS, SMALL
from treeline.corpus.function import Address
from treeline.graph.layout import DiskMap, draw
from treeline.graph.network import result_graph


def disk_map(ids: list[str], addresses: list[Address], clusters: list[int | None] | None = None) -> DiskMap:
    return draw(result_graph(ids, addresses, clusters or ()), addresses)


@given(ADDRESS_LISTS)
def test_every_candidate_is_drawn_once_inside_the_disk(addresses: list[Address]) -> None:
    ids = [str(i) for i in range(len(addresses))]
    found = disk_map(ids, addresses)
    assert sorted(node.id for node in found.nodes if node.id is not None) == sorted(ids)
    assert all(node.x**2 + node.y**2 < 1 for node in found.nodes)
    assert [node.parent is None for node in found.nodes].count(True) == 1
    assert len({(node.x, node.y) for node in found.nodes}) == len(found.nodes)


def test_nodes_say_what_they_are() -> None:
    found = disk_map([str(i) for i in range(5)], SMALL, [0, 0, 1, 1, 2])
    assert found.nodes[0].kind == "root"
    by_id = {node.id: node for node in found.nodes}
    assert by_id["4"].kind == "function"
    assert by_id["4"].label == "owner/two/two/csv.py/load"
    assert by_id["4"].rank == 5
    assert by_id["4"].cluster == 2
    read = by_id["0"]
    assert read.parent is not None
    assert found.nodes[read.parent].kind == "file"
    assert found.nodes[read.parent].label == "read.py"


def test_no_candidates_make_an_empty_map() -> None:
    assert disk_map([], []).nodes == ()
