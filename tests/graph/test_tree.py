"""The tree of an index: its shape, its artifact, and that an update equals a rebuild."""

from hypothesis import given
from hypothesis import strategies as st

from tests.graph.trees import ADDRESS_LISTS, SMALL
from treeline.corpus.function import Address
from treeline.graph import tree
from treeline.graph.tree import KINDS, Tree


def numbered(addresses: list[Address], start: int = 0) -> list[tuple[str, Address]]:
    return [(f"id{start + i}", address) for i, address in enumerate(addresses)]


def shape(found: Tree) -> set[tuple[tuple[str, str], ...]]:
    """Every function's path by labels and kinds, with its id."""
    return {
        (*((found.labels[node], KINDS[found.kinds[node]]) for node in found.path(leaf)), (function_id, "id"))
        for function_id, leaf in found.leaves.items()
    }


def test_a_path_goes_root_repository_folders_file_class_function() -> None:
    found = tree.load(tree.dump(tree.grow(numbered(SMALL))))
    leaf = found.leaf("id1")
    assert leaf is not None
    assert [found.labels[node] for node in found.path(leaf)] == [
        "", "owner/one", "src", "io", "read.py", "Reader", "read",
    ]  # fmt: skip
    assert [KINDS[found.kinds[node]] for node in found.path(leaf)] == [
        "root", "repository", "folder", "folder", "file", "class", "function",
    ]  # fmt: skip


def test_functions_of_one_name_in_one_file_are_different_leaves() -> None:
    found = tree.grow([("first", SMALL[0]), ("second", SMALL[0])])
    assert found.leaf("first") != found.leaf("second")
    assert len(found.leaves) == 2


def test_a_missing_function_has_no_leaf_and_an_empty_index_has_a_tree() -> None:
    empty = tree.load(tree.dump(tree.grow([])))
    assert len(empty) == 1
    assert empty.leaf("nowhere") is None


@given(ADDRESS_LISTS, ADDRESS_LISTS, st.data())
def test_an_update_gives_the_tree_that_a_rebuild_gives(
    before: list[Address], added: list[Address], data: st.DataObject
) -> None:
    old = numbered(before)
    new = numbered(added, start=1_000)
    gone = data.draw(st.sets(st.sampled_from([function_id for function_id, _ in old])))
    updated = tree.grow(new, tree.prune(tree.load(tree.dump(tree.grow(old))), gone))
    rebuilt = tree.grow([pair for pair in old if pair[0] not in gone] + new)
    assert shape(updated) == shape(rebuilt)
    assert len(updated) == len(rebuilt)
    assert (updated.parents[1:] < range(1, len(updated))).all()


def test_the_artifact_is_the_same_bytes_each_time() -> None:
    assert tree.dump(tree.grow(numbered(SMALL))) == tree.dump(tree.grow(numbered(SMALL)))


def test_the_unit_of_a_class_or_file_is_its_node() -> None:
    def unit(name: str, kind: str) -> Address:
        return Address("o/r", "a.py", name, "python", "", kind)

    grown = tree.grow([("m", unit("C.m", "method")), ("c", unit("C", "class")), ("f", unit("a.py", "file"))])
    method = grown.path(grown.leaves["m"])
    assert [grown.leaves["f"], grown.leaves["c"]] == method[-3:-1]
    assert len(grown) == 5
