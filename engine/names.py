"""Names of indexes and order of generations, for both engines.

What is not an index gets a name that starts with a dot, which no index may: a folder `.feedback` in the home, an index
`treeline-.feedback-NAME` on Elasticsearch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from treeline.corpus.errors import InputError
from treeline.engine.protocol import IndexInfo

PREFIX = "treeline-"
LONGEST = 100
NAME = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{LONGEST - 1}}}")
GENERATION = r"-\d{6}"
INDEX = re.compile(rf"{PREFIX}({NAME.pattern}){GENERATION}")
GENERATION_NAME = re.compile(rf".*{GENERATION}")


def check_name(name: str) -> str:
    """The name, when it is one."""
    if not NAME.fullmatch(name):
        short = name if len(name) <= LONGEST else name[:20] + "…"
        raise InputError(
            f"{short!r} cannot be the name of an index",
            f"use up to {LONGEST} lower-case letters, digits, dots, dashes and underscores, "
            "beginning with a letter or digit",
        )
    if GENERATION_NAME.fullmatch(name):
        # The alias of `a-000001` would be the first generation of `a`.
        raise InputError(
            f"{name!r} cannot be the name of an index: {name[-7:]!r} at the end is how generations are numbered",
            "use another name",
        )
    return name


def index_name(name: str, generation: str) -> str:
    """A generation of an index on Elasticsearch."""
    return f"{PREFIX}{name}-{generation}"


def alias_name(name: str) -> str:
    """The alias of the current generation on Elasticsearch, which is searched."""
    return f"{PREFIX}{name}"


def internal_name(what: str) -> str:
    """An index on Elasticsearch that holds no functions."""
    return f"{PREFIX}.{what}"


# One more alias, on the current generations of all indexes together, for whoever looks at everything (Kibana).
ALL_CURRENT = internal_name("current")


def parse_index_name(index: str) -> tuple[str, str] | None:
    """Name and generation, when it is an index of functions."""
    match = INDEX.fullmatch(index)
    return (match[1], index[-6:]) if match else None


def newest_before(name: str, current: str, generations: Iterable[IndexInfo]) -> IndexInfo:
    """The target of a roll-back: the newest generation before the current one that was not itself rejected."""
    for info in generations:
        if info.generation < current and not info.rolled_back:
            return info
    raise InputError(f"the index {name!r} has no generation before {current} to go back to", "nothing was changed")


def prunable(complete: Sequence[str], spare: Collection[str], rejects: Iterable[str], keep: int) -> list[str]:
    """Generations to remove: the rejected ones, and all but the newest `keep`; none to spare, as the current one."""
    bad = set(rejects)
    good = [generation for generation in complete if generation not in bad]
    return [generation for generation in complete if generation not in {*spare, *good[: max(keep, 1)]}]
