"""What transformer encoders share: each text has its prompt in front, a function is read as one passage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from treeline.corpus.function import Function
from treeline.encoder.protocol import Vectors
from treeline.encoder.text import passage


class PromptedEncoder(ABC):
    """An encoder of plain texts; how they become vectors is its own business."""

    def __init__(self, name: str, dimension: int, query_prompt: str, passage_prompt: str) -> None:
        self._name, self._dimension = name, dimension
        self._query_prompt, self._passage_prompt = query_prompt, passage_prompt

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def usual(self) -> None:
        return None

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._encode([self._query_prompt + text for text in texts])

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        return self._encode([self._passage_prompt + passage(function) for function in functions])

    @abstractmethod
    def _encode(self, texts: list[str]) -> Vectors:
        """One unit row per text, in the order of the texts."""
