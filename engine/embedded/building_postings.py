"""The lists of terms in the making: a part for some new rows, then one for all that live, with the scores of BM25."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from treeline.engine.embedded.columns import Positions, Strings
from treeline.engine.embedded.postings import NO_TERM, Lists
from treeline.engine.hits import firsts

K1, B = np.float32(1.2), np.float32(0.75)  # of BM25, Lucene's own
CHUNK = 1_000_000  # entries handled at once
MOST_TIMES = np.iinfo(np.uint16).max


def _lengths_told_apart() -> NDArray[np.int64]:
    """Lucene keeps a text's length in a byte: exact up to 40 terms, then eight lengths to every doubling."""
    steps = np.arange(256 - 24)
    return np.append(np.arange(24), 24 + np.where(steps < 8, steps, (steps % 8 + 8) << np.maximum(steps // 8 - 1, 0)))


LENGTHS = _lengths_told_apart()


def write_part(folder: Path, texts: Sequence[str]) -> None:
    """The lists of new rows, each given as its terms with spaces between them."""
    number_of: defaultdict[str, int] = defaultdict(count().__next__)
    numbers, lengths = array("i"), []
    for text in texts:
        terms = text.split() or [NO_TERM]
        numbers.extend(map(number_of.__getitem__, terms))
        lengths.append(len(terms))
    names = sorted(number_of)
    code_of = np.empty(len(names), dtype=np.int64)
    code_of[[number_of[name] for name in names]] = np.arange(len(names))
    entries = code_of[np.frombuffer(numbers, dtype=np.int32)] * len(texts) + np.repeat(np.arange(len(texts)), lengths)
    entries.sort()
    first = firsts(entries).nonzero()[0]
    codes, rows = np.divmod(entries[first], len(texts))
    Strings.write(folder, "term", names)
    np.save(folder / "posting.ends.npy", np.searchsorted(codes, np.arange(len(names) + 1)))
    np.save(folder / "posting.row.npy", rows.astype(np.int32))
    np.save(folder / "posting.times.npy", np.diff(first, append=len(entries)).clip(max=MOST_TIMES).astype(np.uint16))
    np.save(folder / "length.npy", np.array(lengths, dtype=np.int64))


class _Moving:
    """A part on its way into the whole: where its rows go, and how many entries of each of its terms stay."""

    def __init__(self, lists: Lists, kept: Positions, start: int) -> None:
        self._lists = lists
        self._places = np.full(len(lists.lengths), -1, dtype=np.int32)  # of rows that are gone
        self._places[kept] = np.arange(start, start + len(kept))
        self.lengths = lists.lengths[kept]
        self.counts = np.zeros(len(lists.terms), dtype=np.int64)
        for first, last in _chunks(lists.ends):
            alive = self._new_rows(first, last) >= 0
            self.counts[first:last] = np.add.reduceat(alive, lists.ends[first:last] - lists.ends[first], dtype=np.int64)
        self._used = self.counts.nonzero()[0]
        self.names = lists.terms.many(self._used.tolist())
        self.codes = np.zeros(len(lists.terms), dtype=np.int64)

    def rename(self, code_of: Mapping[str, int]) -> None:
        """Take the codes that the terms have in the whole; one that nobody has any more keeps none of its entries."""
        self.codes[self._used] = [code_of[name] for name in self.names]

    def entries(self) -> Iterator[tuple[slice, NDArray[np.int32], NDArray[np.uint16]]]:
        """Rows and times of what stays, in the order of the part's own terms, and which of its terms these are."""
        for first, last in _chunks(self._lists.ends):
            rows = self._new_rows(first, last)
            times = self._lists.times[self._lists.ends[first] : self._lists.ends[last]]
            yield slice(first, last), rows[rows >= 0], times[rows >= 0]

    def _new_rows(self, first: int, last: int) -> NDArray[np.int32]:
        return self._places[self._lists.rows[self._lists.ends[first] : self._lists.ends[last]]]


def merge_parts(folder: Path, parts: Sequence[Lists], kept: Sequence[Positions]) -> None:
    """The lists of the kept rows of several parts, one after the other, and their scores."""
    starts = np.cumsum([0, *map(len, kept)]).tolist()
    moving = [_Moving(part, rows, start) for part, rows, start in zip(parts, kept, starts[:-1], strict=True)]
    names = sorted(set().union(*(part.names for part in moving)))
    code_of = {name: code for code, name in enumerate(names)}
    having = np.zeros(len(names) + 1, dtype=np.int64)
    for part in moving:
        part.rename(code_of)
        np.add.at(having, part.codes, part.counts)
    ends = having.cumsum() - having

    total = int(ends[-1])
    rows = open_memmap(folder / "posting.row.npy", "w+", np.int32, (total,))
    times = open_memmap(folder / "posting.times.npy", "w+", np.uint16, (total,))
    reached = ends.copy()  # where the next entry of each term goes
    for part in moving:
        for terms, new_rows, new_times in part.entries():
            codes, counts = part.codes[terms], part.counts[terms]
            targets = np.repeat(reached[codes] - counts.cumsum() + counts, counts) + np.arange(len(new_rows))
            rows[targets], times[targets] = new_rows, new_times
            np.add.at(reached, codes, counts)
    rows.flush()
    times.flush()
    lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(part.lengths for part in moving)])
    Strings.write(folder, "term", names)
    np.save(folder / "posting.ends.npy", ends)
    np.save(folder / "length.npy", lengths)
    _write_scores(folder, ends, rows, times, lengths)


def _chunks(ends: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of terms with so many entries together, or of one term that alone has more."""
    first = 0
    while first < len(ends) - 1:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + CHUNK, side="right")) - 1)
        yield first, last
        first = last


def _write_scores(
    folder: Path,
    ends: NDArray[np.int64],
    rows: NDArray[np.int32],
    times: NDArray[np.uint16],
    lengths: NDArray[np.int64],
) -> None:
    """What each entry adds to the score of its row, by BM25."""
    scores = open_memmap(folder / "posting.score.npy", "w+", np.float32, times.shape)
    having = np.diff(ends)
    rarity = np.log1p((len(lengths) - having + 0.5) / (having + 0.5)).astype(np.float32) * (1 + K1)
    told = LENGTHS[np.searchsorted(LENGTHS, lengths, side="right") - 1]
    average = lengths.mean() if len(lengths) else 1.0
    damping = (K1 * (1 - B + B * (told / average))).astype(np.float32)
    for first, last in _chunks(ends):
        entries = slice(ends[first], ends[last])
        frequency = times[entries].astype(np.float32)
        scores[entries] = np.repeat(rarity[first:last], having[first:last]) * (
            frequency / (frequency + damping[rows[entries]])
        )
    scores.flush()
