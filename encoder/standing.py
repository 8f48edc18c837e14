"""How likely a function is what somebody asks for, whatever they ask: the last component of its vector.

People who ask how something is done want a function that they can call: one that stands by itself, has a body, is
public and gives something back. Cosines know nothing of that. So a function's vector has one component more, which is
lower for each mark against it, and every question's has the same constant there. A plain nearest-neighbour search, in
any engine, then ranks by cosine less `MARK_COST` a mark (docs/research/encoder-static-9.md has what it was chosen on).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeline.corpus.function import Function
from treeline.encoder.protocol import Vectors, unit

MARK_COST = 0.03  # of cosine
REACH = 0.5  # the questions' component: the larger, the less the functions' own takes from their other components
STUB = 100  # characters of code, without the docstring: less of it passes on, raises or is abstract
GIVES = ("return", "yield", "=>")  # looked for as plain text: words by a pattern take twenty times as long
IMPLICIT = frozenset({"ruby"})  # languages whose functions give back what they end with


def add_to_queries(vectors: Vectors) -> Vectors:
    """Unit vectors, or one, with the component that weighs the functions' standing; nothing stays nothing."""
    return _with_component(vectors, np.float32(REACH))


def add_to_functions(vectors: Vectors, functions: Sequence[Function]) -> Vectors:
    """Unit vectors with each function's standing; nothing stays nothing."""
    counted = np.fromiter(map(marks, functions), dtype=np.float32, count=len(functions))
    return _with_component(vectors, counted[:, None] * np.float32(-MARK_COST / REACH))


def strip(vectors: Vectors) -> Vectors:
    """The unit vectors as they were before, for those who want meaning alone."""
    return unit(vectors[:, :-1])


def marks(function: Function) -> int:
    """How much speaks against it: a method, not public, hardly any code, gives nothing back."""
    owner, _, name = function.func_name.rpartition(".")
    silent = function.language not in IMPLICIT and not any(word in function.code for word in GIVES)
    return bool(owner) + name.startswith("_") + (len(function.code) < STUB) + silent


def _with_component(vectors: Vectors, component: Vectors | np.float32) -> Vectors:
    last = np.where(vectors.any(axis=-1, keepdims=True), component, np.float32(0.0))
    return unit(np.concatenate([vectors, last], axis=-1))
