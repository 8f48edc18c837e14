"""The repository tree of a whole index: common root → repository → folders → file → classes → function.

This is the paper's Method 2. Method 1, one tree per repository, is the same without the root. `network.py` makes a
networkx graph of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.arrays import read_archive
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address
from treeline.graph.embedding import Nodes

Kind = Literal["root", "repository", "folder", "file", "class", "function"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ROOT, REPOSITORY, FOLDER, FILE, CLASS, FUNCTION = range(6)
TYPES = frozenset({"class", "interface", "type", "enum"})  # units that have members
SEPARATOR = "\0"  # no path on any system contains it


@frozen
class Tree:
    """Every node's parent (−1 for the root, node 0; parents come first), label and kind, and each function's node."""

    parents: Nodes
    kinds: NDArray[np.uint8]
    labels: tuple[str, ...]
    leaves: dict[str, int]

    def __len__(self) -> int:
        return len(self.parents)

    def leaf(self, function_id: str) -> int | None:
        return self.leaves.get(function_id)

    def path(self, node: int) -> list[int]:
        """The nodes from the root to this one, both included."""
        nodes = [node]
        while (node := int(self.parents[node])) >= 0:
            nodes.append(node)
        return nodes[::-1]


class _Grower:
    """Adds functions to a tree, finding or making the nodes above each."""

    def __init__(self, tree: Tree | None = None) -> None:
        self.parents: list[int] = [-1] if tree is None else tree.parents.tolist()
        self.kinds: list[int] = [ROOT] if tree is None else tree.kinds.tolist()
        self.labels: list[str] = [""] if tree is None else list(tree.labels)
        self.leaves: dict[str, int] = {} if tree is None else dict(tree.leaves)
        self.inner: dict[tuple[int, str, int], int] = {}
        self.files: dict[tuple[str, str], int] = {}
        for node, key in enumerate(zip(self.parents, self.labels, self.kinds, strict=True)):
            if key[2] not in (ROOT, FUNCTION):
                self.inner[key] = node

    def add(self, function_id: str, address: Address) -> None:
        if function_id in self.leaves:
            return
        key = (address.repo, address.path)
        node = self.files.get(key)
        if node is None:
            node = self.child(0, address.repo, REPOSITORY)
            *folders, name = address.path.split("/")
            for folder in folders:
                node = self.child(node, folder, FOLDER)
            node = self.files[key] = self.child(node, name, FILE)
        *classes, name = address.scopes
        if address.kind == "file":  # a file's unit is the file's node, a class's unit the class's node
            self.leaves[function_id] = node
            return
        for scope in classes:
            node = self.child(node, scope, CLASS)
        own = self.child(node, name, CLASS) if address.kind in TYPES else self.append(node, name, FUNCTION)
        self.leaves[function_id] = own

    def child(self, parent: int, label: str, kind: int) -> int:
        key = (parent, label, kind)
        node = self.inner.get(key)
        if node is None:
            node = self.inner[key] = self.append(parent, label, kind)
        return node

    def append(self, parent: int, label: str, kind: int) -> int:
        self.parents.append(parent)
        self.labels.append(label)
        self.kinds.append(kind)
        return len(self.parents) - 1

    def tree(self) -> Tree:
        return Tree(
            np.array(self.parents, dtype=np.int32),
            np.array(self.kinds, dtype=np.uint8),
            tuple(self.labels),
            self.leaves,
        )


def grow(addresses: Iterable[tuple[str, Address]], tree: Tree | None = None) -> Tree:
    """The tree of these functions, or the given tree with these added."""
    grower = _Grower(tree)
    for function_id, address in addresses:
        grower.add(function_id, address)
    return grower.tree()


def prune(tree: Tree, ids: Iterable[str]) -> Tree:
    """The tree without these functions, and without nodes that have no function left below them."""
    leaves = dict(tree.leaves)
    for function_id in ids:
        leaves.pop(function_id, None)
    alive = np.zeros(len(tree), dtype=bool)
    alive[0] = True
    at = np.fromiter(leaves.values(), dtype=np.intp, count=len(leaves))
    while len(at):
        alive[at] = True
        is_parent = np.zeros(len(tree), dtype=bool)
        is_parent[tree.parents[at]] = True
        at = np.flatnonzero(is_parent & ~alive)
    numbers = np.cumsum(alive, dtype=np.int32) - 1
    nodes = np.flatnonzero(alive)
    parents = np.where(tree.parents[nodes] < 0, -1, numbers[tree.parents[nodes]]).astype(np.int32)
    return Tree(
        parents,
        tree.kinds[nodes],
        tuple(tree.labels[node] for node in nodes.tolist()),
        {function_id: int(numbers[node]) for function_id, node in leaves.items()},
    )


def dump(tree: Tree) -> bytes:
    """The `tree` artifact of an index."""
    buffer = BytesIO()
    # Not compressed: 11 MB instead of 5 for 182,000 functions, but much faster to write, and read in 2/3 of the time.
    np.savez(
        buffer,
        parents=tree.parents,
        kinds=tree.kinds,
        labels=pack_texts(tree.labels),
        ids=pack_texts(list(tree.leaves)),
        leaves=np.fromiter(tree.leaves.values(), dtype=np.int32, count=len(tree.leaves)),
    )
    return buffer.getvalue()


def load(data: bytes) -> Tree:
    arrays = read_archive(data)
    leaves = arrays["leaves"].tolist()
    return Tree(
        arrays["parents"],
        arrays["kinds"],
        tuple(unpack_texts(arrays["labels"], len(arrays["parents"]))),
        dict(zip(unpack_texts(arrays["ids"], len(leaves)), leaves, strict=True)),
    )


def pack_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    text = SEPARATOR.join(text.replace(SEPARATOR, " ") for text in texts)
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpack_texts(data: NDArray[np.uint8], count: int) -> Iterator[str]:
    return iter(data.tobytes().decode("utf-8", "surrogatepass").split(SEPARATOR) if count else [])
