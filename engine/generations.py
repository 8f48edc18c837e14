"""Which generation of an index comes after or before which: where a roll-back leads, and what may be removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treeline.corpus.errors import InputError
from treeline.engine.protocol import IndexInfo


def newest_before(name: str, current: str, generations: Iterable[IndexInfo]) -> IndexInfo:
    """Of these, newest first, the one that a roll-back leads to: never to one that was rejected itself."""
    for info in generations:
        if info.generation < current and not info.rolled_back:
            return info
    raise InputError(f"the index {name!r} has no generation before {current} to go back to", "nothing was changed")


def prunable(complete: Sequence[str], current: str, rejected: Iterable[str], keep: int) -> list[str]:
    """Of the complete ones, newest first: the rejected and, beyond the newest `keep`, the rest; never the current."""
    doomed = set(rejected)
    spared = {current, *[generation for generation in complete if generation not in doomed][: max(keep, 1)]}
    return [generation for generation in complete if generation not in spared]
