"""Who stands on the other side of a function's calls, in words: how many functions, and what is no function."""

from __future__ import annotations

from collections.abc import Sequence

from corpus.counting import counted
from service.exact import first_named
from service.structure import Neighbour


def neighbours_told(found: Sequence[Neighbour]) -> str:
    """`31 functions, also the top level of main.py`; nothing for none."""
    functions = distinct_functions(found)
    named = first_named([place(each) for each in found if not each.id])
    parts = [counted(functions, "function")] if functions else []
    parts += [named] if named else []
    return ", also ".join(parts)


def distinct_functions(found: Sequence[Neighbour]) -> int:
    return len({each.id for each in found if each.id})


def place(neighbour: Neighbour) -> str:
    """Where something stands that is no function of the index."""
    if neighbour.kind == "module":
        return f"the top level of {neighbour.path}"
    return f"{neighbour.kind} {neighbour.name} in {neighbour.path}"
