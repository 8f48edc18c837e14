"""Who calls a function, in a sentence for an agent: how many functions, and which callers are no function."""

from __future__ import annotations

from collections.abc import Sequence

from corpus.counting import counted
from service.exact import first_named
from service.mcp_text import visible
from service.structure import Neighbour


def callers_told(name: str, callers: Sequence[Neighbour], listed: int) -> str:
    """`Callers of setup: 31 functions, also the top level of main.py; the first 20 are listed, …`."""
    functions = len({each.id for each in callers if each.id})
    named = first_named([place(each) for each in callers if not each.id])
    parts = [counted(functions, "function")] if functions else []
    parts += [named] if named else []
    if not parts:
        return f"No callers of {name} are known in this index."
    told = f"Callers of {name}: {', also '.join(parts)}"
    if functions > listed:
        told += (
            f"; the first {listed:,} are listed, {functions - listed:,} more; ask for a larger k,"
            f" or search_code 'what calls {name}' with a path_prefix"
        )
    return visible(told.replace("\n", " "))


def place(caller: Neighbour) -> str:
    """Where a call stands that is in no function of the index."""
    if caller.kind == "module":
        return f"the top level of {caller.path}"
    return f"{caller.kind} {caller.name} in {caller.path}"
