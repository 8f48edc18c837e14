"""A query-independent prior of functions, stored as the last component of the vector.

People who ask how to do something want a function they can call: not a method, public, with a body, returning
something. Each mark against a function lowers the component; every query has the same constant there. So a plain
nearest-neighbour search, in any engine, ranks by cosine less `MARK_COST` per mark (chosen in
docs/research/encoder-static-9.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeline.corpus.function import Function
from treeline.encoder.protocol import Vectors, unit

MARK_COST = 0.03  # of cosine
REACH = 0.5  # the queries' component: the larger it is, the less of its vector a function spends on its own
STUB = 100  # characters of code without the docstring; a shorter function only delegates, raises or is abstract
RETURNS = ("return", "yield", "=>")  # plain substrings: a regular expression takes twenty times as long
IMPLICIT = frozenset({"ruby"})  # languages whose functions return their last expression


def add_to_queries(vectors: Vectors) -> Vectors:
    """Unit query vectors (or one) with the constant component; zero vectors stay zero."""
    return _with_component(vectors, np.float32(REACH))


def add_to_functions(vectors: Vectors, functions: Sequence[Function]) -> Vectors:
    """Unit function vectors with the prior; zero vectors stay zero."""
    counts = np.fromiter(map(marks, functions), dtype=np.float32, count=len(functions))
    return _with_component(vectors, counts[:, None] * np.float32(-MARK_COST / REACH))


def strip(vectors: Vectors) -> Vectors:
    """The unit vectors without the prior."""
    return unit(vectors[:, :-1])


def marks(function: Function) -> int:
    """The number of marks against a function: method, private, hardly any code, returns nothing."""
    owner, _, name = function.func_name.rpartition(".")
    silent = function.language not in IMPLICIT and not any(word in function.code for word in RETURNS)
    return bool(owner) + name.startswith("_") + (len(function.code) < STUB) + silent


def _with_component(vectors: Vectors, component: Vectors | np.float32) -> Vectors:
    last = np.where(vectors.any(axis=-1, keepdims=True), component, np.float32(0.0))
    return unit(np.concatenate([vectors, last], axis=-1))
