"""Text to bags of token ids: identifiers split, words to pieces of a vocabulary, neighbours to hashed bigrams."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WORD = re.compile(r"\w+")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
CONTINUED = "##"  # WordPiece's mark of a piece that does not begin a word
LONGEST_WORD = 40  # characters of one part that are looked at; longer ones are data, not words
LONGEST_IDENTIFIER = 200
CACHED_WORDS = 500_000  # identifiers remembered with their ids, about 100 MB at the most


def identifier_parts(text: str) -> list[str]:
    """The lower-case words of a text, with identifiers split at case changes, digits and underscores."""
    return [part.lower() for part in PART.findall(text)]


class Tokenizer:
    """Greedy WordPiece over split identifiers, plus one hashed bucket for each pair of neighbours."""

    def __init__(self, vocabulary: Sequence[str], buckets: int) -> None:
        self.vocabulary = list(vocabulary)
        self.buckets = buckets
        self._ids = {token: number for number, token in enumerate(self.vocabulary)}
        self._longest = min(max(map(len, self.vocabulary), default=1), LONGEST_WORD)
        self._words = _Words(self)

    @property
    def size(self) -> int:
        return len(self.vocabulary) + self.buckets

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
            mark = CONTINUED if start else ""
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
        """A word of a script without pieces here shares a bucket with the bigrams: equal words still meet."""
        if not self.buckets:
            return []
        return [len(self.vocabulary) + crc32(word.lower().encode("utf-8", "surrogatepass")) % self.buckets]

    def bags(self, texts: Iterable[str], limit: int) -> csr_matrix:
        """One sparse row per text: tokens and hashed bigrams with log(1 + count)."""
        lists = [self.ids(text, limit) for text in texts]
        return bags_of(lists, len(self.vocabulary), self.buckets)

    def bag(self, text: str, limit: int) -> Bag:
        """The row of one short text: counted one by one, which is quicker for a dozen tokens."""
        ids = self.ids(text, limit)
        counted = Counter(ids)
        if self.buckets:
            counted.update(len(self.vocabulary) + hash_pair(*pair, self.buckets) for pair in pairwise(ids))
        distinct = sorted(counted)
        return Bag(np.array(distinct, dtype=np.int32), np.log1p([counted[id_] for id_ in distinct], dtype=np.float32))


class Bag(NamedTuple):
    """The distinct ids of a text, and log(1 + count) of each."""

    ids: NDArray[np.int32]
    counts: NDArray[np.float32]


class _Words(dict[str, tuple[int, ...]]):
    """The ids of every identifier seen so far; source code repeats its words."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= CACHED_WORDS:
            self.clear()
        known = self[word] = self._tokenizer.word_ids(word)
        return known


def bags_of(lists: Sequence[Sequence[int]], words: int, buckets: int) -> csr_matrix:
    """Bags of token ids and of the hashed pairs of neighbours, counts dampened so that repetition says little."""
    from scipy.sparse import csr_matrix  # a fifth of a second that a search need not pay

    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(lengths.sum()))
    rows = np.repeat(np.arange(len(lists), dtype=np.int64), lengths)
    size = words + buckets
    keys = rows * size + flat
    if buckets and len(flat) > 1:
        neighbours = rows[1:] == rows[:-1]
        pairs = hash_pairs(flat[:-1][neighbours], flat[1:][neighbours], buckets)
        keys = np.concatenate([keys, rows[1:][neighbours] * size + words + pairs])
    unique, counts = np.unique(keys, return_counts=True)
    starts = np.searchsorted(unique, np.arange(len(lists) + 1, dtype=np.int64) * size)
    return csr_matrix(
        (np.log1p(counts).astype(np.float32), (unique % size).astype(np.int32), starts),
        shape=(len(lists), size),
    )


MIX_LEFT, MIX_RIGHT, MIX_BOTH = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9
LOW_64 = 2**64 - 1


def hash_pairs(left: NDArray[np.int64], right: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """A bucket for each pair of ids; fixed for ever, since the shipped table depends on it."""
    mixed = (left.astype(np.uint64) * np.uint64(MIX_LEFT)) ^ (right.astype(np.uint64) * np.uint64(MIX_RIGHT))
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(MIX_BOTH)
    mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(buckets)).astype(np.int64)


def hash_pair(left: int, right: int, buckets: int) -> int:
    """The same for one pair."""
    mixed = (left * MIX_LEFT ^ right * MIX_RIGHT) & LOW_64
    mixed = (mixed ^ mixed >> 29) * MIX_BOTH & LOW_64
    return (mixed ^ mixed >> 32) % buckets
