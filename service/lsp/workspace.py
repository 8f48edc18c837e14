"""A project for an editor: finds units by meaning, by file, at a line, and in the call graph.

Lines count from 1, as in the index; `server` converts them to the protocol's, which count from 0.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address, Function
from treeline.engine.hits import Hit
from treeline.engine.protocol import NO_FILTERS
from treeline.ingest.source import on_disk, readable
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.location import innermost
from treeline.search.query import Query
from treeline.search.settings import FAST, Settings
from treeline.search.structure import Location
from treeline.service.projects import outline_of, refresh_project, settings_of
from treeline.service.quick import look

SYMBOLS = 30  # results of a workspace symbol search
NEAREST = 10
NAMESAKES = 10  # definitions of a name to offer if the call graph has none
CALLABLE = frozenset({"function", "method"})
WORD = re.compile(r"[A-Za-z_$][\w$]*")


@frozen
class Span:
    """A unit, or one line of it, in a file."""

    name: str
    kind: str
    path: Path
    first: int
    last: int


@frozen
class Outline:
    """A unit of a file with the units inside it."""

    unit: Function
    children: list[Outline]


class Workspace:
    """The project around a folder, indexed on first use and updated by `refresh`."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings, self._folder = settings, folder
        self._lock = threading.Lock()
        self._searcher: LiveSearcher | None = None
        self.root = folder

    def refresh(self) -> bool:
        """Update the index; returns whether anything changed."""
        with self._lock:
            refresh = refresh_project(self._settings, self._folder)
            self.root = refresh.project.root
            if self._searcher is None:
                settings = settings_of(self._settings, refresh.project)
                self._searcher = open_searcher(settings, without_encoder=True)
            elif refresh.published:
                self._searcher.refresh()
            return refresh.published

    @property
    def searcher(self) -> LiveSearcher:
        if self._searcher is None:
            self.refresh()
        assert self._searcher is not None
        return self._searcher

    def close(self) -> None:
        if self._searcher is not None:
            self._searcher.close()

    def symbols(self, query: str) -> list[Span]:
        """Units by meaning or name, best first."""
        if not query.strip():
            return []
        question = Query.of(query, {"k": SYMBOLS, "quality": FAST}, self._settings, explain=False)
        if self._searcher is None and (quick := look(self._settings, self._folder, question)):
            self.root = quick.root
            with closing(quick):
                return self._spans(result.function.address for result in quick.search(question).results)
        return self._spans(result.function.address for result in self.searcher.search(question).results)

    def outline(self, file: Path) -> list[Outline]:
        """The units of a file, nested; empty if it has none."""
        try:
            rows = outline_of(file)
        except InputError:
            return []
        top: list[Outline] = []
        levels = [top]
        for depth, unit in rows:
            del levels[depth + 1 :]
            node = Outline(unit, [])
            levels[-1].append(node)
            levels.append(node.children)
        return top

    def functions(self, file: Path) -> list[Hit]:
        """The functions of a file that are in the index, by line."""
        return [hit for hit in self._units(file) if hit.address.kind in CALLABLE]

    def at(self, file: Path, line: int) -> Hit | None:
        """The innermost unit at a line."""
        return next(iter(innermost(self._units(file), line)), None)

    def callers(self, id_: str) -> list[Span]:
        return self._neighbours(each.id for each in self.searcher.callers(id_))

    def callees(self, id_: str) -> list[Span]:
        return self._neighbours(each.id for each in self.searcher.callees(id_))

    def similar(self, id_: str) -> list[Span]:
        return self._spans(hit.address for hit in self.searcher.similar(id_, NEAREST))

    def definitions(self, file: Path, line: int, word: str) -> list[Span]:
        """The definitions of a name at a line: from the call graph, else all units of that name."""
        return self._spans(hit.address for hit in self._definitions(file, line, word))

    def references(self, file: Path, line: int, word: str) -> list[Span]:
        """The lines of known callers that contain the name."""
        ids = dict.fromkeys(
            each.id for hit in self._definitions(file, line, word) for each in self.searcher.callers(hit.id) if each.id
        )
        name = re.compile(rf"\b{re.escape(word)}\b")
        lines: list[Span] = []
        for caller in self.searcher.engine.fetch(list(ids)):
            first, _ = caller.address.lines or (0, 0)
            for number, text in enumerate(caller.original_string.strip("\n").split("\n"), first):
                if first and name.search(text):
                    lines.append(Span(caller.func_name, caller.kind, on_disk(self.root, caller.path), number, number))
        return lines

    def _definitions(self, file: Path, line: int, word: str) -> Sequence[Hit]:
        engine = self.searcher.engine
        around = self.at(file, line)
        if around is not None and _last(around.address.func_name) == word:
            return [around]
        if around is not None:
            callees = [each.id for each in self.searcher.callees(around.id) if each.id and _last(each.name) == word]
            if callees:
                return engine.locate(list(dict.fromkeys(callees)), NO_FILTERS)
        return engine.named(word, NAMESAKES)

    def _units(self, file: Path) -> list[Hit]:
        known = self.searcher.locations
        try:
            path = readable(file.resolve().relative_to(self.root).as_posix())
        except ValueError:
            return []
        hits = known.units(self.searcher.engine, Location(path), NO_FILTERS) if known else []
        return [hit for hit in hits if hit.address.path == path]

    def _neighbours(self, ids: Iterable[str]) -> list[Span]:
        hits = self.searcher.engine.locate([id_ for id_ in dict.fromkeys(ids) if id_], NO_FILTERS)
        return self._spans(hit.address for hit in hits)

    def _spans(self, addresses: Iterable[Address]) -> list[Span]:
        spans = ((address, address.lines or (1, 1)) for address in addresses)
        return [
            Span(address.func_name, address.kind, on_disk(self.root, address.path), first, last)
            for address, (first, last) in spans
        ]


def word_at(text: str, column: int) -> str:
    """The name around a column of a line."""
    return next((hit[0] for hit in WORD.finditer(text) if hit.start() <= column <= hit.end()), "")


def _last(name: str) -> str:
    return name.rpartition(".")[2]
