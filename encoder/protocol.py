"""The `Encoder` protocol and shared helpers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import REBUILD, EncoderMismatch, InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function

Vectors = NDArray[np.float32]

DEFAULT_ENCODER = "static"
DEEP_ENCODER = "deep"
NO_ENCODER = "none"
ONNX = "onnx:"  # prefix of a folder that holds an int8 model


class Encoder(Protocol):
    """Turns queries and functions into unit vectors of one space."""

    @property
    def name(self) -> str:
        """Recorded in an index, which then refuses other encoders."""

    @property
    def dimension(self) -> int: ...

    @property
    def usual(self) -> float | None:
        """The typical cosine of a best result; None if it was not measured."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """One unit row per text; zeros only for a text without a single known token."""

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        """One unit row per function, from its name, docstring and code."""


def check_version(name: str, shipped: str) -> None:
    """Raise `EncoderMismatch` if the name (`static:8`) asks for another version than the shipped one."""
    if name not in (shipped, shipped.partition(":")[0]):
        raise EncoderMismatch(f"the index was made with encoder {name!r}, this Treeline ships {shipped!r}", REBUILD)


def unit(vectors: NDArray[Any]) -> Vectors:
    """Rows (or one vector) divided by their length; zeros stay zeros."""
    lengths = np.sqrt(np.add.reduce(vectors * vectors, axis=-1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


@frozen
class AbsentEncoder:
    """Stands for an encoder that cannot be loaded; every call raises the reason."""

    name: str
    dimension: int
    why: InputError
    usual: None = None

    def encode_queries(self, texts: Sequence[object]) -> NoReturn:
        raise EncoderMismatch(f"{self.why.message}; {self.why.hint}" if self.why.hint else self.why.message)

    encode_functions = encode_queries


# The prior of functions, whatever the query: the last component of the vector. People who ask how to do something want
# a function they can call: not a method, public, with a body, returning something. Each mark against a function lowers
# the component; every query has the same constant there. So a plain nearest-neighbour search, in any engine, ranks by
# cosine less `MARK_COST` per mark (chosen in docs/research/encoder-static-9.md).
MARK_COST = 0.03  # of cosine
REACH = 0.5  # the queries' component: the larger it is, the less of its vector a function spends on its own
STUB = 100  # characters of code without the docstring; a shorter function only delegates, raises or is abstract
RETURNS = ("return", "yield", "=>")  # plain substrings: a regular expression takes twenty times as long
# Languages whose functions return their last expression, or what they print.
IMPLICIT = frozenset(
    "bash clojure commonlisp elisp elixir elm erlang fsharp gleam haskell julia kotlin nim nix ocaml r racket ruby rust"
    " scala scheme swift tcl".split()
)


def add_to_queries(vectors: Vectors) -> Vectors:
    """Unit query vectors (or one) with the constant component; zero vectors stay zero."""
    return _with_component(vectors, np.float32(REACH))


def add_to_functions(vectors: Vectors, functions: Sequence[Function]) -> Vectors:
    """Unit function vectors with the prior; zero vectors stay zero."""
    counts = np.fromiter(map(marks, functions), dtype=np.float32, count=len(functions))
    return _with_component(vectors, counts[:, None] * np.float32(-MARK_COST / REACH))


def strip_prior(vectors: Vectors) -> Vectors:
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
