"""Which function stands at a line of a file: what a result, a traceback, an editor or a link to a line names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treeline.corpus.errors import InputError
from treeline.engine.protocol import Filters, Hit
from treeline.graph.tree import CLASS, FILE, FUNCTION, Tree
from treeline.search.overview import places_of

if TYPE_CHECKING:
    from treeline.search.live import LiveSearcher

# `path:12`, `path:12:5`, `https://…/path#L12-L20`
PLACE = re.compile(r"(?P<path>.+?)(?::|#L)(?P<line>[0-9]{1,9})(?:[-:]L?[0-9]+)?")
TOLD = 5  # functions of the file that are named where none is at the line


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; the path may be the end of the one in the index, or begin before it."""

    path: str
    line: int

    def fits(self, path: str) -> bool:
        return _ends(path, self.path) or _ends(self.path, path)


def place_in(reference: str) -> Place | None:
    """The place that is meant, if one is."""
    found = PLACE.fullmatch(reference)
    return Place(found["path"].replace("\\", "/").removeprefix("./"), int(found["line"])) if found else None


def at_line(searcher: LiveSearcher, place: Place, filters: Filters) -> Sequence[Hit]:
    """The innermost function at that line in each file that fits best; nothing where no file does."""
    places = places_of(searcher)
    if places is None:
        return []
    leaves = _functions_in(places.tree, _best(list(_files(places.tree, place)), place))
    found = searcher.engine.locate([places.ids[leaf] for leaf in leaves], filters)
    found = [hit for hit in found if f"{hit.address.repo}/" in place.path] or found
    innermost: dict[tuple[str, str], tuple[int, Hit]] = {}
    for hit in found:
        first, last = hit.address.lines or (0, -1)
        file = hit.address.repo, hit.address.path
        if first <= place.line <= last and (file not in innermost or last - first < innermost[file][0]):
            innermost[file] = last - first, hit
    if found and not innermost:
        raise InputError(f"no function is at line {place.line} of {found[0].address.path}", _told(found))
    return [hit for _, hit in innermost.values()]


def _best(files: Sequence[tuple[int, str]], place: Place) -> list[int]:
    """The file of exactly that path, else the longest that the path ends with, else all that end with the path."""
    longest = max((path for _, path in files if _ends(place.path, path)), key=len, default="")
    return [node for node, path in files if not longest or path == longest]


def _ends(path: str, tail: str) -> bool:
    return f"/{path}".endswith(f"/{tail}")


def _files(tree: Tree, place: Place) -> Iterator[tuple[int, str]]:
    """Files that fit, with their paths."""
    name = place.path.rpartition("/")[2]
    for node in (tree.kinds == FILE).nonzero()[0].tolist():
        if tree.labels[node] == name:
            path = "/".join(tree.labels[step] for step in tree.path(node)[2:])
            if place.fits(path):
                yield node, path


def _functions_in(tree: Tree, files: Sequence[int]) -> list[int]:
    """The leaves below these nodes."""
    below = np.zeros(len(tree), dtype=np.bool_)
    below[list(files)] = True
    while True:  # a step for every class within a class
        more = below | ((tree.kinds >= CLASS) & below[tree.parents])
        if np.array_equal(more, below):
            return [int(node) for node in (below & (tree.kinds == FUNCTION)).nonzero()[0]]
        below = more


def _told(found: Sequence[Hit]) -> str:
    spans = [(hit.address.lines, hit.address.func_name) for hit in found if hit.address.lines]
    named = [f"{name} ({lines[0]} to {lines[1]})" for lines, name in sorted(spans)]
    return f"there are {', '.join(named[:TOLD])}" + (f" and {len(named) - TOLD} more" if len(named) > TOLD else "")
