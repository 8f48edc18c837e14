"""Text to bags of token ids: split identifiers, WordPiece tokens, and known pairs of neighbours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
INNER_MARK = "##"  # WordPiece's mark of a piece inside a word
LONGEST_WORD = 40  # characters read of one part; longer ones are data, not words
LONGEST_IDENTIFIER = 200
CACHED_WORDS = 500_000  # identifiers cached with their ids, at most about 100 MB


def identifier_parts(text: str) -> list[str]:
    """The lower-case words of a text, with identifiers split at case changes, digits and underscores."""
    return [part.lower() for part in PART.findall(text)]


class Tokenizer:
    """Greedy WordPiece over split identifiers, plus known pairs of neighbours.

    Ids number the vocabulary, then the pairs (rows of two ids, in order), then a few rows that words in other scripts
    share by hash.
    """

    def __init__(self, vocabulary: Sequence[str], pairs: NDArray[np.integer] | None = None, unknown: int = 0) -> None:
        self.vocabulary = list(vocabulary)
        self.pairs = np.empty((0, 2), np.uint16) if pairs is None else pairs
        self.unknown = unknown
        self._pair_keys = pair_keys(*self.pairs.T)
        self._ids = dict(zip(self.vocabulary, range(len(self.vocabulary)), strict=True))
        self._longest = min(max(map(len, self.vocabulary), default=1), LONGEST_WORD)
        self._words = _Words(self)

    @property
    def size(self) -> int:
        return len(self.vocabulary) + len(self.pairs) + self.unknown

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def ids(self, text: str, limit: int) -> list[int]:
        """The first `limit` token ids of a text."""
        words = map(self._words.__getitem__, WORD.findall(text))
        return list(islice(chain.from_iterable(words), limit))

    def word_ids(self, word: str) -> tuple[int, ...]:
        """The token ids of one identifier."""
        parts = identifier_parts(word[:LONGEST_IDENTIFIER])
        pieces = list(chain.from_iterable(self._pieces(part[:LONGEST_WORD]) for part in parts))
        return tuple(pieces or self._unknown(word))

    def _pieces(self, word: str) -> list[int]:
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = INNER_MARK if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._ids.get(mark + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                start += 1
        return pieces

    def _unknown(self, word: str) -> list[int]:
        """The hashed row of a word in a script outside the vocabulary; equal words share it."""
        if not self.unknown:
            return []
        first = len(self.vocabulary) + len(self.pairs)
        return [first + crc32(word.lower().encode("utf-8", "surrogatepass")) % self.unknown]

    def bag_arrays(
        self, texts: Iterable[str], limit: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
        """Bags of several texts: log(1 + count) of tokens and pairs, so that repetition counts little; their ids; and
        the start of each text."""
        lists = [self.ids(text, limit) for text in texts]
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        flat = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(lengths.sum()))
        rows = np.repeat(np.arange(len(lists), dtype=np.int64), lengths)
        places, known = self._pair_ids(flat)
        known &= rows[1:] == rows[:-1]
        keys = np.concatenate([rows * self.size + flat, rows[1:][known] * self.size + places[known]])
        unique, counts = np.unique(keys, return_counts=True)
        starts = np.searchsorted(unique, np.arange(len(lists) + 1, dtype=np.int64) * self.size)
        return np.log1p(counts).astype(np.float32), (unique % self.size).astype(np.int32), starts

    def bag(self, text: str, limit: int) -> Bag:
        """The row of one short text, counted in a loop, which is quicker for a dozen tokens."""
        ids = self.ids(text, limit)
        pairs, is_known = self._pair_ids(np.array(ids, dtype=np.int64))
        counts = Counter([*ids, *pairs[is_known].tolist()])
        distinct = sorted(counts)
        return Bag(np.array(distinct, dtype=np.int32), np.log1p([counts[id_] for id_ in distinct], dtype=np.float32))

    def _pair_ids(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """For each two neighbours the id of their pair, and whether the pair is known."""
        if not len(self.pairs) or len(ids) < 2:
            nothing = max(len(ids) - 1, 0)
            return np.zeros(nothing, np.int64), np.zeros(nothing, np.bool_)
        keys = pair_keys(ids[:-1], ids[1:])
        places = np.minimum(np.searchsorted(self._pair_keys, keys), len(self._pair_keys) - 1)
        return places + len(self.vocabulary), self._pair_keys[places] == keys


class Bag(NamedTuple):
    """The distinct ids of a text, and log(1 + count) of each."""

    ids: NDArray[np.int32]
    counts: NDArray[np.float32]


class _Words(dict[str, tuple[int, ...]]):
    """A cache of the ids of each identifier; source code repeats its words."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= CACHED_WORDS:
            self.clear()
        known = self[word] = self._tokenizer.word_ids(word)
        return known


def pair_keys(first: NDArray[np.integer], second: NDArray[np.integer]) -> NDArray[np.int64]:
    """One sortable number per pair of token ids."""
    return first.astype(np.int64) << 32 | second.astype(np.int64)
