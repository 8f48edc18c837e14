"""The exact answer to a structural question in words: what the call graph knows, and what it could not resolve."""

from __future__ import annotations

from collections.abc import Sequence

from treeline.corpus.counting import counted
from treeline.corpus.frozen import frozen
from treeline.graph.callgraph import Direction
from treeline.graph.references import Relation
from treeline.search.structure import INHERITS

OTHERS_NAMED = 5
REST = "by keyword or meaning, not from the call graph"  # heading of the results below an exact answer
# Question → the verb of its answer, and the noun for a function that answers it.
VERBS = {"calls": "call", "inherits": "extend or implement", "uses": "use", "depends": "depend on"}
NOUNS = {"calls": "function", "inherits": "class", "uses": "function or class", "depends": "function or class"}


@frozen
class UnresolvedCalls:
    """The number of functions with a call of this name that is not in the graph: of something else, or unresolved."""

    symbol: str  # as the call is written
    functions: int
    all: bool = True  # whether all of them were counted
    is_call: bool = True  # or only mentioned
    in_tests: int = 0  # of the functions

    def message(self, *, more: bool) -> str:
        """`28 more functions have rmtree( in the code, and 43 in tests`; empty for none."""
        if not self.functions:
            return ""
        others = self.functions - self.in_tests
        first = others or self.in_tests
        verb, least = "has" if first == 1 else "have", "" if self.all else "at least "
        what = counted(first, "more function" if more else "function") + " in tests" * (not others)
        rest = f", and {self.in_tests:,} in tests" if others and self.in_tests else ""
        return f"{least}{what} {verb} {self.symbol}{'(' * self.is_call} in the code{rest}"


@frozen
class Exact:
    """The answer of the call graph: its units, and what is no unit of its own (a module's top level)."""

    symbol: str
    relations: tuple[Relation, ...]
    direction: Direction
    depth: int
    definitions: int  # symbols of that name in the graph
    found: int  # functions and classes in all; the list has the first of them
    functions: int  # units in the list
    others: tuple[str, ...]
    classes: int = 0  # of those found
    top_levels: int = 0  # units in the list with top-level code of a module, which is named in `others`
    near: tuple[str, ...] = ()  # names spelt similarly to an unknown one
    is_constant: bool = False  # a constant has that name, which the graph does not follow
    unresolved_calls: int = 0  # further functions whose code contains the call
    unresolved_in_tests: int = 0  # of those, those in tests, which come last
    unresolved_classes: tuple[str, ...] = ()  # classes with an unresolved base of that name
    all_unresolved_calls: bool = True  # whether all of those were counted
    possible: int = 0  # of those found: guessed, because the receiver's type is not known
    where: str = "this index"  # or the repository of the filter
    is_filtered: bool = False  # filtered by language or path, so there may be others
    tests: bool = False  # only tests are listed
    in_tests: int = 0  # of those found, those in tests, which come last

    @property
    def known(self) -> bool:
        """Whether the graph has a symbol of that name."""
        return self.definitions > 0

    @property
    def kind(self) -> str:
        """The kind of question: `calls`, `inherits`, `uses` or `depends`."""
        if self.relations == INHERITS:
            return "inherits"
        if len(self.relations) == 1:
            return self.relations[0]
        return "uses" if self.depth == 1 else "depends"

    @property
    def sentence(self) -> str:
        """`3 functions are known to call the http_backoff defined in this index`.

        Names are resolved within a repository, so callers of a library's function of the same name do not count.
        """
        rest = "".join(f"; {message}" for message in [self._unresolved_part] if message)
        if not self.known:
            near = f"; near it: {', '.join(self.near)}" if self.near else ""
            if self.is_constant:
                return f"{self.symbol} is a constant, which the call graph does not follow{rest}"
            return f"no {NOUNS[self.kind]} called {self.symbol} in {self.where}{near}{rest}"
        by_class = self.kind == "inherits"
        known = len(self.others) if by_class else self.found - self.possible - self.in_tests
        answer = self._count(known, "class" if by_class else "test" if self.tests else "function")
        if self.in_tests and not by_class:
            answer += f", {'and' if known else 'but'} {self.in_tests:,} in tests"
        if self.possible and not by_class:
            answer += f"; {self.possible:,} {'more ' if known else ''}possibly"
        if self.others:
            names = first_named(self.others)
            answer += f": {names}" if by_class else f"; also {names}" if self.found else f", only {names}"
        if self.found > self.functions:
            answer += f"; the first {self.functions:,} are listed"
        return answer + rest

    @property
    def headings(self) -> dict[int, str]:
        """The headings above the results that are not the exact answer, by the rank of the first of them."""
        first = self.functions + 1
        by_class = self.kind == "inherits"
        name = f"{self.symbol}{'(' * (self.kind == 'calls')}"
        having = f"of classes that name a base {self.symbol}" if by_class else f"with {name} in the code"
        unresolved = {first: f"{having}, not resolved by the call graph"} if self.unresolved_calls else {}
        return unresolved | {first + self.unresolved_calls: REST}

    @property
    def _unresolved_part(self) -> str:
        if self.kind == "inherits":
            count = len(self.unresolved_classes)
            what, verb = counted(count, "more class" if self.others else "class"), "names" if count == 1 else "name"
            return f"{what} {verb} a base of that name: {first_named(self.unresolved_classes)}" if count else ""
        is_call = self.kind == "calls"
        calls = UnresolvedCalls(
            self.symbol, self.unresolved_calls, self.all_unresolved_calls, is_call, self.unresolved_in_tests
        )
        return calls.message(more=bool(self.found))

    def _count(self, count: int, noun: str) -> str:
        what = counted(count, noun) if count else f"no {noun}"
        if count and self.classes and noun == "function":
            others = count - self.classes
            what = f"{counted(others, noun)} and " * (others > 0) + counted(self.classes, "class")
        if self.is_filtered:
            what += f" that {'passes' if count < 2 else 'pass'} the filters"
        verb = VERBS[self.kind]
        if self.depth > 1 and self.kind == "calls":
            verb += f" (over at most {self.depth} calls)"
        if self.direction == "out":
            return f"{self.symbol} is known to {verb} {what} of {self.where}"
        which = f"the {self.symbol}"
        if self.definitions > 1:
            which = f"{'one' if count else 'any'} of the {self.definitions:,} {self.symbol}"
        return f"{what} {'is' if count < 2 else 'are'} known to {verb} {which} defined in {self.where}"


def first_named(names: Sequence[str]) -> str:
    """`the top level of main.py, Fence and 3 more`, each once."""
    distinct = list(dict.fromkeys(names))
    rest = len(distinct) - OTHERS_NAMED
    return ", ".join(distinct[:OTHERS_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
