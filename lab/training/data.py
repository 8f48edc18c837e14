"""Everything a training run reads: functions, questions, answers, the vocabulary and bags of tokens."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from lab.training.examples import ANSWERED, EMPTY_WORDS, GENERATED, ORDER, Example, examples, vary
from lab.training.grammar import question
from treeline.corpus.function import Function
from treeline.encoder.static import FIELDS, INNER_MARK, Tokenizer, identifier_parts, pair_keys
from treeline.encoder.text import fields, first_sentence

RAREST_WORD = 8  # rarer words are split into pieces: there is too little to learn a vector from


def bags(tokenizer: Tokenizer, texts: Iterable[str], limit: int) -> csr_matrix:
    """The bags of tokens of texts, as a sparse matrix with a row each."""
    counts, ids, starts = tokenizer.bag_arrays(texts, limit)
    return csr_matrix((counts, ids, starts), shape=(len(starts) - 1, tokenizer.size))


def count_words(functions: Iterable[Function]) -> Counter[str]:
    """The number of functions with each word; names and docstrings count twice, because people ask in their words."""
    counts: Counter[str] = Counter()
    for function in functions:
        parts = fields(function)
        counts.update(set(identifier_parts(parts.code)))
        counts.update(set(identifier_parts(f"{parts.name} {parts.docstring}")))
    return counts


def choose(counts: Counter[str], base: Sequence[str], size: int) -> list[str]:
    """A vocabulary of `size` tokens: all pieces of the base, then the corpus' most common words, then the base's."""
    pieces = [token for token in base if token.startswith(INNER_MARK) and _plain(token[2:])]
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)] + [str(digit) for digit in range(10)]
    common = [word for word, count in counts.most_common() if count >= RAREST_WORD and _plain(word) and len(word) > 1]
    rest = [token for token in base if _plain(token) and len(token) > 1]
    return list(dict.fromkeys([*letters, *pieces, *common, *rest]))[:size]


def _plain(word: str) -> bool:
    return word.isascii() and word.isalnum() and len(word) <= 24 and not (word.isdigit() and len(word) > 4)


RAREST_PAIR = 4  # occurrences in questions and in functions; a vector learnt from fewer is noise


def choose_pairs(
    questions: Sequence[Sequence[int]], functions: Sequence[Sequence[int]], size: int
) -> NDArray[np.uint16]:
    """The `size` pairs of token ids with the largest geometric mean of both counts, in order."""
    queries, asked_counts = _counted(questions)
    read, read_counts = _counted(functions)
    shared, rest, right = np.intersect1d(queries, read, assume_unique=True, return_indices=True)
    often = np.minimum(asked_counts[rest], read_counts[right])
    score = np.where(often >= RAREST_PAIR, np.sqrt(asked_counts[rest].astype(float) * read_counts[right]), 0.0)
    selection = np.sort(shared[np.argsort(-score, kind="stable")[:size]][: int((score > 0).sum())])
    return np.stack([selection >> 32, selection & 0xFFFF], axis=1).astype(np.uint16)


def _counted(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair that occurs, and how often."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in lists] or [np.empty(0, np.int64)])
    owners = np.repeat(np.arange(len(lists)), lengths)
    adjacent = owners[1:] == owners[:-1]
    return np.unique(pair_keys(flat[:-1], flat[1:])[adjacent], return_counts=True)


LIMITS = {"name": 32, "docstring": 64, "code": 256, "place": 24, "query": 64}  # tokens of each field
UNKNOWN = 512  # hashed rows for words in other scripts
NO_TARGET = -1
CODE = 1500  # characters of code that a teacher reads
HELD_OUT = ("valid", "test")  # partitions (whole repositories) that no labelled example comes from


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Questions, labelled ones first (target -1: no known answer); `styles` and `targets` run parallel to them."""

    functions: list[Function]
    texts: list[str]
    styles: list[str]
    targets: NDArray[np.int64]
    tokenizer: Tokenizer
    function_bags: tuple[csr_matrix, ...]
    query_bags: csr_matrix

    @property
    def passages(self) -> tuple[list[str], list[str]]:
        """Every function as a teacher reads it: first sentence and code, and the code alone.

        The code begins with the name. Repeated in front, names weigh too much (docs/research/encoder-history.md).
        """
        codes = [function.code[:CODE] for function in self.functions]
        sentences = [first_sentence(function.docstring) for function in self.functions]
        return ["\n".join(filter(None, both)) for both in zip(sentences, codes, strict=True)], codes


def essence(text: str) -> frozenset[str]:
    """A normal form: two questions with the same one are duplicates."""
    return frozenset(identifier_parts(text)) - EMPTY_WORDS - {"python", "python3", "how", "do", "i", "function", "code"}


def questions(made_up: int, wishes: Sequence[str], seed: int) -> list[str]:
    """Questions without a known answer: `count` from the grammar, and several variants of each wish."""
    rng = random.Random(seed)
    product = (question(rng) for _ in range(made_up))
    return list(dict.fromkeys(chain(product, *(vary(wish, rng) for wish in wishes))))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """Questions other than those made from the functions."""

    unanswered: Sequence[str] = ()
    answered: Sequence[tuple[str, int]] = ()
    """With the number of the function that answers each."""
    generated: Sequence[tuple[str, int]] = ()
    """The same, written by a model."""
    ordered: Sequence[tuple[str, int]] = ()
    """The same, where the order of the words decides (`opposites.py`)."""
    never: Collection[str] = ()
    """Examples that duplicate one of these are dropped."""


def prepare(
    functions: Sequence[Function],
    tokenizer: Tokenizer,
    rarity: Counter[str],
    asked: QuestionSet,
    *,
    pairs: int = 0,
    seed: int = 0,
) -> TrainingData:
    """Examples from the functions, and the other questions.

    `pairs` is how many pairs to choose for the tokenizer; 0 keeps it as it is.
    """
    rng = random.Random(seed)
    selection = list(functions)
    forbidden = {essence(text) for text in asked.never}
    offers = chain(
        examples(selection, rarity, rng),
        (Example(text, number, ANSWERED) for text, number in asked.answered),
        (Example(text, number, GENERATED) for text, number in asked.generated),
        (Example(text, number, ORDER) for text, number in asked.ordered),
        (Example(text, NO_TARGET, "question") for text in asked.unanswered),
    )
    results = [example for example in offers if essence(example.text) not in forbidden]
    texts = [example.text for example in results]
    columns = dict(zip(FIELDS, zip(*(fields(function) for function in selection), strict=True), strict=True))
    tokenizer = _with_pairs(tokenizer, texts, columns, pairs) if pairs else tokenizer
    return TrainingData(
        functions=selection,
        texts=texts,
        styles=[example.style for example in results],
        targets=np.array([example.target for example in results], dtype=np.int64),
        tokenizer=tokenizer,
        function_bags=tuple(bags(tokenizer, column, LIMITS[field]) for field, column in columns.items()),
        query_bags=bags(tokenizer, texts, LIMITS["query"]),
    )


def _with_pairs(
    plain: Tokenizer, questions: Sequence[str], columns: Mapping[str, Sequence[str]], size: int
) -> Tokenizer:
    """The tokenizer with the pairs that questions and functions share, without hashed words."""
    known = Tokenizer(plain.vocabulary)
    queries = [known.ids(text, LIMITS["query"]) for text in questions]
    read = [known.ids(text, LIMITS[field]) for field in ("name", "docstring", "code") for text in columns[field]]
    return Tokenizer(plain.vocabulary, choose_pairs(queries, read, size), plain.unknown)
