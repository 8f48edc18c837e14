"""Who calls a function, in a sentence for an agent: how many functions, and which callers are no function."""

from __future__ import annotations

from collections.abc import Sequence

from service.question.structure import Neighbour
from service.shown.neighbour_words import distinct_functions, neighbours_told
from service.shown.visible import visible


def callers_told(name: str, callers: Sequence[Neighbour], listed: int) -> str:
    """`Callers of setup: 31 functions, also the top level of main.py; the first 20 are listed, …`."""
    who = neighbours_told(callers)
    if not who:
        return f"No callers of {name} are known in this index."
    told = f"Callers of {name}: {who}"
    functions = distinct_functions(callers)
    if functions > listed:
        told += (
            f"; the first {listed:,} are listed, {functions - listed:,} more; ask for a larger k,"
            f" or search_code 'what calls {name}' with a path_prefix"
        )
    return visible(told.replace("\n", " "))
