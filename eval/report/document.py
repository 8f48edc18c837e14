"""Turns an evaluation into a document: the plain data behind every report and result file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from treeline.corpus.function import Address
from treeline.eval.dataset import Case, DataSet, Evaluation, SystemScores
from treeline.eval.metrics import compare, macro_mean, mean_of, percentile, worst

FORMAT = 1
WORST = 10
DIGITS = 5
# Columns of the paper's table with their headings: its own figure, then ours.
PAPER_HEAD = {
    "label": "row",
    "paper": "paper",
    "ndcg_all": "NDCG all",
    "ndcg_within": "within",
    "ndcg_all_covered": "all, covered",
    "ndcg_within_covered": "within, covered",
    "repositories_10": "repositories@10",
}
MACRO = "macro-average"

Document = dict[str, Any]


def summarise(evaluation: Evaluation, baseline: str, focus: str = "") -> Document:
    """Means with intervals, comparisons with `baseline`, and the worst queries of `focus` (else the last system)."""
    dataset = evaluation.dataset
    names = [scores.system for scores in evaluation.systems]
    focus = focus if focus in names else names[-1]
    against = evaluation.system(baseline) if baseline in names else None
    return {
        "format": FORMAT,
        "dataset": dataset.name,
        "about": dataset.about,
        "headline": dataset.headline,
        "metrics": [asdict(metric) for metric in dataset.metrics],
        "queries": len(dataset.cases),
        "facts": dict(dataset.facts),
        "notes": list(dataset.notes),
        "baseline": baseline if against else "",
        "focus": focus,
        "systems": [_system(dataset, scores, against) for scores in evaluation.systems],
        "worst": _worst(dataset, evaluation.system(focus)),
        "texts": {case.id: case.text for case in dataset.cases},
    }


def _system(dataset: DataSet, scores: SystemScores, against: SystemScores | None) -> Document:
    summary: Document = {
        "name": scores.system,
        "about": scores.about,
        "means": {},
        "latency": _times(list(scores.milliseconds.values())),
        "stages": {stage: _times(list(times)) for stage, times in scores.stages.items()},
        "groups": _groups(dataset.cases, scores),
        "against_baseline": {},
        "values": {metric: _round(dict(values)) for metric, values in scores.values.items()},
    }
    if breakdowns := _breakdowns(dataset, scores):
        summary["breakdowns"] = breakdowns
    if dataset.macro:
        summary["macro"] = _macro(dataset, scores)
    for metric in dataset.metrics:
        values = scores.values[metric.name]
        mean = mean_of(list(values.values()))
        if mean is not None:
            summary["means"][metric.name] = _round(asdict(mean))
        if against is not None and against is not scores:
            comparison = compare(values, against.values[metric.name])
            if comparison is not None:
                summary["against_baseline"][metric.name] = _round(asdict(comparison))
    return summary


def _groups(cases: Sequence[Case], scores: SystemScores) -> Document:
    """Means per group, and the macro-average over groups, when there is more than one."""
    table: Document = {}
    if len({case.group for case in cases}) < 2:
        return table
    for metric, by_group in _by_group(cases, scores).items():
        row = {group: round(sum(numbers) / len(numbers), DIGITS) for group, numbers in by_group.items()}
        table[metric] = {**row, MACRO: round(macro_mean(by_group), DIGITS)}
    return table


def _breakdowns(dataset: DataSet, scores: SystemScores) -> Document:
    """The headline's mean over queries for each value of each tag."""
    values = scores.values[dataset.headline]
    members: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for case in dataset.cases:
        for tag, value in case.tags.items():
            if value and case.id in values:
                members[tag][value].append(values[case.id])
    return {
        tag: {
            value: _round({"mean": float(np.mean(numbers)), "queries": len(numbers)})
            for value, numbers in groups.items()
        }
        for tag, groups in members.items()
    }


def _macro(dataset: DataSet, scores: SystemScores) -> Document:
    """The mean over groups of each metric; its interval resamples the groups."""
    table: Document = {}
    for metric, by_group in _by_group(dataset.cases, scores).items():
        mean = mean_of([float(np.mean(numbers)) for numbers in by_group.values()])
        if mean is not None:
            table[metric] = _round({"mean": mean.mean, "low": mean.low, "high": mean.high, "groups": mean.queries})
    return table


def _by_group(cases: Sequence[Case], scores: SystemScores) -> dict[str, dict[str, list[float]]]:
    """Metric → group → the values of its queries, without empty groups."""
    table: dict[str, dict[str, list[float]]] = {}
    for metric, values in scores.values.items():
        for case in cases:
            if case.id in values:
                table.setdefault(metric, {}).setdefault(case.group, []).append(values[case.id])
    return table


def _worst(dataset: DataSet, scores: SystemScores) -> list[Document]:
    values = scores.values[dataset.headline]
    cases = {case.id: case for case in dataset.cases}
    return [
        {
            "system": scores.system,
            "id": query,
            "query": cases[query].text,
            "value": round(values[query], DIGITS),
            "expected": sorted(cases[query].relevant)[:3],
            "returned": [_location(address) for address in scores.first[query]],
        }
        for query in worst(values, WORST)
    ]


def _location(address: Address) -> Document:
    return {"name": address.func_name, "repo": address.repo, "path": address.path, "url": address.url}


def _times(milliseconds: Sequence[float]) -> Document:
    if not milliseconds:
        return {}
    return {"p50": round(percentile(milliseconds, 0.5), 3), "p95": round(percentile(milliseconds, 0.95), 3)}


def _round(values: Mapping[str, Any]) -> Document:
    return {key: round(value, DIGITS) if isinstance(value, float) else value for key, value in values.items()}
