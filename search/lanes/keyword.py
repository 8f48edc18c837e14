"""The keyword lane with relaxation: all words, then words within one edit, then smaller chunks of the query.

Relaxation follows the paper: the next stage runs only while fewer than 100 units were found. Its hits come after those
of earlier stages, and every hit records its stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from treeline.corpus.analysis import analyse, terms
from treeline.corpus.shape import read_query
from treeline.engine.hits import Hit, concatenate
from treeline.engine.protocol import Engine, Filters
from treeline.rerank.expansion import BACKGROUND, expand
from treeline.rerank.ranked_list import RankedList
from treeline.search.plan import KEYWORD

EXACT, FUZZY, CHUNKS = "exact", "fuzzy", "chunks"
ENOUGH = 100  # the paper's bound: with fewer hits, the next stage runs
MAX_CHUNKS = 24  # searches in the last stage; the first words of a long query matter most
SHORTEST_PIECE = 3  # letters; shorter pieces of a word match by accident
LONGEST_WORD = 40  # letters
WORD = re.compile(r"\w+")


def keyword_lane(engine: Engine, text: str, k: int, filters: Filters, *, with_feedback: bool = False) -> RankedList:
    """The best `k` by keyword, relaxed as far as needed; `with_feedback` adds words that the first results share."""
    stages: list[str] = []
    parts: list[Sequence[Hit]] = []
    hits: Sequence[Hit] = []
    part: list[int] = []
    for stage, part_hits in _stages(engine, text, k, filters, with_feedback):
        stages.append(stage)
        parts.append(part_hits)
        hits, part = concatenate(parts, k)
        if len(hits) >= min(ENOUGH, k):
            break
    return RankedList(KEYWORD, hits, stages * len(part) if len(stages) == 1 else [stages[number] for number in part])


def _stages(
    engine: Engine, text: str, k: int, filters: Filters, with_feedback: bool
) -> Iterator[tuple[str, Sequence[Hit]]]:
    rest, shapes = read_query(text)
    words = terms(rest) or terms(text)
    if words and with_feedback:
        words = _with_feedback(engine, words, filters)
    if words:
        yield EXACT, engine.keyword([*words, *shapes], k, filters)
    if WORD.search(text):
        yield FUZZY, engine.fuzzy(text, k, filters)
    # Not fuzzy: the stage before found whole words within one edit, and fuzzy pieces match by accident.
    for chunk in chunks(text):
        yield CHUNKS, engine.keyword(terms(chunk), k, filters)


def _with_feedback(engine: Engine, words: list[str], filters: Filters) -> list[str]:
    first = engine.keyword(words, BACKGROUND, filters)
    return expand(words, [analyse(one).split() for one in engine.fetch([hit.id for hit in first])])


def chunks(text: str) -> list[str]:
    """Smaller and smaller runs of the query's words, halves first, then pieces of words typed without a space."""
    words = WORD.findall(text)
    result: dict[str, None] = {}
    size = len(words) // 2
    while size >= 1 and len(result) < MAX_CHUNKS:
        for start in range(0, len(words), size):
            result[" ".join(words[start : start + size])] = None
        size //= 2
    for word in words[:MAX_CHUNKS]:
        if 2 * SHORTEST_PIECE <= len(word) <= LONGEST_WORD:
            result[" ".join(pieces(word))] = None
    return list(result)[:MAX_CHUNKS]


def pieces(word: str) -> Iterator[str]:
    """Every prefix and suffix of a word: for `exponentialbackoff`, those that are words will match."""
    for cut in range(SHORTEST_PIECE, len(word) - SHORTEST_PIECE + 1):
        yield word[:cut]
        yield word[cut:]
