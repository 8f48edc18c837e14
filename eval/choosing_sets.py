"""The questions that defaults are chosen on, each set with an index of its own: docstrings, names, web, identifiers."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from treeline.corpus.analysis import analyse, parts
from treeline.corpus.function import Function
from treeline.encoder.loading import load
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import NO_FILTERS, EncoderSpec, Engine, Store
from treeline.eval import docstrings, web
from treeline.rerank.ranked_list import RankedList
from treeline.search.lanes.dense import dense_lane
from treeline.search.lanes.keyword import keyword_lane
from treeline.search.live import LiveSearcher
from treeline.search.question.routing import looks_like_an_identifier
from treeline.search.settings import Settings
from treeline.search.stores import open_store

DEPTH = 300
SEED = 7
POOL = 6_000  # functions of the smaller pools; the web questions' has twice as many and all that answer
AT_ONCE = 1_000
HIDDEN = "hidden_name"


@dataclass(frozen=True, slots=True)
class Question:
    """A text and the URLs that answer it."""

    text: str
    urls: frozenset[str]


@dataclass(frozen=True, slots=True)
class Set:
    """Questions and the index that they are asked of."""

    name: str
    functions: Sequence[Function]
    searcher: LiveSearcher
    questions: Sequence[Question]

    def keyword(self) -> list[RankedList]:
        return self._keyword(self.searcher.engine)

    def keyword_by_name_weight(self, weight: int, home: Path) -> list[RankedList]:
        """The same from an index in which the words of names count so often."""
        store = EmbeddedStore(home)
        with store.begin("weighed", [], "choosing", fresh=True) as writer:
            writer.write(self.functions, [analyse(one, weight) for one in self.functions], {})
            writer.publish()
        engine = store.open("weighed")
        try:
            return self._keyword(engine)
        finally:
            engine.close()

    def _keyword(self, engine: Engine) -> list[RankedList]:
        return [keyword_lane(engine, asked.text, DEPTH, NO_FILTERS) for asked in self.questions]

    def dense(self) -> list[RankedList]:
        with self.searcher.searcher() as current:
            (spec, *_) = current.info.encoders
            encoder = current.encoders[spec.name]
            return [
                dense_lane(current.engine, encoder, asked.text, DEPTH, NO_FILTERS, index_name=spec.name)
                for asked in self.questions
            ]


def pool(name: str, functions: Sequence[Function], store: Store, settings: Settings) -> LiveSearcher:
    """An index over these functions as they are; no parsing, so it is made in a minute."""
    encoder = load(settings.encoder)
    assert encoder is not None
    with store.begin(name, [EncoderSpec(encoder.name, encoder.dimension)], "choosing", fresh=True) as writer:
        for start in range(0, len(functions), AT_ONCE):
            some = functions[start : start + AT_ONCE]
            writer.write(some, [analyse(one) for one in some], {encoder.name: encoder.encode_functions(some)})
        writer.publish()
    return LiveSearcher(store, name, settings)


def sets(index: str, home: Path, settings: Settings, questions: int) -> list[Set]:
    """The data sets, each with its index, from the functions of a CodeSearchNet index."""
    whole = open_store(settings).open(index)
    functions = [function for function in whole.scan() if function.partition in ("valid", "test")]
    whole.close()
    store = EmbeddedStore(home)
    valid = [one for one in functions if one.partition == "valid"]
    asked = docstrings.prepare(valid, questions=questions, pool=POOL)
    named = random.Random(SEED).sample(valid, min(POOL, len(valid)))
    on_the_web = [one for one in web.read() if one.split == "dev"]
    answers = {url for one in on_the_web for url in one.urls}
    filler = set(random.Random(SEED).sample([one.url for one in functions], min(2 * POOL, len(functions))))
    mixed = [one for one in functions if one.url in answers | filler]
    urls = {one.url for one in mixed}
    nameless = [hidden(function) for function in named]
    both = pool("web", mixed, store, settings)
    from_docstrings = [Question(text, frozenset([url])) for url, text in asked.questions]
    answered = [one for one in on_the_web if urls.intersection(one.urls)]
    from_the_web = [Question(one.query, frozenset(one.urls) & urls) for one in answered]
    return [
        Set("docstrings", asked.pool, pool("docstrings", asked.pool, store, settings), from_docstrings),
        Set("names", nameless, pool("names", nameless, store, settings), name_questions(named, questions)),
        Set("web", mixed, both, from_the_web),
        Set("identifiers", mixed, both, identifier_questions(mixed, questions // 2)),
    ]


def words_of(name: str) -> str:
    return " ".join(part.lower() for part in parts(name.rpartition(".")[2]))


def name_questions(functions: Sequence[Function], count: int) -> list[Question]:
    """The words of names that at least three words make up and that one function alone has."""
    by_words: dict[str, list[str]] = {}
    for function in functions:
        by_words.setdefault(words_of(function.func_name), []).append(function.url)
    usable = sorted(words for words, urls in by_words.items() if len(words.split()) >= 3 and len(urls) == 1)
    chosen = random.Random(SEED).sample(usable, min(count, len(usable)))
    return [Question(words, frozenset(by_words[words])) for words in chosen]


def identifier_questions(functions: Sequence[Function], count: int) -> list[Question]:
    """Names as they are written; every function of that name answers."""
    by_name: dict[str, set[str]] = {}
    for function in functions:
        by_name.setdefault(function.func_name.rpartition(".")[2], set()).add(function.url)
    usable = sorted(name for name in by_name if looks_like_an_identifier(name) and not name.startswith("__"))
    return [Question(name, frozenset(by_name[name])) for name in random.Random(SEED).sample(usable, count)]


def hidden(function: Function) -> Function:
    """The function under a name that says nothing."""
    own = function.func_name.rpartition(".")[2]
    text = re.sub(rf"\b{re.escape(own)}\b", HIDDEN, function.original_string)
    code = re.sub(rf"\b{re.escape(own)}\b", HIDDEN, function.code)
    return replace(function, func_name=HIDDEN, original_string=text, code=code)
