"""Chooses fusion weights on questions other than the 99: `python -m benchmarks.fusion`.

Four sets count equally: first paragraphs of docstrings (stripped from the index), words of names (hidden from the
index), the `dev` half of the web questions, and identifiers. Lanes are asked once and reused.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from benchmarks import web
from treeline.corpus.analysis import analyse, parts
from treeline.corpus.function import Function
from treeline.encoder.registry import load
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import NO_FILTERS, EncoderSpec, Engine, Store
from treeline.eval.metrics import compare, reciprocal_rank
from treeline.eval.sets import docstrings
from treeline.rerank.evidence import named_language
from treeline.rerank.fusion import Fusion, RankedList, adaptive, intersection, rrf, score_sum
from treeline.rerank.registry import DEFAULT_WEIGHTS
from treeline.search.lanes.lane_set import dense_lane
from treeline.search.lanes.words import keyword_lane
from treeline.search.live import LiveSearcher
from treeline.search.plan import route
from treeline.search.query import Query, is_identifier
from treeline.search.settings import Settings, from_environment, open_store
from treeline.service.cli import main

DEPTH = 300
SEED = 7
POOL = 6_000  # functions of the smaller pools; the web questions' pool has twice as many, and all answers
AT_ONCE = 1_000
HIDDEN = "hidden_name"


@dataclass(frozen=True, slots=True)
class Question:
    """A text and the URLs that answer it."""

    text: str
    urls: frozenset[str]


@dataclass(frozen=True, slots=True)
class Set:
    """Questions and the index they are asked of."""

    name: str
    functions: Sequence[Function]
    searcher: LiveSearcher
    questions: Sequence[Question]

    def keyword(self) -> list[RankedList]:
        return self._keyword(self.searcher.engine)

    def keyword_by_name_weight(self, weight: int, home: Path) -> list[RankedList]:
        """The keyword lane of an index that counts the words of names `weight` times."""
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
        return [
            keyword_lane(engine, named_language(queries.text).rest, DEPTH, NO_FILTERS) for queries in self.questions
        ]

    def dense(self) -> list[RankedList]:
        with self.searcher.searcher() as current:
            (spec, *_) = current.info.encoders
            encoder = current.encoders[spec.name]
            return [
                dense_lane(current.engine, encoder, queries.text, DEPTH, NO_FILTERS, index_name=spec.name)
                for queries in self.questions
            ]


def pool(name: str, functions: Sequence[Function], store: Store, settings: Settings) -> LiveSearcher:
    """Index these functions without parsing them."""
    encoder = load(settings.encoder)
    assert encoder is not None
    with store.begin(name, [EncoderSpec(encoder.name, encoder.dimension)], "choosing", fresh=True) as writer:
        for start in range(0, len(functions), AT_ONCE):
            some = functions[start : start + AT_ONCE]
            writer.write(some, [analyse(one) for one in some], {encoder.name: encoder.encode_functions(some)})
        writer.publish()
    return LiveSearcher(store, name, settings)


def sets(index: str, home: Path, settings: Settings, questions: int) -> list[Set]:
    """The four sets with their indexes, made from a CodeSearchNet index."""
    whole = open_store(settings).open(index)
    functions = [function for function in whole.scan() if function.partition in ("valid", "test")]
    whole.close()
    store = EmbeddedStore(home)
    valid = [one for one in functions if one.partition == "valid"]
    queries = docstrings.prepare(valid, questions=questions, pool=POOL)
    names = random.Random(SEED).sample(valid, min(POOL, len(valid)))
    on_the_web = [one for one in web.read() if one.split == "dev"]
    answers = {url for one in on_the_web for url in one.urls}
    filler = set(random.Random(SEED).sample([one.url for one in functions], min(2 * POOL, len(functions))))
    mix = [one for one in functions if one.url in answers | filler]
    urls = {one.url for one in mix}
    nameless = [hide_name(function) for function in names]
    both = pool("web", mix, store, settings)
    from_docstrings = [Question(text, frozenset([url])) for url, text in queries.questions]
    replies = [one for one in on_the_web if urls.intersection(one.urls)]
    from_the_web = [Question(one.query, frozenset(one.urls) & urls) for one in replies]
    return [
        Set("docstrings", queries.pool, pool("docstrings", queries.pool, store, settings), from_docstrings),
        Set("names", nameless, pool("names", nameless, store, settings), name_questions(names, questions)),
        Set("web", mix, both, from_the_web),
        Set("identifiers", mix, both, identifier_questions(mix, questions // 2)),
    ]


def words_of(name: str) -> str:
    return " ".join(part.lower() for part in parts(name.rpartition(".")[2]))


def name_questions(functions: Sequence[Function], count: int) -> list[Question]:
    """Names of three words or more that only one function has, as words."""
    by_words: dict[str, list[str]] = {}
    for function in functions:
        by_words.setdefault(words_of(function.func_name), []).append(function.url)
    usable = sorted(words for words, urls in by_words.items() if len(words.split()) >= 3 and len(urls) == 1)
    selection = random.Random(SEED).sample(usable, min(count, len(usable)))
    return [Question(words, frozenset(by_words[words])) for words in selection]


def identifier_questions(functions: Sequence[Function], count: int) -> list[Question]:
    """Names as written; every function of that name is an answer."""
    by_name: dict[str, set[str]] = {}
    for function in functions:
        by_name.setdefault(function.func_name.rpartition(".")[2], set()).add(function.url)
    usable = sorted(name for name in by_name if is_identifier(name) and not name.startswith("__"))
    return [Question(name, frozenset(by_name[name])) for name in random.Random(SEED).sample(usable, count)]


def hide_name(function: Function) -> Function:
    """The function under a meaningless name."""
    own = function.func_name.rpartition(".")[2]
    text = re.sub(rf"\b{re.escape(own)}\b", HIDDEN, function.original_string)
    code = re.sub(rf"\b{re.escape(own)}\b", HIDDEN, function.code)
    return replace(function, func_name=HIDDEN, original_string=text, code=code)


RATIOS = ((4, 1), (2, 1), (1, 1), (1, 2), (1, 3), (1, 4), (1, 6), (1, 8))
NAME_WEIGHTS = (1, 2, 3, 4)

Values = dict[str, float]  # question → reciprocal rank


def fusion_scores(
    one: Set, lists: Sequence[Sequence[RankedList]], method: Fusion, weights: Mapping[str, float]
) -> Values:
    """Reciprocal rank of each question."""
    results = {}
    for queries, lanes in zip(one.questions, lists, strict=True):
        candidates = method(lanes, weights, route(queries.text).traits, 100)
        urls = [candidate.address.url for candidate in candidates]
        results[queries.text] = reciprocal_rank(urls, queries.urls)
    return results


def search_scores(one: Set) -> Values:
    """Reciprocal ranks of the default search: routed lanes, default fusion."""
    results = {}
    for queries in one.questions:
        lanes = one.searcher.lanes(one.searcher.plan(Query(queries.text, literal=True)))
        urls = [candidate.address.url for candidate in one.searcher.fuse(lanes, limit=100)]
        results[queries.text] = reciprocal_rank(urls, queries.urls)
    return results


def table(title: str, rows: Mapping[str, Sequence[Values]], names: Sequence[str], baseline: str) -> None:
    """A Markdown table: MRR on every set, the mean, and the difference to the baseline with its p."""
    click.echo(
        f"\n## {title}\n\n| | {' | '.join(names)} | mean | against {baseline} |\n|---|{'---|' * (len(names) + 2)}"
    )
    means = {name: [_mean(values) for values in row] for name, row in rows.items()}
    for name, row in sorted(rows.items(), key=lambda item: -sum(means[item[0]])):
        difference = sum(means[name]) / len(names) - sum(means[baseline]) / len(names)
        p = _macro_p(row, rows[baseline])
        cells = " | ".join(f"{mean:.3f}" for mean in means[name])
        click.echo(f"| {name} | {cells} | {sum(means[name]) / len(names):.3f} | {difference:+.3f} (p {p:.3f}) |")


def _macro_p(row: Sequence[Values], baseline: Sequence[Values]) -> float:
    """The paired bootstrap, with questions weighted so that every set counts equally."""
    values_of: Values = {}
    other: Values = {}
    for number, (values, base) in enumerate(zip(row, baseline, strict=True)):
        for text in values:
            values_of[f"{number} {text}"] = values[text] / len(values)
            other[f"{number} {text}"] = base[text] / len(values)
    comparison = compare(values_of, other)
    return comparison.p if comparison else 1.0


def _mean(values: Values) -> float:
    return sum(values.values()) / len(values)


@click.command
@click.option("--index", default="csn", show_default=True, help="An index of CodeSearchNet, to draw questions from.")
@click.option("--questions", default=250, show_default=True, help="Questions of each generated set.")
def command(index: str, questions: int) -> None:
    """Print the tables of docs/research/lanes.md."""
    with TemporaryDirectory() as home:
        selection = sets(index, Path(home), from_environment(), questions)
        dense = [one.dense() for one in selection]
        compare_name_weights(selection, dense, Path(home) / "weighed")
        compare_fusions(selection, dense)


def compare_name_weights(chosen: Sequence[Set], dense: Sequence[Sequence[RankedList]], home: Path) -> None:
    """The weight of names in the keyword lane, alone and fused."""
    rows: dict[str, list[Values]] = {}
    for weight in NAME_WEIGHTS:
        keyword = [one.keyword_by_name_weight(weight, home / one.name) for one in chosen]
        rows[f"keyword, names × {weight}"] = [
            fusion_scores(one, [[ranking] for ranking in lists], rrf, {})
            for one, lists in zip(chosen, keyword, strict=True)
        ]
        rows[f"fused, names × {weight}"] = [
            fusion_scores(one, list(zip(lists, pair, strict=True)), score_sum, DEFAULT_WEIGHTS)
            for one, lists, pair in zip(chosen, keyword, dense, strict=True)
        ]
    table("How often the words of a name count", rows, [one.name for one in chosen], "fused, names × 1")


def compare_fusions(chosen: Sequence[Set], dense: Sequence[Sequence[RankedList]]) -> None:
    """Every fusion method and weight."""
    names = [one.name for one in chosen]
    lanes = [list(zip(one.keyword(), beside, strict=True)) for one, beside in zip(chosen, dense, strict=True)]
    rows: dict[str, list[Values]] = {}
    rows["keyword"] = [
        fusion_scores(one, [[pair[0]] for pair in some], rrf, {}) for one, some in zip(chosen, lanes, strict=True)
    ]
    rows["dense"] = [
        fusion_scores(one, [[pair[1]] for pair in some], rrf, {}) for one, some in zip(chosen, lanes, strict=True)
    ]
    methods: dict[str, Fusion] = {"rrf": rrf, "score_sum": score_sum, "intersection": intersection}
    for (name, method), (few, many) in product(methods.items(), RATIOS):
        weights = {"keyword": float(few), "dense": float(many)}
        rows[f"{name} {few}:{many}"] = [
            fusion_scores(one, some, method, weights) for one, some in zip(chosen, lanes, strict=True)
        ]
    rows["adaptive"] = [fusion_scores(one, some, adaptive, {}) for one, some in zip(chosen, lanes, strict=True)]
    rows["as searched (routed, default fusion)"] = [search_scores(one) for one in chosen]
    table("Fusion", rows, names, "rrf 1:1")


if __name__ == "__main__":
    main(command)
