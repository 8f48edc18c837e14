"""Questions about given functions: made from docstrings, keywords and comments, or read from a file."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.training.grammar import as_search, reworded
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.static import identifier_parts
from treeline.encoder.text import first_sentence

COMMENT = re.compile(r"(?:^|\s)(?:#+|//+)\s*([A-Za-z][^\n#]{10,120})$", re.MULTILINE)
DIRECTIVE = re.compile(r"(?i)\b(type:|noqa|pylint|todo|fixme|xxx|copyright|coding[:=])")
FEWEST_WORDS, MOST_WORDS = 2, 24
SENTENCE, ANSWERED, GENERATED = "sentence", "answered", "generated"  # styles with their own loss
COMMENT_STYLE, ORDER = "comment", "order"
HALF = 0.5  # share of functions that get the plain sentence instead of its rewording, and share that get keywords
MOST_REWORDED = 9  # words; longer questions are rarely typed
EMPTY_WORDS = frozenset("a an the of to for from in on at by with and or is are be this that it its as if into".split())


@dataclass(frozen=True, slots=True)
class Example:
    """A question whose answer is function number `target`; `style` says what it was made from."""

    text: str
    target: int
    style: str  # sentence, reworded, keywords, comment, answered, generated or order


def examples(functions: Iterable[Function], rarity: Counter[str], rng: random.Random) -> Iterable[Example]:
    """A few questions for each function, in function order; more functions teach more than more questions of each.

    Names are not used as questions: the student then reads little but names (docs/research/encoder-static-9.md).
    """
    for number, function in enumerate(functions):
        sentence = plain_sentence(function)
        if sentence:
            yield Example(as_query(sentence, rng), number, SENTENCE)
            if rng.random() < HALF:
                yield Example(sentence, number, SENTENCE)
            else:
                yield Example(reworded(as_query(sentence, rng), rng), number, "reworded")
        rare = keywords(function, rarity, rng) if rng.random() < HALF else []
        if len(rare) >= FEWEST_WORDS:
            yield Example(as_search(" ".join(rare), rng), number, "keywords")
        remark = comment(function, rng)
        if remark:
            yield Example(remark, number, COMMENT_STYLE)


def vary(wish: str, rng: random.Random) -> list[str]:
    """Variants of a sentence as people ask it: as it is, as searches, reworded."""
    beginning = " ".join(wish.lower().split()[:MOST_REWORDED])
    return [wish, as_query(wish, rng), as_query(wish, rng), as_search(reworded(beginning, rng), rng)]


def plain_sentence(function: Function) -> str:
    """The docstring's first sentence if it is plain text, not markup or a doctest; else empty."""
    sentence = first_sentence(function.docstring)
    words = sentence.split()
    if not FEWEST_WORDS < len(words) <= MOST_WORDS or sentence.startswith((">>>", ":", "@", "..", "TODO")):
        return ""
    letters = sum((character.isalpha() and character.isascii()) or character == " " for character in sentence)
    return sentence if letters >= 0.8 * len(sentence) else ""


def as_query(sentence: str, rng: random.Random) -> str:
    """A sentence as a search: lower-case, verb in base form, shortened, perhaps without stop words."""
    words = [word for word in re.findall(r"[A-Za-z0-9_']+", sentence.lower()) if word]
    if words and words[0].endswith("s") and len(words[0]) > 3 and not words[0].endswith("ss"):
        words[0] = words[0][:-1]
    if words and words[0] == "return" and rng.random() < 0.6:
        words[0] = rng.choice(["get", "find", "give", "compute"])
    words = words[: rng.randint(4, 10)]
    if rng.random() < 0.5:
        words = [word for word in words if word not in EMPTY_WORDS] or words
    if rng.random() < 0.15:
        rng.shuffle(words)
    return as_search(" ".join(words), rng)


def name_words(function: Function) -> list[str]:
    """The words of the function's own name, without digits."""
    return [
        word for word in identifier_parts(function.func_name.rpartition(".")[2]) if word.isalpha() and len(word) > 1
    ]


def keywords(function: Function, rarity: Counter[str], rng: random.Random) -> list[str]:
    """A few of the function's words in random order, rare ones preferred."""
    words = {
        word
        for word in identifier_parts(f"{function.func_name} {function.docstring[:400]} {function.code[:2000]}")
        if word.isalpha() and len(word) > 2 and rarity[word] > 5
    }
    if not words:
        return []
    ranking = sorted(words, key=lambda word: (rarity[word], word))[:12]
    selection = rng.sample(ranking, min(len(ranking), rng.randint(2, 5)))
    own = name_words(function)
    return selection + ([rng.choice(own)] if own and rng.random() < 0.5 else [])


def comment(function: Function, rng: random.Random) -> str:
    """One comment in the code that reads like a sentence."""
    results = [text.strip() for text in COMMENT.findall(function.code[:4000]) if not DIRECTIVE.search(text)]
    results = [text for text in results if len(text.split()) > FEWEST_WORDS and "=" not in text and "(" not in text]
    return rng.choice(results).lower() if results else ""


Answered = Mapping[str, Sequence[str]]  # function URL → questions that it answers


def read_answers(files: Iterable[Path]) -> Answered:
    """JSON lines (`.gz` too) with `query` and the answer's `url`; the questions of each function in their order."""
    results: dict[str, list[str]] = defaultdict(list)
    for file in files:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        # As bytes: a JSON string may contain Unicode line separators (U+2028).
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                one = json.loads(line)
                results[one["url"]].append(one["query"])
            except (ValueError, TypeError, KeyError) as error:
                raise InputError(
                    f"{file}, line {number}, is no question with its answer", 'write {"query": …, "url": …}'
                ) from error
    return dict(results)


def match_answers(answered: Answered, functions: Sequence[Function]) -> list[tuple[str, int]]:
    """Each question whose answer is among the functions, with the function's number."""
    return [
        (question, number) for number, function in enumerate(functions) for question in answered.get(function.url, ())
    ]
