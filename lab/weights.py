"""Learn the weights of the ranking's rules: `python -m lab.weights QUESTIONS CHECKOUTS [QUESTIONS CHECKOUTS]…`.

Each pair is a set as for `treeline eval repository`. The best unit of each file is an item with the sum of the fused
score and each rule's number times its weight. The weights are fitted so that the softmax of the sums gives the judged
files; they stay near those of the table, the more so the larger --prior. Five-fold over repositories: what is reported
was held out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import click
import numpy as np
from scipy.optimize import minimize

from treeline.corpus.frozen import frozen
from treeline.eval.indexes import sources_searcher
from treeline.eval.sets.repository import Question, Repository, by_repository, read
from treeline.graph.hyperbolic import Floats
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.folder import open_folder
from treeline.rerank.rules import RULES, Columns
from treeline.rerank.tree import Gain, TreeRanking
from treeline.search.live import LiveSearcher
from treeline.search.query import Query
from treeline.search.settings import from_environment

LEARNT = [rule for rule in RULES if rule.scope == "files" and rule.name not in ("home", "history", "re-exports")]
CURRENT = np.array([1.0, *(rule.weight for rule in LEARNT)])  # the fused score is the first column
TEMPERATURE = 0.2
FOLDS = 5
PAGE = 10


@frozen
class Item:
    """The files among the candidates of a question: a row of numbers each, what the other rules add, the judgements."""

    group: str
    numbers: Floats
    fixed: Floats
    is_judged: Floats  # a row for each file, a column for each target

    def ndcg(self, weights: Floats) -> float:
        order = (-(self.numbers @ weights + self.fixed)).argsort(kind="stable")[:PAGE]
        targets = self.is_judged.shape[1]
        first = self.is_judged[order].argmax(axis=0)[self.is_judged[order].any(axis=0)]
        ideal = (1 / np.log2(np.arange(min(PAGE, targets)) + 2)).sum()
        return float((1 / np.log2(np.unique(first) + 2)).sum() / ideal)


@click.command()
@click.argument("sets", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--prior", default=1.0, help="How near the weights stay to those of the table.")
@click.option("--seed", default=0)
def command(sets: tuple[Path, ...], prior: float, seed: int) -> None:
    """Print what held-out repositories gain, and the weights fitted on all."""
    every: list[list[Item]] = [collect(*pair) for pair in zip(sets[::2], sets[1::2], strict=True)]
    for number, own in enumerate(every):
        others = [item for index, items in enumerate(every) if index != number for item in items]
        gains = held_out(own, others, prior, seed)
        error = gains.std() / np.sqrt(len(gains))
        table = np.mean(list(by_group(own, CURRENT).values()))
        click.echo(
            f"{sets[2 * number].name}: NDCG@10 {table:.4f}, held out {gains.mean():+.4f} (standard error {error:.4f}),"
            f" {(gains > 0).sum()} of {len(gains)} repositories up, {(gains < 0).sum()} down"
        )
    weights = fit([item for items in every for item in items], prior)
    for rule, weight in zip(LEARNT, weights[1:] / weights[0], strict=True):
        click.echo(f"{rule.name:14} {rule.weight:6.2f} → {weight:6.2f}")


def collect(questions: Path, checkouts: Path) -> list[Item]:
    items: list[Item] = []
    settings = from_environment()
    for repository, part in by_repository(read(questions, checkouts)).items():
        source = open_folder(str(repository.root), ReadOptions(), repo=repository.name)
        with closing(sources_searcher(f"repository-{repository.name}".lower(), [source], settings)) as searcher:
            asked = (item_of(searcher, repository, question) for question in part.rows)
            items += [item for item in asked if item is not None]
        click.echo(f"{repository.name}: {len(part.rows)} questions", err=True)
    return items


def item_of(searcher: LiveSearcher, repository: Repository, question: Question) -> Item | None:
    """The files that the re-ranker sees for this question; None if it has nothing to order."""
    seen: list[tuple[Columns, Sequence[Gain]]] = []
    gains_of = TreeRanking.gains

    def gains(ranking: TreeRanking, columns: Columns) -> list[Gain]:
        seen.append((columns, gains_of(ranking, columns)))
        return list(seen[-1][1])

    with patch.object(TreeRanking, "gains", gains):
        searcher.search(Query(question.text, k=PAGE, explain=False, feedback=False))
    if not seen or not seen[-1][0].has_files:
        return None
    columns, rows = seen[-1]
    best = columns.order[np.unique(columns.files[columns.order], return_index=True)[1]]  # of each file
    added = {rule.name: values[best] for rule, values in rows}
    nothing = np.zeros(len(best))
    numbers = [columns.fused[best], *(added.get(rule.name, nothing) / rule.weight for rule in LEARNT)]
    fixed = [values for name, values in added.items() if name not in {rule.name for rule in LEARNT}]
    entries = [address for _, address in columns.head.hits.table.entries(columns.head.hits.rows)]
    judged = np.zeros((len(best), len(question.targets)))
    for file, address in zip(columns.files.tolist(), entries, strict=True):
        path = repository.full_path(address.path)
        judged[file] = np.maximum(judged[file], [target.matches(path, address) for target in question.targets])
    return Item(repository.name, np.stack(numbers, axis=1), np.sum([nothing, *fixed], axis=0), judged)


def fit(items: Sequence[Item], prior: float) -> Floats:
    """The weights with the least cross-entropy between the judged files and the softmax of the sums."""
    items = [item for item in items if item.is_judged.any()]
    lengths = np.array([len(item.numbers) for item in items])
    starts = np.cumsum(lengths) - lengths
    numbers = np.concatenate([item.numbers for item in items])
    fixed = np.concatenate([item.fixed for item in items])
    judged = np.concatenate([item.is_judged.any(axis=1) / item.is_judged.any(axis=1).sum() for item in items])

    def loss(weights: Floats) -> tuple[float, Floats]:
        sums = (numbers @ weights + fixed) / TEMPERATURE
        powers = np.exp(sums - np.repeat(np.maximum.reduceat(sums, starts), lengths))
        chances = powers / np.repeat(np.add.reduceat(powers, starts), lengths)
        away = weights - CURRENT
        entropy = -(judged * np.log(chances + 1e-12)).sum() / len(items)
        slope = numbers.T @ (chances - judged) / TEMPERATURE / len(items)
        return float(entropy + prior * away @ away), slope + 2 * prior * away

    result: Floats = minimize(loss, CURRENT, jac=True, method="L-BFGS-B").x
    return result


def held_out(own: Sequence[Item], others: Sequence[Item], prior: float, seed: int) -> Floats:
    """What each repository gains by weights that were fitted without it."""
    groups = sorted({item.group for item in own})
    order = np.random.default_rng(seed).permutation(len(groups))
    gains = []
    for fold in range(FOLDS):
        out = {groups[number] for number in order[fold::FOLDS]}
        weights = fit([*others, *(item for item in own if item.group not in out)], prior)
        part = [item for item in own if item.group in out]
        before, after = by_group(part, CURRENT), by_group(part, weights)
        gains += [after[group] - before[group] for group in before]
    return np.array(gains)


def by_group(items: Sequence[Item], weights: Floats) -> dict[str, float]:
    values: dict[str, list[float]] = defaultdict(list)
    for item in items:
        values[item.group].append(item.ndcg(weights))
    return {group: float(np.mean(own)) for group, own in values.items()}


if __name__ == "__main__":
    command()
