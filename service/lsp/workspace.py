"""A project for an editor: finds units by meaning, by file, at a line, and in the call graph.

Lines count from 1, as in the index, columns from 0; `server` converts them to the protocol's.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import FUNCTION_KINDS, Address, Function
from treeline.engine.hits import Hit
from treeline.engine.protocol import NO_FILTERS
from treeline.graph.references import last_of
from treeline.ingest.source import on_disk, readable
from treeline.search.answer import Answer
from treeline.search.excerpt import excerpt, needle_of
from treeline.search.lanes.graph import relation_of
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.location import innermost
from treeline.search.occurrences import Line, lines_at
from treeline.search.query import Query
from treeline.search.settings import FAST, Settings
from treeline.search.structure import Location
from treeline.service.projects import outline_of, refresh_project, settings_of
from treeline.service.quick import look

SYMBOLS = 30  # results of a workspace symbol search
NEAREST = 10
RELATIONS = ("callers", "callees", "similar")
NAMESAKES = 10  # definitions of a name to offer if the call graph has none
WORD = re.compile(r"[A-Za-z_$][\w$]*")


@frozen
class Span:
    """A unit, or one line of it, in a file; `word` stands in its first lines, and `lines` are those to show of it."""

    name: str
    kind: str
    path: Path
    first: int
    last: int
    word: str = ""
    lines: tuple[Line, ...] = ()
    note: str = ""


@frozen
class Page:
    """Results of a question, and what is to be said about all of them."""

    notices: tuple[str, ...]
    total: int
    spans: tuple[Span, ...]


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
        return self._spans(result.function.address for result in self._ask(query).results) if query.strip() else []

    def search(self, query: str) -> Page:
        """Units by meaning or name, best first, with the lines that match."""
        answer = self._ask(query)
        needle = needle_of(answer.plan)
        spans = []
        for result in answer.results:
            text, first = self._text(result.function)
            lines = excerpt(answer.plan, needle, result.function, text, first).matches
            spans.append(self._span(result.function.address, lines, relation_of(result.candidate)))
        exact = answer.exact.sentence if answer.exact else ""
        notices = (answer.corrections.sentence, exact, *answer.hints, answer.no_match)
        return Page(tuple(filter(None, notices)), answer.total, tuple(spans))

    def relatives(self, relation: str, id_: str) -> list[Span]:
        """The callers, callees or similar functions of a unit; callers with the lines of their calls."""
        if relation not in RELATIONS:
            return []
        spans: list[Span] = getattr(self, relation)(id_)
        return spans

    def _ask(self, query: str) -> Answer:
        question = Query.of(query, {"k": SYMBOLS, "quality": FAST}, self._settings, explain=False)
        if self._searcher is None and (quick := look(self._settings, self._folder, question)):
            self.root = quick.root
            with closing(quick):
                return quick.search(question)
        return self.searcher.search(question)

    def _text(self, unit: Function) -> tuple[str, int]:
        """A unit as its file has it now, else as it was indexed; and its first line."""
        first, last = unit.address.lines or (0, 0)
        with suppress(OSError):
            file = on_disk(self.root, unit.path).read_text(encoding="utf-8", errors="replace")
            if lines := file.split("\n")[max(first - 1, 0) : last]:
                return "\n".join(lines), first
        return unit.original_string, first

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

    def callers_in(self, file: Path) -> list[tuple[int, int]]:
        """The first line of each function of a file that is known to be called, and how many call it."""
        counts = (
            (hit, len({each.id for each in self.searcher.callers(hit.id) if each.id})) for hit in self.functions(file)
        )
        return [((hit.address.lines or (1, 1))[0], count) for hit, count in counts if count]

    def functions(self, file: Path) -> list[Hit]:
        """The functions of a file that are in the index, by line."""
        return [hit for hit in self._units(file) if hit.address.kind in FUNCTION_KINDS]

    def at(self, file: Path, line: int) -> Hit | None:
        """The innermost unit at a line."""
        return next(iter(innermost(self._units(file), line)), None)

    def callers(self, id_: str) -> list[Span]:
        unit = self.searcher.function(id_)
        calls = re.compile(rf"(?<!\w){re.escape(last_of(unit.func_name))}(?!\w)") if unit else None
        ids = list(dict.fromkeys(each.id for each in self.searcher.callers(id_) if each.id))
        spans = []
        for caller in self.searcher.engine.fetch(ids):
            text, first = self._text(caller)
            places = [match.span() for match in calls.finditer(text)] if calls else []
            spans.append(self._span(caller.address, tuple(lines_at(text, places, first))))
        return spans

    def callees(self, id_: str) -> list[Span]:
        return self._neighbours(each.id for each in self.searcher.callees(id_))

    def similar(self, id_: str) -> list[Span]:
        return self._spans(hit.address for hit in self.searcher.similar(id_, NEAREST))

    def definitions(self, file: Path, line: int, word: str) -> list[Span]:
        """The definitions of a name at a line: from the call graph, else all units of that name."""
        return self._spans(hit.address for hit in self._definitions(file, line, word))

    def references(self, file: Path, line: int, word: str, *, with_declaration: bool = False) -> list[Span]:
        """The lines of known callers that contain the name, behind the definitions if they are wanted."""
        hits = self._definitions(file, line, word)
        callers = {(one.path, one.first): one for hit in hits for one in self.callers(hit.id)}
        lines = {(one.path, line.number): one for one in callers.values() for line in one.lines}
        uses = [Span(one.name, one.kind, path, number, number, word) for (path, number), one in lines.items()]
        return [*(self._span(hit.address) for hit in hits if with_declaration), *uses]

    def _definitions(self, file: Path, line: int, word: str) -> Sequence[Hit]:
        engine = self.searcher.engine
        around = self.at(file, line)
        if around is not None and last_of(around.address.func_name) == word:
            return [around]
        if around is not None:
            callees = [each.id for each in self.searcher.callees(around.id) if each.id and last_of(each.name) == word]
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
        return [self._span(address) for address in addresses]

    def _span(self, address: Address, lines: tuple[Line, ...] = (), note: str = "") -> Span:
        first, last = address.lines or (1, 1)
        path, name = on_disk(self.root, address.path), address.func_name
        return Span(name, address.kind, path, first, last, last_of(name.rpartition(" > ")[2]), lines, note)


def word_at(text: str, column: int) -> str:
    """The name around a column of a line."""
    return next((hit[0] for hit in WORD.finditer(text) if hit.start() <= column <= hit.end()), "")
