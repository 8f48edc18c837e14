"""Weights of the learnt ranker from graded lists: listwise softmax regression, then how far to spread the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from treeline.eval.metrics import discounted
from treeline.graph.hyperbolic import Floats
from treeline.rerank.candidate import Candidate
from treeline.rerank.features import NAMES
from treeline.rerank.learnt import Weights, blend
from treeline.rerank.spread import spread_out

RIDGE = 0.002  # keeps columns that say the same from growing against each other
COSTS = (0.0, 0.05, 0.1, 0.15, 0.2)
# Docstrings share more words with their code than people's questions do, so they teach too much trust in keywords.
# 1.5 was best of 1, 1.5, 2 and 3 over five sets of other questions (docs/ranking.md).
DENSE_EMPHASIS = 1.5

Row = tuple[float, float, float]  # of the sweep: cost, NDCG@10, distinct repositories@10


@dataclass(frozen=True, slots=True)
class Example:
    """One question's candidates as the ranker sees them, with their gains (2^grade − 1)."""

    candidates: Sequence[Candidate]
    table: Floats
    gains: Floats


def fit(examples: Sequence[Example], columns: Sequence[str] = NAMES) -> dict[str, float]:
    """The weights under which each list's gains are most likely (ListNet's loss with the gains as the target)."""
    useful = [example for example in examples if example.gains.any()]
    chosen = [NAMES.index(name) for name in columns]
    depth = max(len(example.gains) for example in useful)
    tables = np.zeros((len(useful), depth, len(chosen)))
    target = np.zeros((len(useful), depth))
    absent = np.full((len(useful), depth), -1e9)
    for row, example in enumerate(useful):
        count = len(example.gains)
        tables[row, :count] = example.table[:, chosen]
        target[row, :count] = example.gains / example.gains.sum()
        absent[row, :count] = 0.0

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = tables @ weights + absent
        scores -= scores.max(axis=1, keepdims=True)
        likely = np.exp(scores)
        total = likely.sum(axis=1, keepdims=True)
        missed = -(target * np.maximum(scores - np.log(total), -1e3)).sum() / len(useful)
        slope = np.einsum("ij,ijk->k", likely / total - target, tables) / len(useful)
        return missed + RIDGE * float(weights @ weights), slope + 2 * RIDGE * weights

    found = minimize(loss, np.zeros(len(chosen)), jac=True, method="L-BFGS-B")
    return {
        name: round(float(weight) * (DENSE_EMPHASIS if name.startswith("dense") else 1.0), 4)
        for name, weight in zip(columns, found.x, strict=True)
    }


def ndcg(example: Example, order: Sequence[int], depth: int = 10) -> float:
    """NDCG of the first `depth`, against the best order of the same candidates."""
    gains = example.gains.tolist()
    ideal = discounted(sorted(gains, reverse=True)[:depth])
    return discounted(gains[place] for place in order[:depth]) / ideal if ideal > 0 else 0.0


def sweep(examples: Sequence[Example], columns: dict[str, float], share: float) -> list[Row]:
    """What each cost of a shared repository does to held-out questions."""
    useful = [example for example in examples if example.gains.any()]
    weights = Weights(columns, share, 0.0)
    rows: list[Row] = []
    for cost in COSTS:
        orders = []
        for example in useful:
            fused = np.array([candidate.score for candidate in example.candidates])
            orders.append(spread_out(blend(fused, example.table, weights), example.candidates, cost)[0].tolist())
        rows.append(_row(cost, useful, orders))
    return rows


def before(examples: Sequence[Example]) -> Row:
    """The same figures for the lists as fusion made them."""
    useful = [example for example in examples if example.gains.any()]
    return _row(0.0, useful, [range(len(example.gains)) for example in useful])


def _row(cost: float, examples: Sequence[Example], orders: Sequence[Sequence[int]]) -> Row:
    quality = [ndcg(example, order) for example, order in zip(examples, orders, strict=True)]
    variety = [
        len({example.candidates[i].address.repo for i in order[:10]})
        for example, order in zip(examples, orders, strict=True)
    ]
    return cost, float(np.mean(quality)), float(np.mean(variety))
