"""Finds the function that a reference names: an id, a (qualified) name, or a line such as `path:12`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.function import Function, is_re_export, module_of
from treeline.engine.hits import Hit
from treeline.engine.protocol import NO_FILTERS, Filters
from treeline.graph.references import dotted
from treeline.search.location import innermost
from treeline.search.overview import locations
from treeline.search.structural_answer import first_named
from treeline.search.structure import Location, parse_location

if TYPE_CHECKING:
    from treeline.search.live import LiveSearcher

CHOICE = 10  # functions of one name that are listed to choose from
NAMESAKES = 1_000  # units of one name that are searched for those of a module
STUB = re.compile(r":\s*\.\.\.\s*$")  # a signature for type checkers, above the definition in Python
MOST_NAMED = 5  # units of the file to name if none is at the line


class Ambiguous(InputError):
    """A reference matches several units: `functions`, or the first of them if there are `more`."""

    def __init__(self, description: str, functions: Sequence[Function], *, more: bool) -> None:
        self.functions, self.more = functions, more
        count = f"more than {CHOICE}" if more else "several"
        rest = f", of which these are {CHOICE}" if more else ""
        super().__init__(f"{count} definitions are {description}{rest}")


def resolve(searcher: LiveSearcher, reference: str, *, otherwise: str, filters: Filters = NO_FILTERS) -> Function:
    """The unit that a reference means; raises `Ambiguous`, or `InputError` with near names and the hint `otherwise`."""
    reference = reference.strip().removesuffix("()")
    if function := searcher.function(reference):
        return function
    location = parse_location(reference)
    hits = functions_at(searcher, location, filters) if location else _by_name(searcher, dotted(reference), filters)
    functions = searcher.engine.fetch([hit.id for hit in hits[: CHOICE + 1]])
    definitions = {(one.path, one.func_name) for one in functions if not STUB.search(one.code)}
    functions = [one for one in functions if not STUB.search(one.code) or (one.path, one.func_name) not in definitions]
    if not functions and location:
        raise InputError(f"nothing of a file {location.path!r} is indexed here", otherwise)
    if not functions:
        raise _unknown(searcher, reference, filters, otherwise)
    if len(functions) > 1:
        said = f"at {reference}" if location else f"called {reference!r}"
        raise Ambiguous(said, functions[:CHOICE], more=len(functions) > CHOICE)
    return functions[0]


def _by_name(searcher: LiveSearcher, name: str, filters: Filters) -> Sequence[Hit]:
    hits = searcher.engine.named(name, CHOICE + 1, filters)
    code = [hit for hit in hits if hit.address.kind != "section"]  # a heading of a README is no rival of a class
    return code or hits or _of_module(searcher, name, filters)


def _unknown(searcher: LiveSearcher, name: str, filters: Filters, otherwise: str) -> InputError:
    """The error for an unknown name: it is outside the filters, a class, or misspelt."""
    if filters and searcher.engine.named(name, 1):
        return InputError(
            f"nothing is called {name!r} in {' '.join(filter(None, (filters.repo, filters.path)))}",
            "it is elsewhere: ask without that filter",
        )
    if where := _class_called(searcher, name):
        return InputError(f"{name!r} is a class in {where}, no function", f"name one of its functions: {name}.name")
    near = _near(searcher, name)
    hint = f"; near it: {', '.join(near)}" if near else ""
    return InputError(f"nothing is called {name!r} here{hint}", otherwise)


def _of_module(searcher: LiveSearcher, reference: str, filters: Filters) -> list[Hit]:
    """Units by their importable name: `json.loads`, `json.decoder.JSONDecoder.decode`."""
    module, _, name = reference.rpartition(".")
    hits = searcher.engine.named(name, NAMESAKES, filters) if module else ()
    names = [(hit, f"{module_of(hit.address.path)}.{hit.address.func_name}") for hit in hits]
    exactly = [hit for hit, full_name in names if full_name == reference]
    by_file = exactly or [hit for hit, full_name in names if full_name.endswith(f".{reference}")]
    return by_file or [hit for hit in hits if is_re_export(reference, hit.address.func_name, hit.address.path)]


def _class_called(searcher: LiveSearcher, name: str) -> str:
    """The files of the classes of that name, from the call graph."""
    try:
        symbols = searcher.structure(name).seeds
    except TreelineError:
        return ""
    return first_named([symbol.path for symbol in symbols if symbol.kind == "class"])


def _near(searcher: LiveSearcher, name: str) -> list[str]:
    """Names similar to an unknown one: the same last part in another class, else similar ones in the call graph."""
    last = name.rpartition(".")[2]
    namesakes = {hit.address.func_name for hit in searcher.engine.named(last, NAMESAKES)} if last != name else set()
    if near := get_close_matches(name, sorted(namesakes)):
        return near
    try:
        near = searcher.near(name)
    except TreelineError:  # near names are optional
        return []
    return [each for each in near if searcher.engine.named(each, 1)]


def functions_at(searcher: LiveSearcher, location: Location, filters: Filters) -> Sequence[Hit]:
    """The innermost unit at that line, in each file that fits best; empty if no file fits."""
    known = locations(searcher)
    if known is None:
        return []
    units = known.units(searcher.engine, location, filters)
    first: dict[tuple[str, str], Hit] = {}
    for hit in innermost(units, location.line):
        first.setdefault((hit.address.repo, hit.address.path), hit)
    if units and not first:
        raise InputError(f"nothing is defined at line {location.line} of {units[0].address.path}", _spans(units))
    return list(first.values())


def _spans(units: Sequence[Hit]) -> str:
    spans = [(hit.address.lines, hit.address.func_name) for hit in units if hit.address.lines]
    descriptions = [f"{name} ({lines[0]} to {lines[1]})" for lines, name in sorted(spans)]
    return f"there are {', '.join(descriptions[:MOST_NAMED])}" + (
        f" and {len(descriptions) - MOST_NAMED} more" if len(descriptions) > MOST_NAMED else ""
    )
