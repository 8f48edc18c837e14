"""The vocabulary of a generation: which words are one edit away from a word.

tantivy matches within an edit distance, but scores every match alike. So the neighbours are looked up in a small index
of words and searched as weighted terms, which ranks them by BM25 as Lucene does.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import tantivy
from tantivy import Document, Order, Query

from treeline.engine.durable import link_tree
from treeline.engine.embedded.fulltext import open_searcher
from treeline.engine.text import MOST_NEIGHBOURS, WORDS

SHORTEST_FUZZY = 3  # letters; below that nearly every word is one edit from every other
LONGEST_FUZZY = 40
HEAP = 100_000_000


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("word", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("functions", fast=True)
    return builder.build()


SCHEMA = _schema()


def build(searcher: tantivy.Searcher, folder: Path) -> None:
    """Store the words of an index and how many units have each."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    index = tantivy.Index(SCHEMA, str(folder))
    _add(index, searcher.terms_with_prefix(WORDS, ""))


def extend(base: Path, words: Iterable[str], searcher: tantivy.Searcher, folder: Path) -> None:
    """The words of a base and those of the units added since. Words that have gone stay: they have no units."""
    shutil.rmtree(folder, ignore_errors=True)
    link_tree(base, folder)
    index = tantivy.Index.open(str(folder))
    known = index.searcher()
    _add(index, ((word, searcher.doc_freq(WORDS, word)) for word in sorted(words) if not known.doc_freq("word", word)))


def _add(index: tantivy.Index, words: Iterable[tuple[str, int]]) -> None:
    writer = index.writer(HEAP, 1)
    for word, functions in words:
        if functions and SHORTEST_FUZZY - 1 <= len(word) <= LONGEST_FUZZY + 1 and not word.isdigit():
            document = Document()
            document.add_text("word", word)
            document.add_unsigned("functions", functions)
            writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


class Vocabulary:
    """The words of one generation."""

    def __init__(self, folder: Path) -> None:
        self._searcher = open_searcher(folder)

    def neighbours(self, word: str) -> list[str]:
        """The word itself, then the words one edit away, the most common first."""
        if not SHORTEST_FUZZY <= len(word) <= LONGEST_FUZZY:
            return [word]
        query = Query.fuzzy_term_query(SCHEMA, "word", word, distance=1, transposition_cost_one=True)
        answer = self._searcher.search(
            query, MOST_NEIGHBOURS, count=False, order_by_field="functions", order=Order.Desc
        )
        near = [str(self._searcher.doc(address)["word"][0]) for _, address in answer.hits]
        return [word, *(other for other in near if other != word)]


def expand(vocabulary: Vocabulary, searcher: tantivy.Searcher, words: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Each word and its neighbours with their weights.

    As in Lucene, a neighbour counts less the shorter it is, and all share the rarity of the most common one: otherwise
    another typo would win for being rare.
    """
    total = searcher.num_docs
    for word, times in Counter(words).items():
        counts = {other: searcher.doc_freq(WORDS, other) for other in vocabulary.neighbours(word)}
        most = max(counts.values())
        for other, functions in counts.items():
            if functions:
                closeness = 1.0 if other == word else 1 - 1 / min(len(word), len(other))
                yield other, times * closeness * _rarity(total, most) / _rarity(total, functions)


def _rarity(total: int, functions: int) -> float:
    """BM25's inverse document frequency."""
    return math.log1p((max(total, functions) - functions + 0.5) / (functions + 0.5))
