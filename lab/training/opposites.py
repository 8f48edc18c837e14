"""Pairs of functions that do opposite things, found by their names within one repository.

`csv_to_json` and `json_to_csv` (arrow), `encode_url` and `decode_url` (verb), `is_not_empty` and `is_empty` (negation).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from treeline.corpus.function import Function
from treeline.encoder.static import identifier_parts

ARROWS = frozenset({"to", "2", "from", "into"})
NEGATIONS = frozenset({"not", "without", "no", "except", "non"})
TEMPLATES = ("{}", "convert {}", "how to convert {}", "turn {}")
MOST = {"arrow": 150, "verb": 60, "negation": 60}  # pairs per language; most names are verbs, which are easy
OPPOSITES = """encode decode|encrypt decrypt|serialize deserialize|compress decompress|pack unpack|zip unzip|
import export|push pop|read write|load save|marshal unmarshal|upload download|escape unescape|quote unquote|
lock unlock|attach detach|
subscribe unsubscribe|connect disconnect|enable disable|show hide|open close|start stop|add remove|insert delete|
increment decrement|login logout|mount unmount|register unregister|install uninstall|expand collapse|bind unbind|
wrap unwrap|parse format|send receive|acquire release|grant revoke|join split|upper lower|enqueue dequeue|min max|
first last|before after|left right|up down|forward backward|horizontal vertical|next previous|head tail|
local remote|absolute relative|input output|request response|client server|source target|parent child|old new"""


class Pair(NamedTuple):
    """A question, the number of the function that it asks for, and that of the opposite."""

    question: str
    answer: int
    opposite: int
    kind: str


def _antonyms() -> dict[str, str]:
    results: dict[str, str] = {}
    for pair in OPPOSITES.replace("\n", "").split("|"):
        one, other = pair.split()
        results.setdefault(one, other)
        results.setdefault(other, one)
    return results


ANTONYMS = _antonyms()


def opposites(words: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The names with the opposite meaning, each with its kind."""
    for position, word in enumerate(words):
        before, after = tuple(words[:position]), tuple(words[position + 1 :])
        if word in ARROWS and before and after:
            yield (*after, word, *before), "arrow"
        if word in ANTONYMS and len(words) > 1:
            yield (*before, ANTONYMS[word], *after), "verb"
        if word in NEGATIONS and before + after:
            yield before + after, "negation"
            yield (*before, "with", *after), "negation"


def pairs(functions: Sequence[Function], seed: int = 0, *, limited: bool = True) -> list[Pair]:
    """Pairs within one repository and language, at most `MOST` per language and kind if `limited`; reproducible by
    seed."""
    names: dict[tuple[str, str], dict[tuple[str, ...], int]] = defaultdict(dict)
    for number, function in enumerate(functions):
        if function.kind in ("function", "method"):
            words = tuple(identifier_parts(function.func_name.rpartition(".")[2]))
            names[function.repo, function.language].setdefault(words, number)
    rng = random.Random(seed)
    results: list[Pair] = []
    for _, known in sorted(names.items()):
        for words, number in known.items():
            for name, kind in opposites(words):
                other = known.get(name)
                if other is not None and other != number:
                    results.append(Pair(_question(words, kind, rng), number, other, kind))
                    if kind == "negation":
                        results.append(Pair(_question(name, kind, rng), other, number, kind))
    rng.shuffle(results)
    counts: Counter[tuple[str, str]] = Counter()
    selection = []
    for pair in results:
        key = (functions[pair.answer].language, pair.kind)
        counts[key] += 1
        if not limited or counts[key] <= MOST[pair.kind]:
            selection.append(pair)
    return selection


def _question(words: Iterable[str], kind: str, rng: random.Random) -> str:
    text = " ".join("to" if word == "2" else word for word in words)
    return rng.choice(TEMPLATES).format(text) if kind == "arrow" else text
