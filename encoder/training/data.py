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

from treeline.corpus.function import Function
from treeline.encoder.static import FIELDS
from treeline.encoder.text import fields, first_sentence
from treeline.encoder.tokens import CONTINUED, Tokenizer, identifier_parts, pair_keys
from treeline.encoder.training.examples import ANSWERED, EMPTY_WORDS, GENERATED, Example, examples, vary
from treeline.encoder.training.grammar import question

RAREST_WORD = 8  # a word seen less often is left to its pieces: its vector would not be learnt


def count_words(functions: Iterable[Function]) -> Counter[str]:
    """How many functions have each word; names and docstrings count twice, since people ask in their words."""
    counts: Counter[str] = Counter()
    for function in functions:
        parts = fields(function)
        counts.update(set(identifier_parts(parts.code)))
        counts.update(set(identifier_parts(f"{parts.name} {parts.docstring}")))
    return counts


def choose(counts: Counter[str], base: Sequence[str], size: int) -> list[str]:
    """`size` tokens: all plain pieces of the base, then words, the corpus' most common first, then the base's."""
    pieces = [token for token in base if token.startswith(CONTINUED) and _plain(token[2:])]
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)] + [str(digit) for digit in range(10)]
    common = [word for word, count in counts.most_common() if count >= RAREST_WORD and _plain(word) and len(word) > 1]
    rest = [token for token in base if _plain(token) and len(token) > 1]
    return list(dict.fromkeys([*letters, *pieces, *common, *rest]))[:size]


def _plain(word: str) -> bool:
    return word.isascii() and word.isalnum() and len(word) <= 24 and not (word.isdigit() and len(word) > 4)


RAREST_PAIR = 4  # times that questions and functions must have a pair: a vector learnt from fewer is noise


def choose_pairs(
    questions: Sequence[Sequence[int]], functions: Sequence[Sequence[int]], size: int
) -> NDArray[np.uint16]:
    """The `size` pairs of token ids with the largest geometric mean of both counts, in order."""
    asked, asked_counts = _counted(questions)
    read, read_counts = _counted(functions)
    shared, left, right = np.intersect1d(asked, read, assume_unique=True, return_indices=True)
    often = np.minimum(asked_counts[left], read_counts[right])
    score = np.where(often >= RAREST_PAIR, np.sqrt(asked_counts[left].astype(float) * read_counts[right]), 0.0)
    kept = np.sort(shared[np.argsort(-score, kind="stable")[:size]][: int((score > 0).sum())])
    return np.stack([kept >> 32, kept & 0xFFFF], axis=1).astype(np.uint16)


def _counted(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair that some text has, and how often."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in lists] or [np.empty(0, np.int64)])
    owners = np.repeat(np.arange(len(lists)), lengths)
    beside = owners[1:] == owners[:-1]
    return np.unique(pair_keys(flat[:-1], flat[1:])[beside], return_counts=True)


LIMITS = {"name": 32, "docstring": 64, "code": 256, "place": 24, "query": 64}  # tokens of each field
UNKNOWN = 512  # rows that the words of other scripts share
NO_TARGET = -1
CODE = 1500  # characters of it that a teacher reads
HELD_OUT = ("valid", "test")  # partitions (whole repositories) that no labelled example comes from


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Questions first the labelled, then the made-up (target -1); `styles` and `targets` run beside `texts`."""

    functions: list[Function]
    texts: list[str]
    styles: list[str]
    targets: NDArray[np.int64]
    tokenizer: Tokenizer
    function_bags: tuple[csr_matrix, ...]
    query_bags: csr_matrix

    @property
    def passages(self) -> tuple[list[str], list[str]]:
        """What a teacher reads of every function: its first sentence and code, and the code alone.

        The code begins with the name. Repeated in front, names weigh too much (docs/research/encoder-history.md).
        """
        codes = [function.code[:CODE] for function in self.functions]
        sentences = [first_sentence(function.docstring) for function in self.functions]
        return ["\n".join(filter(None, both)) for both in zip(sentences, codes, strict=True)], codes


def essence(text: str) -> frozenset[str]:
    """A question without its dress: two with the same essence are the same question."""
    return frozenset(identifier_parts(text)) - EMPTY_WORDS - {"python", "python3", "how", "do", "i", "function", "code"}


def questions(made_up: int, wishes: Sequence[str], seed: int) -> list[str]:
    """Questions that no function is known to answer: so many by the grammar, and each wish in several ways."""
    rng = random.Random(seed)
    made = (question(rng) for _ in range(made_up))
    return list(dict.fromkeys(chain(made, *(vary(wish, rng) for wish in wishes))))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """The questions beside those that are made from the functions."""

    unanswered: Sequence[str] = ()
    answered: Sequence[tuple[str, int]] = ()
    """Each with the number of the function that answers it."""
    generated: Sequence[tuple[str, int]] = ()
    """The same, written by a model."""
    never: Collection[str] = ()
    """No example asks the same as one of these."""


def prepare(
    functions: Sequence[Function],
    tokenizer: Tokenizer,
    rarity: Counter[str],
    asked: QuestionSet,
    *,
    pairs: int = 0,
    seed: int = 0,
) -> TrainingData:
    """Examples from the given functions, and what is asked beside them.

    With `pairs`, so many are chosen for the tokenizer; otherwise it stays as it is.
    """
    rng = random.Random(seed)
    kept = list(functions)
    forbidden = {essence(text) for text in asked.never}
    offered = chain(
        examples(kept, rarity, rng),
        (Example(text, number, ANSWERED) for text, number in asked.answered),
        (Example(text, number, GENERATED) for text, number in asked.generated),
        (Example(text, NO_TARGET, "question") for text in asked.unanswered),
    )
    found = [example for example in offered if essence(example.text) not in forbidden]
    texts = [example.text for example in found]
    columns = dict(zip(FIELDS, zip(*(fields(function) for function in kept), strict=True), strict=True))
    tokenizer = _with_pairs(tokenizer, texts, columns, pairs) if pairs else tokenizer
    return TrainingData(
        functions=kept,
        texts=texts,
        styles=[example.style for example in found],
        targets=np.array([example.target for example in found], dtype=np.int64),
        tokenizer=tokenizer,
        function_bags=tuple(tokenizer.bags(column, LIMITS[field]) for field, column in columns.items()),
        query_bags=tokenizer.bags(texts, LIMITS["query"]),
    )


def _with_pairs(
    plain: Tokenizer, questions: Sequence[str], columns: Mapping[str, Sequence[str]], size: int
) -> Tokenizer:
    """The tokenizer with the pairs that these questions and functions share; words without pieces are in none."""
    known = Tokenizer(plain.vocabulary)
    asked = [known.ids(text, LIMITS["query"]) for text in questions]
    read = [known.ids(text, LIMITS[field]) for field in ("name", "docstring", "code") for text in columns[field]]
    return Tokenizer(plain.vocabulary, choose_pairs(asked, read, size), plain.unknown)
