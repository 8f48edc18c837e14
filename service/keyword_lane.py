"""The keyword lane with relaxation: full text, then one edit apart, then the question in smaller chunks of words.

Relaxation follows the paper: each stage is tried only while fewer than 100 were found. Later stages never displace
what an earlier one found; they are appended, and every hit says its stage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from corpus.analysis import terms
from engine.protocol import Engine, FieldWeights, Filters, Hit
from rerank.ranked import RankedList

LANE = "keyword"
# Chosen on questions other than the 99: see docs/lanes.md.
FIELD_WEIGHTS = FieldWeights(name=1.0, docstring=1.0, code=1.5)
EXACT, FUZZY, CHUNKS = "exact", "fuzzy", "chunks"
ENOUGH = 100  # the paper's bound: with fewer the next stage is tried
MAX_CHUNKS = 24  # searches in the last stage at most; a long question has many chunks and its first words matter most
SHORTEST_PIECE = 3  # letters; shorter pieces of a word match by accident
LONGEST_WORD = 40  # letters; what is longer is no word that someone ran together
WORD = re.compile(r"\w+")


def keyword_lane(engine: Engine, text: str, k: int, filters: Filters, weights: FieldWeights) -> RankedList:
    """The best `k` by keyword, relaxing as far as is needed."""
    found: dict[str, Hit] = {}
    stages: list[str] = []

    def add(stage: str, search: Callable[[], list[Hit]]) -> None:
        for hit in search():
            if len(found) < k and hit.id not in found:
                found[hit.id] = hit
                stages.append(stage)

    enough = min(ENOUGH, k)
    words = terms(text)
    if words:
        add(EXACT, lambda: engine.keyword(words, k, filters, weights))
    if len(found) < enough and WORD.search(text):
        add(FUZZY, lambda: engine.fuzzy(text, k, filters))
    if len(found) < enough:
        for chunk in chunks(text):
            add(CHUNKS, lambda chunk=chunk: _chunk(engine, chunk, k, filters, weights))  # type: ignore[misc]
            if len(found) >= enough:
                break
    return RankedList(LANE, list(found.values()), stages)


def _chunk(engine: Engine, chunk: str, k: int, filters: Filters, weights: FieldWeights) -> list[Hit]:
    words = terms(chunk)
    exact = engine.keyword(words, k, filters, weights) if words else []
    return exact or engine.fuzzy(chunk, k, filters)


def chunks(text: str) -> list[str]:
    """Ever smaller runs of the question's words, halves first, then pieces of words that were run together."""
    words = WORD.findall(text)
    found: dict[str, None] = {}
    size = len(words) // 2
    while size >= 1 and len(found) < MAX_CHUNKS:
        for start in range(0, len(words), size):
            found[" ".join(words[start : start + size])] = None
        size //= 2
    for word in words:
        if 2 * SHORTEST_PIECE <= len(word) <= LONGEST_WORD:
            found[" ".join(pieces(word))] = None
    return list(found)[:MAX_CHUNKS]


def pieces(word: str) -> Iterator[str]:
    """Every head and tail of a word: of `exponentialbackoff` those that are words themselves will match."""
    for cut in range(SHORTEST_PIECE, len(word) - SHORTEST_PIECE + 1):
        yield word[:cut]
        yield word[cut:]
