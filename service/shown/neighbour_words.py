"""Who stands on the other side of a function's calls, in words: how many functions, and what is no function."""

from __future__ import annotations

from collections.abc import Sequence

from treeline.corpus.counting import counted
from treeline.search.question.exact import first_named
from treeline.search.question.structure import Neighbour


def neighbours_told(found: Sequence[Neighbour], *, by_name: bool = False) -> str:
    """`2 functions, also the top level of main.py`, `by_name` `2 functions (pay, refund), also …`; nothing for none."""
    functions = distinct_functions(found)
    names = f" ({first_named([each.name for each in found if each.id])})" if by_name else ""
    others = first_named([place(each) for each in found if not each.id])
    parts = [f"{counted(functions, 'function')}{names}"] if functions else []
    parts += [others] if others else []
    return ", also ".join(parts)


def distinct_functions(found: Sequence[Neighbour]) -> int:
    return len({each.id for each in found if each.id})


def place(neighbour: Neighbour) -> str:
    """Where something stands that is no function of the index."""
    if neighbour.kind == "module":
        return f"the top level of {neighbour.path}"
    return f"{neighbour.kind} {neighbour.name} in {neighbour.path}"
