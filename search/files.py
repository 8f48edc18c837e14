"""The files of an open index: folders, texts, the units of a file, and what the names in it refer to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np

from treeline.corpus.frozen import frozen
from treeline.engine.hits import Hit
from treeline.engine.texts import FileEntry
from treeline.graph.references import last_of
from treeline.graph.tree import FILE, FOLDER, REPOSITORY
from treeline.search.searcher import Searcher
from treeline.search.structure import EVERYTHING

MOST_COMPLETED = 20  # repositories whose paths are completed
MOST_UNITS = 2_000  # per file whose names are resolved; a file with more is generated


class FolderEntry(NamedTuple):
    """A file or folder in a folder. `files` and `size` count everything below; 0 bytes if texts are not kept."""

    name: str
    is_folder: bool
    language: str
    files: int
    size: int
    lines: int


class Target(NamedTuple):
    """The definition that a name refers to."""

    repo: str
    path: str
    line: int


@frozen
class References:
    """The targets of names: in the whole file, and in the lines of one unit, which takes precedence."""

    everywhere: dict[str, Target] = field(default_factory=dict)
    inside: tuple[tuple[int, int, dict[str, Target]], ...] = ()

    def at(self, line: int, name: str) -> Target | None:
        for first, last, names in self.inside:
            if first <= line <= last and name in names:
                return names[name]
        return self.everywhere.get(name)


@frozen
class Files:
    """The files of a searcher's index, while that is open."""

    searcher: Searcher

    def repositories(self) -> dict[str, int]:
        """Every repository with its number of units, the largest first."""
        counts = self.searcher.engine.facets().get("repo", {})
        with_texts = {repo: 0 for repo, _, _ in self.searcher.texts.repositories()}
        return dict(sorted((with_texts | counts).items(), key=lambda pair: (-pair[1], pair[0])))

    def split(self, where: str) -> tuple[str, str] | None:
        """Split `owner/name/src/a.py` into the repository (its name may contain slashes) and the path in it."""
        prefix = f"{where}/"
        repo = max((repo for repo in self.repositories() if prefix.startswith(f"{repo}/")), key=len, default=None)
        return None if repo is None else (repo, where[len(repo) + 1 :])

    def folder(self, repo: str, folder: str = "") -> list[FolderEntry]:
        """The entries of a folder (`src/`, or '' for the top), folders first, sorted by name."""
        entries = self.searcher.texts.files(repo, folder)
        return _entries(entries, folder) if entries else self._from_tree(repo, folder)

    def languages(self, repo: str) -> dict[str, int]:
        """The bytes of each language in a repository, most first; empty if texts are not kept."""
        sizes = Counter[str]()
        for file in self.searcher.texts.files(repo):
            sizes[file.language] += file.size
        return dict(sizes.most_common())

    def entry(self, repo: str, path: str) -> FileEntry | None:
        return self.searcher.texts.entry(repo, path)

    def read(self, repo: str, path: str) -> bytes | None:
        """A file's bytes as they were indexed; None if they are not kept."""
        return self.searcher.texts.read(repo, path)

    def units(self, repo: str, path: str) -> list[Hit]:
        """The units of a file by line, without the file's own."""
        places = self.searcher.locations
        node = self._node(repo, path, FILE)
        if places is None or node is None:
            return []
        ids = [places.ids[leaf] for leaf in np.flatnonzero(places.inside([node])).tolist() if leaf in places.ids]
        hits = [
            hit
            for hit in self.searcher.engine.locate(ids)
            if hit.address.kind != "file" and hit.address.lines and hit.address.path == path
        ]
        return sorted(hits, key=lambda hit: (lines_of(hit)[0], -lines_of(hit)[1]))

    def references(self, units: Sequence[Hit]) -> References:
        """The targets of the names in these units by the call graph. A name with two targets is left out."""
        graph = self.searcher.graph
        if graph is None or len(units) > MOST_UNITS:
            return References()
        all_names: dict[str, set[Target]] = defaultdict(set)
        inside = []
        for unit in units:
            node = graph.node_of(unit.id)
            if node is None:
                continue
            names: dict[str, set[Target]] = defaultdict(set)
            for step in graph.walk([node], EVERYTHING, "out"):
                symbol = graph.symbol(step.node)
                if symbol.kind != "module":
                    names[last_of(symbol.name)].add(Target(symbol.repo, symbol.path, symbol.line))
            for name, targets in names.items():
                all_names[name] |= targets
            inside.append((*lines_of(unit), _single(names)))
        inside.sort(key=lambda row: row[1] - row[0])  # the innermost first
        return References(_single(all_names), tuple(inside))

    def most_called(self, repo: str, k: int) -> list[tuple[Hit, int]]:
        """The functions of a repository with the most callers in it, with their number."""
        graph = self.searcher.graph
        if graph is None:
            return []
        counts = {id_: count for node, count in graph.most_called(repo, k) for id_ in graph.ids(node)[:1]}
        return [(hit, counts[hit.id]) for hit in self.searcher.engine.locate(list(counts))]

    def complete_path(self, prefix: str, repo: str = "") -> list[str]:
        """The paths that complete this one by one step, folders first, in one repository or in the largest ones."""
        folder = prefix.rpartition("/")[0]
        folder = f"{folder}/" if folder else ""
        folders: dict[str, bool] = {}
        for each in [repo] if repo else list(self.repositories())[:MOST_COMPLETED]:
            for entry in self.folder(each, folder):
                path = f"{folder}{entry.name}{'/' if entry.is_folder else ''}"
                if path.lower().startswith(prefix.lower()):
                    folders[path] = entry.is_folder
        return sorted(folders, key=lambda path: (not folders[path], path.lower()))

    def _node(self, repo: str, path: str, kind: int) -> int | None:
        """The node of a file or folder, found step by step from the root of the tree."""
        places = self.searcher.locations
        if places is None:
            return None
        tree = places.tree
        parts = [part for part in path.split("/") if part]
        kinds = [REPOSITORY, *[FOLDER] * (len(parts) - 1), kind] if parts else [REPOSITORY]
        node = 0
        for label, node_kind in zip((repo, *parts), kinds, strict=True):
            children = np.flatnonzero((tree.parents == node) & (tree.kinds == node_kind)).tolist()
            match = next((child for child in children if tree.labels[child] == label), None)
            if match is None:
                return None
            node = match
        return node

    def _from_tree(self, repo: str, folder: str) -> list[FolderEntry]:
        """The entries of a folder from the tree, for an index that keeps no texts: names only."""
        places, node = self.searcher.locations, self._node(repo, folder, FOLDER)
        if places is None or node is None:
            return []
        tree = places.tree
        children = np.flatnonzero((tree.parents == node) & ((tree.kinds == FOLDER) | (tree.kinds == FILE))).tolist()
        rows = [FolderEntry(tree.labels[one], bool(tree.kinds[one] == FOLDER), "", 0, 0, 0) for one in children]
        return sorted(rows, key=lambda row: (not row.is_folder, row.name.lower()))


def lines_of(hit: Hit) -> tuple[int, int]:
    return hit.address.lines or (1, 1)


def at_line(units: Sequence[Hit], line: int) -> Hit | None:
    """The innermost unit at a line."""
    around = [unit for unit in units if lines_of(unit)[0] <= line <= lines_of(unit)[1]]
    return min(around, key=lambda unit: lines_of(unit)[1] - lines_of(unit)[0], default=None)


def depths(units: Sequence[Hit]) -> list[int]:
    """The nesting depth of each of these units, which are sorted by line."""
    result: list[int] = []
    around: list[int] = []  # the last lines of the units that are open
    for unit in units:
        first, last = lines_of(unit)
        while around and around[-1] < first:
            around.pop()
        result.append(len(around))
        around.append(last)
    return result


def _entries(files: Iterable[FileEntry], folder: str) -> list[FolderEntry]:
    rows: dict[tuple[bool, str], FolderEntry] = {}
    for file in files:
        name, inner, _ = file.path[len(folder) :].partition("/")
        if not inner:
            rows[False, name] = FolderEntry(name, False, file.language, 1, file.size, file.lines)
            continue
        before = rows.get((True, name), FolderEntry(name, True, "", 0, 0, 0))
        rows[True, name] = before._replace(
            files=before.files + 1, size=before.size + file.size, lines=before.lines + file.lines
        )
    return sorted(rows.values(), key=lambda row: (not row.is_folder, row.name.lower()))


def _single(names: dict[str, set[Target]]) -> dict[str, Target]:
    return {name: next(iter(targets)) for name, targets in names.items() if len(targets) == 1}
