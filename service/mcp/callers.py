"""Who calls a function, in a sentence for an agent: how many functions, which callers are no function, and how many
functions more have such a call in their code."""

from __future__ import annotations

from collections.abc import Sequence

from treeline.search.question.exact import Written
from treeline.search.question.structure import Neighbour
from treeline.service.shown.neighbour_words import distinct_functions, neighbours_told
from treeline.service.shown.visible import visible


def callers_told(name: str, callers: Sequence[Neighbour], written: Written, listed: int) -> str:
    """`Callers of setup: 31 functions, also the top level of main.py; the first 20 are listed, …`."""
    who = neighbours_told(callers)
    told = f"Callers of {name}: {who}" if who else f"No callers of {name} are known in this index"
    functions = distinct_functions(callers)
    if functions > listed:
        told += (
            f"; the first {listed:,} are listed, {functions - listed:,} more; ask for a larger k,"
            f" or search_code 'what calls {name}' with a path_prefix"
        )
    if more := written.told(more=bool(functions)):
        told += f"; {more} (of something else, or not resolved: search_code 'what calls {written.symbol}' lists them)"
    return visible(told.replace("\n", " "))
