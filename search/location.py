"""Finds units by location: a file's name or path, with or without a line (`sessions.py`, `src/app.py:12`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.frozen import frozen
from treeline.engine.hits import Hit
from treeline.engine.protocol import Engine, Filters
from treeline.graph import tree as trees
from treeline.graph.tree import FILE, FOLDER, Tree

# `path:12`, `path:12:5`, `https://…/path#L12-L20`
LINE = re.compile(r"(?P<path>.+?)(?::|#L)(?P<line>[0-9]{1,9})(?:[-:]L?[0-9]+)?")
EXTENSIONS = (
    "py pyi js jsx mjs cjs ts tsx go java rb php rs c h cc cpp cxx hpp hh cs kt kts scala swift ex exs hs lua sh bash "
    "zig dart jl r pl pm m mm ml mli clj cljs erl elm vue svelte sql html css scss less md rst adoc txt toml yaml yml "
    "json xml ini cfg conf lock gradle cmake tf proto graphql dockerfile makefile ipynb".split()
)
# What may be a path in a query: no blanks, and a slash or a file extension; `json.loads` is a name.
PATH = re.compile(
    rf"(?:[\w.@+~-]*/)+[\w.@+~-]*|[\w@+~-][\w.@+~-]*\.(?:{'|'.join(EXTENSIONS)})|(?:Make|Docker)file", re.IGNORECASE
)
# A place in a stack trace or a compiler's message: `File "a/b.py", line 12`; `at f (a/b.js:12:5)`, `a/b.rb:12:in 'f'`.
# The second only has the end of the path: a pattern for all of it would take quadratic time.
CALLED_IN = re.compile(r'\bFile "([^"\n]{1,500})", line ([0-9]{1,9})')
LINE_OF = re.compile(rf"\.(?:{'|'.join(EXTENSIONS)}):([0-9]{{1,9}})\b", re.IGNORECASE)
NO_PATH = re.compile(r"[^\w.@+~/\\-]")
LONGEST_PATH = 500
PACKAGES_FOLDER = re.compile(r".*/(?:site|dist)-packages/")  # in front of a path in a package
NO_LINE = 0


@frozen
class Location:
    """A file or folder, and a line. The path may be a suffix of an indexed path, or the other way round."""

    path: str
    line: int = NO_LINE

    @property
    def certain(self) -> bool:
        """Whether it is certainly a path, with a line or a file extension. `either/or` may be words."""
        name = self.path.rpartition("/")[2]
        return bool(self.line) or name.rpartition(".")[2].lower() in EXTENSIONS

    def fits(self, path: str) -> bool:
        return _ends(path, self.path) or _ends(self.path, path)


def parse_location(reference: str) -> Location | None:
    """The location that a reference names, or None."""
    match = LINE.fullmatch(reference)
    return Location(_clean(match["path"]), int(match["line"])) if match else None


def parse_path(text: str) -> Location | None:
    """The file, folder or line that a whole query names, or None."""
    location = parse_location(text)
    if location is not None and not re.search(r"\s", text):
        return location
    return Location(_clean(text)) if PATH.fullmatch(text) else None


def parse_place(text: str) -> Location | None:
    """The line of a file that a stack trace names, or None. Python's last call comes last, elsewhere it comes first."""
    calls = CALLED_IN.findall(text)
    if calls:
        path, line = calls[-1]
        return Location(PACKAGES_FOLDER.sub("", _clean(path)), int(line))
    match = LINE_OF.search(text)
    if match is None:
        return None
    before = NO_PATH.split(text[max(0, match.start() - LONGEST_PATH) : match.start(1) - 1])[-1]
    return Location(PACKAGES_FOLDER.sub("", _clean(before)), int(match[1]))


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
        files = self._best(list(self._nodes(location, FILE)), location)
        nodes = files or [node for node, path in self._nodes(location, FOLDER) if _ends(path, location.path)]
        is_inside = self._inside(nodes)
        hits = engine.locate([id_ for id_, node in self.tree.leaves.items() if is_inside[node]], filters)
        hits = [hit for hit in hits if f"{hit.address.repo}/" in location.path] or list(hits)
        return sorted(hits, key=lambda hit: (hit.address.repo, hit.address.path, hit.address.lines or (0, 0)))

    def _nodes(self, location: Location, kind: int) -> Iterator[tuple[int, str]]:
        """Nodes of this kind that fit, with their paths."""
        name = location.path.rpartition("/")[2]
        for node in (self.tree.kinds == kind).nonzero()[0].tolist():
            if self.tree.labels[node] == name:
                path = "/".join(self.tree.labels[step] for step in self.tree.path(node)[2:])
                if location.fits(path):
                    yield node, path

    @staticmethod
    def _best(files: Sequence[tuple[int, str]], location: Location) -> list[int]:
        """The file of exactly that path, else the longest suffix of the path, else all files that end with the path."""
        longest = max((path for _, path in files if _ends(location.path, path)), key=len, default="")
        return [node for node, path in files if not longest or path == longest]

    def _inside(self, nodes: Sequence[int]) -> NDArray[np.bool_]:
        """For every node, whether it is one of these or below one of them."""
        tree = self.tree
        is_inside = np.zeros(len(tree), dtype=np.bool_)
        is_inside[list(nodes)] = True
        while True:  # one step per level of nesting
            more = is_inside | ((tree.kinds >= FOLDER) & is_inside[tree.parents])
            if np.array_equal(more, is_inside):
                return is_inside
            is_inside = more


def innermost(hits: Sequence[Hit], line: int) -> list[Hit]:
    """The units at a line, in each file the innermost first."""
    at = [hit for hit in hits if hit.address.lines and hit.address.lines[0] <= line <= hit.address.lines[1]]
    return sorted(at, key=lambda hit: hit.address.lines[1] - hit.address.lines[0] if hit.address.lines else 0)


def _ends(path: str, tail: str) -> bool:
    return f"/{path}".endswith(f"/{tail}")


def _clean(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/")
