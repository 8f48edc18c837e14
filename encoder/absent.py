"""In the place of an encoder that is not at hand: the index opens all the same, and its lane says what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from treeline.corpus.errors import EncoderMismatch, InputError
from treeline.corpus.function import Function


@dataclass(frozen=True, slots=True)
class AbsentEncoder:
    """Has a name and a dimension; whatever it is asked, it says why it cannot."""

    name: str
    dimension: int
    why: InputError
    usual: None = None

    def encode_queries(self, texts: Sequence[str]) -> NoReturn:
        self._say()

    def encode_functions(self, functions: Sequence[Function]) -> NoReturn:
        self._say()

    def _say(self) -> NoReturn:
        raise EncoderMismatch(f"{self.why.message}; {self.why.hint}" if self.why.hint else self.why.message)
