"""Which function a person or an agent means by an id or a name; a name that means several is told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corpus.errors import InputError, TreelineError
from corpus.function import Function, module_of
from engine.protocol import NO_FILTERS, Filters, Hit
from service.question.exact import first_named

if TYPE_CHECKING:
    from service.searching.live import LiveSearcher

CHOICE = 10  # functions of one name that are listed to choose from
NAMESAKES = 1_000  # functions of one name among which those of a module are looked for


class Ambiguous(InputError):
    """Several functions have the name: `functions` are they, or the first of them where there are `more`."""

    def __init__(self, name: str, functions: Sequence[Function], *, more: bool) -> None:
        self.name, self.functions, self.more = name, functions, more
        count = f"more than {CHOICE}" if more else "several"
        rest = f", of which these are {CHOICE}" if more else ""
        super().__init__(f"{count} functions are called {name!r}{rest}")


def meant(searcher: LiveSearcher, reference: str, *, otherwise: str, filters: Filters = NO_FILTERS) -> Function:
    """The function; raises `Ambiguous`, or says that there is none, what is near it, and what to do `otherwise`."""
    reference = reference.strip().removesuffix("()")
    if function := searcher.function(reference):
        return function
    hits = searcher.engine.named(reference, CHOICE + 1, filters) or _of_module(searcher, reference, filters)
    found = searcher.engine.fetch([hit.id for hit in hits[: CHOICE + 1]])
    if not found and filters != NO_FILTERS and searcher.engine.named(reference, 1):
        where = " ".join(filter(None, (filters.repo, filters.path_prefix)))
        raise InputError(f"no function is called {reference!r} in {where}", "it is elsewhere: ask without that filter")
    if not found:
        if where := _class_called(searcher, reference):
            hint = f"name one of its functions: {reference}.name"
            raise InputError(f"{reference!r} is a class in {where}, no function", hint)
        near = _near(searcher, reference)
        told = f"; near it: {', '.join(near)}" if near else ""
        raise InputError(f"no function is called {reference!r} here{told}", otherwise)
    if len(found) > 1:
        raise Ambiguous(reference, found[:CHOICE], more=len(found) > CHOICE)
    return found[0]


def _of_module(searcher: LiveSearcher, reference: str, filters: Filters) -> list[Hit]:
    """Those that a program would call so after an import: `json.loads`, `json.decoder.JSONDecoder.decode`."""
    module, _, name = reference.rpartition(".")
    hits = searcher.engine.named(name, NAMESAKES, filters) if module else ()
    called = [(hit, f"{module_of(hit.address.path)}.{hit.address.func_name}") for hit in hits]
    exactly = [hit for hit, dotted in called if dotted == reference]
    return exactly or [hit for hit, dotted in called if dotted.endswith(f".{reference}")]


def _class_called(searcher: LiveSearcher, name: str) -> str:
    """The files of the classes of that name, as far as the call graph knows them."""
    try:
        symbols = searcher.structure(name).seeds
    except TreelineError:
        return ""
    return first_named([symbol.path for symbol in symbols if symbol.kind == "class"])


def _near(searcher: LiveSearcher, name: str) -> list[str]:
    """Functions' names like one that is not there; none where the call graph knows none or cannot be asked."""
    try:
        near = searcher.near(name)
    except TreelineError:  # that the name is not there is still the answer
        return []
    return [each for each in near if searcher.engine.named(each, 1)]
