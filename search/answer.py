"""The answer to a query, what matches inside its results, and a cache of the last answers."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import NamedTuple, Protocol

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address, Function
from treeline.engine.hits import Part, distinct
from treeline.rerank.candidates import Candidate, Candidates
from treeline.search.lanes.lane_set import Absence, Degradation
from treeline.search.plan import Plan
from treeline.search.query import Corrections, Query
from treeline.search.structural_answer import Exact

CONTAINERS = frozenset({"file", "class", "interface", "type", "enum", "section"})  # kinds that have units inside them
MEMBERS = 3  # shown under a whole
SIGNATURE = 160  # characters
SIGNATURE_LINES = 24
SIGNATURE_LINE_LENGTH = 1_000  # the expressions below are quadratic in it
COMMENT = re.compile(r"\s+(#|//)\s.*$")
DECORATOR = re.compile(r"(?:@[\w.]+(?:\(.*\))?|#\[.*\])(?:\s+(?:#|//).*)?")
STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


@frozen
class Coverage:
    """The part of a project that answered while there is no index of it yet."""

    files: int  # that were read for it
    total: int
    percent: int  # of the index that is being made
    problem: str = ""  # why nothing is being made
    state: str = "partial"

    @property
    def part(self) -> str:
        rest = self.problem or f"the rest is being read ({self.percent} %)"
        return f"from {self.files:,} of {self.total:,} files; {rest}"

    def __str__(self) -> str:
        return f"{self.part}{'; wait' if self.problem else ', ask again or wait'} with --wait"


class HitCounts(Protocol):
    """Everything that the lanes found, to be counted."""

    def __len__(self) -> int: ...

    def most(self, part: Part, limit: int) -> dict[str, int]: ...


class Member(NamedTuple):
    """A unit inside a result that matches the query too."""

    id: str
    address: Address
    signature: str  # on one line
    score: float


class Result(NamedTuple):
    """One result: the function, the candidate that explains its rank (from 1), and what matches best inside it."""

    rank: int
    function: Function
    candidate: Candidate
    members: tuple[Member, ...] = ()


@frozen
class Answer:
    """One page of results, with the plan and what happened on the way."""

    plan: Plan
    results: tuple[Result, ...]
    total: int
    relaxed: tuple[str, ...]
    degraded: tuple[Degradation, ...]
    timings: Mapping[str, float]  # milliseconds per stage, and `total`
    candidates: Sequence[Candidate] = ()  # the whole list as far as it was ranked; `results` is one page of it
    hits: HitCounts = field(default_factory=partial(distinct, ()))  # everything that the lanes found
    exact: Exact | None = None  # what the call graph answers to a structural question; its functions lead the list
    no_match: str = ""  # a sentence where no function has any of the words, not even a near spelling of one
    absence: Absence | None = None  # of the name that was asked for; its sentence is the first hint
    cut_short: str = ""  # one of the hints: looking for a phrase or pattern took too long
    is_weak: bool = False  # whether nothing seems to be about the question; a hint says so
    hints: tuple[str, ...] = ()  # what was asked for that is not in the index, and what is near it
    indexes: Mapping[str, str] = field(default_factory=dict)  # of each result, by id, where several were asked
    coverage: Coverage | None = None  # None: the whole index

    @property
    def query(self) -> Query:
        return self.plan.query

    @property
    def corrections(self) -> Corrections:
        return self.plan.corrections

    @property
    def route(self) -> str:
        """The kind of the query."""
        return self.plan.route.kind

    @property
    def by_file(self) -> tuple[Result, ...]:
        """The results as a person reads them: to an issue, what to change in one file stands together."""
        if self.route != "issue":
            return self.results
        files = [(result.function.repo, result.function.path) for result in self.results]
        return tuple(result for _, result in sorted(zip(map(files.index, files), self.results, strict=True)))

    @property
    def exact_results(self) -> int:
        """The number of results at the head of the list that are the exact answer to a structural question."""
        return self.exact.functions if self.exact else 0

    @property
    def headings(self) -> Mapping[int, str]:
        """The headings above the results that follow an exact answer, by the rank of the first of them."""
        return self.exact.headings if self.exact else {}


def inside(page: Sequence[Candidate], candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    """For each whole on a page, by its id, the best of the ranked candidates inside it, by score."""
    containers = [one for one in page if one.address.kind in CONTAINERS]
    if not containers:
        return {}
    table = Candidates.of(candidates)
    by_file: dict[tuple[str, str], list[int]] = {}
    for position, file in enumerate(zip(table.parts("repo"), table.parts("path"), strict=True)):
        by_file.setdefault(file, []).append(position)
    members = {}
    for container in containers:
        positions = by_file.get((container.address.repo, container.address.path), ())
        units = [one for one in map(table.__getitem__, positions) if contains(container.address, one.address)]
        members[container.id] = sorted(units, key=lambda one: -one.score)[:MEMBERS]
    return members


def contains(whole: Address, unit: Address) -> bool:
    """Whether one unit of a file contains another, by lines or by name: in Go and Rust, methods lie outside their
    type."""
    if unit == whole or unit.kind == "file":
        return False
    if whole.kind == "file" or unit.func_name.startswith((f"{whole.func_name}.", f"{whole.func_name} > ")):
        return True
    around, lines = whole.lines, unit.lines
    if around is None or lines is None or lines == around:
        return False
    return around[0] <= lines[0] and lines[1] <= around[1]


def signature_of(function: Function) -> str:
    """The signature of a unit on one line, from the first line behind its decorators that contains its name."""
    lines = [line for line in function.original_string.split("\n") if line.strip()] or [""]
    name = function.func_name.rpartition(" > ")[2].rpartition(".")[2]
    text = joined_head(lines[line_of(name, lines) :])[0].rstrip(" {")
    return text if len(text) <= SIGNATURE else f"{text[: SIGNATURE - 2]} …"


def line_of(name: str, lines: Sequence[str]) -> int:
    """The first line behind the decorators that has the name, else the first there with text."""
    behind = range(below_decorators(lines), len(lines))
    with_text = (at for at in behind if lines[at].strip())
    return next((at for at in behind if name in lines[at]), next(with_text, 0))


def below_decorators(lines: Sequence[str]) -> int:
    """The first line that is not, alone or with those after it, a decorator."""
    at = 0
    while at < len(lines) - 1:
        text, rows = joined_head(lines[at:])
        if not DECORATOR.fullmatch(text):
            break
        at += rows
    return at


def joined_head(lines: Sequence[str]) -> tuple[str, int]:
    """The first line joined with those that close its brackets, and how many lines that takes.

    `def f(`, `    a,`, `):` is `def f(a):`. Brackets that do not close within a few lines belong to something else
    than a signature; the first line then stands alone.
    """
    pieces: list[str] = []
    depth = 0
    for line in lines[:SIGNATURE_LINES]:
        if len(line) > SIGNATURE_LINE_LENGTH:
            return lines[0].strip(), 1
        code = COMMENT.sub("", line)
        bare = STRING.sub("", code)
        depth += sum(map(bare.count, "([")) - sum(map(bare.count, ")]"))
        pieces.append(code.strip())
        if depth <= 0:
            break
    if depth > 0 or len(pieces) == 1:
        return lines[0].strip(), 1
    text = " ".join(filter(None, pieces))
    for space, none in (("( ", "("), ("[ ", "["), (", )", ")"), (", ]", "]"), (" )", ")"), (" ]", "]")):
        text = text.replace(space, none)
    return text, len(pieces)


class AnswerCache:
    """Keeps the last `size` answers, for paging back, the map of a list, and popular queries. Thread-safe.

    The key is everything an answer depends on (generation, query, votes), so an answer is never stale. It is not kept
    if a lane failed or the spelling was not checked in time. Answers keep their generation alive, and go with it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._generation = ""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str, generation: str, search: Callable[[], Answer], *, explain: bool = True) -> Answer:
        """The kept answer, or what `search` returns. With `explain`, only an explained answer will do."""
        if not self._size:
            return search()
        begin = time.perf_counter()
        with self._lock:
            if generation != self._generation:
                self._answers.clear()
                self._generation = generation
            cached = self._answers.get(key)
            if cached is not None and explain and not cached.query.explain:
                cached = None
            if cached is not None:
                self._answers.move_to_end(key)
        if cached is not None:
            took = (time.perf_counter() - begin) * 1_000
            return replace(cached, timings={"cache": took, "total": took})
        answer = search()
        if not answer.degraded and not answer.corrections.unsure:
            with self._lock:
                if generation == self._generation:
                    self._answers[key] = answer
                while len(self._answers) > self._size:
                    self._answers.popitem(last=False)
        return answer
