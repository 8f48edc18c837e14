"""What is read from an open index once and kept as long as that generation is open."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from treeline.search.live import LiveSearcher
    from treeline.search.searcher import Searcher

Value = TypeVar("Value")


def once_a_generation(read: Callable[[Searcher], Value]) -> Callable[[LiveSearcher], Value]:
    """`read` of whichever generation is current, which stays open meanwhile.

    It is kept under the open searcher and goes with it. A generation's number would not do: numbers begin anew when an
    index was dropped.
    """
    kept: WeakKeyDictionary[Searcher, Value] = WeakKeyDictionary()

    @wraps(read)
    def of_the_current(live: LiveSearcher) -> Value:
        with live.searcher() as current:
            if current not in kept:
                kept[current] = read(current)
            return kept[current]

    return of_the_current
