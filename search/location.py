"""Finds the units at a location: in a file or folder, or at a line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from treeline.engine.hits import Hit
from treeline.engine.protocol import Engine, Filters
from treeline.graph import tree as trees
from treeline.graph.tree import CLASS, FILE, FOLDER, Tree
from treeline.search.structure import Location, ends_with


class Locations:
    """The repository tree of an index, with the unit of each leaf."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.ids = {node: id_ for id_, node in tree.leaves.items()}

    @classmethod
    def of(cls, engine: Engine) -> Locations | None:
        """The locations of an open index; None if it has no tree."""
        from treeline.search.artifacts import obtain

        data = obtain(engine, "tree")
        return cls(trees.load(data)) if data else None

    def units(self, engine: Engine, location: Location, filters: Filters) -> list[Hit]:
        """The units of the files that fit best, by line; else those of a folder."""
        name = [location.path.rpartition("/")[2]]
        files = [(node, path) for node, path in self._nodes(name, FILE) if location.fits(path)]
        folders = () if files else self._nodes(name, FOLDER)
        nodes = self._best(files, location) or [node for node, path in folders if ends_with(path, location.path)]
        hits = self._units_of(engine, nodes, filters)
        hits = [hit for hit in hits if f"{hit.address.repo}/" in location.path] or list(hits)
        return sorted(hits, key=lambda hit: (hit.address.repo, hit.address.path, hit.address.lines or (0, 0)))

    def units_of(self, engine: Engine, paths: Collection[str], filters: Filters) -> Sequence[Hit]:
        """The units of these files: of thousands as soon as of one."""
        names = {path.rpartition("/")[2] for path in paths}
        return self._units_of(engine, [node for node, path in self._nodes(names, FILE) if path in paths], filters)

    def by_path(self, engine: Engine, paths: Collection[str], filters: Filters) -> Mapping[str, Sequence[Hit]]:
        """The units of these files, by path."""
        units: dict[str, list[Hit]] = defaultdict(list)
        for hit in self.units_of(engine, paths, filters):
            units[hit.address.path].append(hit)
        return units

    def members(self, owner: str, prefix: str) -> list[str]:
        """The names that begin so in the classes, modules and packages of a name, the most common first."""
        tree, prefix = self.tree, prefix.casefold()
        inner = np.flatnonzero((tree.kinds >= FOLDER) & (tree.kinds <= CLASS)).tolist()
        owners = [node for node in inner if tree.labels[node].partition(".")[0] == owner]
        folders = [node for node in owners if tree.kinds[node] == FOLDER]
        files = np.flatnonzero((tree.kinds == FILE) & np.isin(tree.parents, folders))
        nodes = np.flatnonzero((tree.kinds >= CLASS) & np.isin(tree.parents, [*owners, *files.tolist()]))
        names = Counter(tree.labels[node] for node in nodes.tolist())
        return [name for name, _ in names.most_common() if name.casefold().startswith(prefix)]

    def _nodes(self, names: Collection[str], kind: int) -> Iterator[tuple[int, str]]:
        """Nodes of this kind with one of these names, and their paths."""
        for node in (self.tree.kinds == kind).nonzero()[0].tolist():
            if self.tree.labels[node] in names:
                yield node, "/".join(self.tree.labels[step] for step in self.tree.path(node)[2:])

    def _units_of(self, engine: Engine, nodes: Sequence[int], filters: Filters) -> Sequence[Hit]:
        """The units of these nodes and of those below them."""
        is_inside = self.inside(nodes)
        return engine.locate([id_ for id_, node in self.tree.leaves.items() if is_inside[node]], filters)

    @staticmethod
    def _best(files: Sequence[tuple[int, str]], location: Location) -> list[int]:
        """The file of exactly that path, else the longest suffix of the path, else all files that end with the path."""
        longest = max((path for _, path in files if ends_with(location.path, path)), key=len, default="")
        return [node for node, path in files if not longest or path == longest]

    def inside(self, nodes: Sequence[int]) -> NDArray[np.bool_]:
        """For every node, whether it is one of these or below one of them."""
        tree = self.tree
        is_inside = np.zeros(len(tree), dtype=np.bool_)
        is_inside[list(nodes)] = True
        while True:  # one step per level of nesting
            more = is_inside | ((tree.kinds >= FOLDER) & is_inside[tree.parents])
            if np.array_equal(more, is_inside):
                return is_inside
            is_inside = more


def holding(hits: Sequence[Hit], lines: Sequence[int]) -> list[Hit]:
    """The innermost of a file's units that hold these lines, in their order."""
    rows = [(hit, span) for hit in hits if (span := hit.address.lines)]
    rest = np.unique(np.asarray(lines, dtype=np.int64))
    units = []
    for hit, (first, last) in sorted(rows, key=lambda row: row[1][1] - row[1][0]):
        inside = (rest >= first) & (rest <= last)
        if inside.any() and hit.address.kind != "file":
            units.append(hit)
        rest = rest[~inside]
    return sorted(units, key=lambda hit: hit.address.lines or (0, 0))


def innermost(hits: Sequence[Hit], line: int) -> list[Hit]:
    """The units at a line, in each file the innermost first."""
    at = [hit for hit in hits if hit.address.lines and hit.address.lines[0] <= line <= hit.address.lines[1]]
    return sorted(at, key=lambda hit: hit.address.lines[1] - hit.address.lines[0] if hit.address.lines else 0)
