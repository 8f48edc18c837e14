"""Chooses fusion and keyword defaults on questions other than the 99: `python -m treeline.eval.choosing`.

Four data sets count alike: docstrings' first paragraphs (docstrings stripped from the index), the words of names (names
hidden from the index), the `dev` half of the web questions, and identifiers. Lanes are asked once and reused, so a
new encoder's choice is redone in minutes. docs/lanes.md keeps the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from treeline.eval.choosing_sets import Set, sets
from treeline.eval.metrics import reciprocal_rank
from treeline.eval.statistics import compare
from treeline.rerank.adaptive import adaptive
from treeline.rerank.intersection import intersection
from treeline.rerank.ranked_list import Fusion, RankedList
from treeline.rerank.registry import DEFAULT_WEIGHTS
from treeline.rerank.rrf import rrf
from treeline.rerank.score_sum import score_sum
from treeline.search.query import Query
from treeline.search.question.routing import route
from treeline.search.settings import from_environment

RATIOS = ((4, 1), (2, 1), (1, 1), (1, 2), (1, 3), (1, 4), (1, 6), (1, 8))
NAME_WEIGHTS = (1, 2, 3, 4)

Values = dict[str, float]  # question → reciprocal rank


def fused(one: Set, lists: Sequence[Sequence[RankedList]], method: Fusion, weights: Mapping[str, float]) -> Values:
    """The reciprocal rank of every question."""
    found = {}
    for asked, lanes in zip(one.questions, lists, strict=True):
        candidates = method(lanes, weights, route(asked.text).asked, 100)
        urls = [candidate.address.url for candidate in candidates]
        found[asked.text] = reciprocal_rank(urls, asked.urls)
    return found


def routed(one: Set) -> Values:
    """The same with the lanes that each question is routed to and the default fusion."""
    found = {}
    for asked in one.questions:
        lanes = one.searcher.lanes(Query(asked.text))
        urls = [candidate.address.url for candidate in one.searcher.fuse(lanes, limit=100)]
        found[asked.text] = reciprocal_rank(urls, asked.urls)
    return found


def table(title: str, rows: Mapping[str, Sequence[Values]], names: Sequence[str], baseline: str) -> None:
    """One line a row: MRR on every set, the mean, and the difference to the baseline with its p over all questions."""
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
    """Questions weighted so that every set counts alike, then the paired bootstrap."""
    weighted: Values = {}
    other: Values = {}
    for number, (values, base) in enumerate(zip(row, baseline, strict=True)):
        for text in values:
            weighted[f"{number} {text}"] = values[text] / len(values)
            other[f"{number} {text}"] = base[text] / len(values)
    compared = compare(weighted, other)
    return compared.p if compared else 1.0


def _mean(values: Values) -> float:
    return sum(values.values()) / len(values)


@click.command()
@click.option("--index", default="csn", show_default=True, help="An index of CodeSearchNet, to draw questions from.")
@click.option("--questions", default=250, show_default=True, help="Questions of each generated set.")
def main(index: str, questions: int) -> None:
    """Print the tables that docs/lanes.md keeps."""
    with TemporaryDirectory() as home:
        chosen = sets(index, Path(home), from_environment(), questions)
        dense = [one.dense() for one in chosen]
        of_names(chosen, dense, Path(home) / "weighed")
        of_fusion(chosen, dense)


def of_names(chosen: Sequence[Set], dense: Sequence[Sequence[RankedList]], home: Path) -> None:
    """The table of how often the words of a name count, for the keyword lane alone and fused with the dense one."""
    rows: dict[str, list[Values]] = {}
    for weight in NAME_WEIGHTS:
        keyword = [one.keyword_by_name_weight(weight, home / one.name) for one in chosen]
        rows[f"keyword, names × {weight}"] = [
            fused(one, [[ranked] for ranked in lists], rrf, {}) for one, lists in zip(chosen, keyword, strict=True)
        ]
        rows[f"fused, names × {weight}"] = [
            fused(one, list(zip(lists, beside, strict=True)), score_sum, DEFAULT_WEIGHTS)
            for one, lists, beside in zip(chosen, keyword, dense, strict=True)
        ]
    table("How often the words of a name count", rows, [one.name for one in chosen], "fused, names × 1")


def of_fusion(chosen: Sequence[Set], dense: Sequence[Sequence[RankedList]]) -> None:
    """The table of fusion methods and weights."""
    names = [one.name for one in chosen]
    lanes = [list(zip(one.keyword(), beside, strict=True)) for one, beside in zip(chosen, dense, strict=True)]
    rows: dict[str, list[Values]] = {}
    rows["keyword"] = [
        fused(one, [[pair[0]] for pair in some], rrf, {}) for one, some in zip(chosen, lanes, strict=True)
    ]
    rows["dense"] = [fused(one, [[pair[1]] for pair in some], rrf, {}) for one, some in zip(chosen, lanes, strict=True)]
    methods: dict[str, Fusion] = {"rrf": rrf, "score_sum": score_sum, "intersection": intersection}
    for (name, method), (few, many) in product(methods.items(), RATIOS):
        weights = {"keyword": float(few), "dense": float(many)}
        rows[f"{name} {few}:{many}"] = [
            fused(one, some, method, weights) for one, some in zip(chosen, lanes, strict=True)
        ]
    rows["adaptive"] = [fused(one, some, adaptive, {}) for one, some in zip(chosen, lanes, strict=True)]
    rows["as searched (routed, default fusion)"] = [routed(one) for one in chosen]
    table("Fusion", rows, names, "rrf 1:1")


if __name__ == "__main__":
    main()
