"""The evaluation in figures for the pages: the headline, the charts' data, the per-query table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treeline.search.settings import Settings
from treeline.service.evaluation.files import Evaluation, Metric, ResultFile, System, result_files

HEADLINE_DATASET = "codesearchnet"
DATASETS = {HEADLINE_DATASET: "CodeSearchNet"}  # as they write themselves


@dataclass(frozen=True, slots=True)
class Figure:
    """One number for the front page, with what it is of."""

    value: str
    label: str
    about: str


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One question of the per-query table: its words when they are known, each system's value, focus minus baseline."""

    id: str
    text: str
    values: tuple[float | None, ...]
    difference: float | None


def headline(settings: Settings) -> list[Figure]:
    """Quality of the default against the keyword baseline, from the newest run on the 99 queries; else nothing."""
    runs, _ = result_files(settings)
    run = next((run for run in runs if run.evaluation.dataset == HEADLINE_DATASET), None)
    return figures(run.evaluation) if run else []


def figures(run: Evaluation) -> list[Figure]:
    focus, baseline = run.system(run.focus), run.system(run.baseline)
    if focus is None or run.headline not in focus.means:
        return []
    label = label_of(run, run.headline)
    mean = focus.means[run.headline]
    interval = (
        f"; 95 % interval {mean.low:.3f}–{mean.high:.3f}" if mean.low is not None and mean.high is not None else ""
    )
    against = ""
    measured = measured_on(run)
    if baseline is not None and baseline is not focus and run.headline in baseline.means:
        against = f"; {baseline.name} alone {baseline.means[run.headline].mean:.3f}"
    found = [Figure(f"{mean.mean:.3f}", label, f"{measured}{interval}{against}")]
    if "p50" in focus.latency:
        found.append(
            Figure(f"{focus.latency['p50']:.1f} ms", "median search", f"{measured}; 95th percentile {p95(focus)}")
        )
    return found


def measured_on(run: Evaluation) -> str:
    """What the figures are of, seldom the index that is open: `on CodeSearchNet, 182,431 functions, …`."""
    functions, _, _ = str(run.facts.get("index", "")).partition(" functions")
    size = f"{functions} functions, " if functions else ""
    return f"on {DATASETS.get(run.dataset, run.dataset)}, {size}{run.queries} queries"


def label_of(run: Evaluation, metric: str) -> str:
    return next((one.label for one in run.metrics if one.name == metric), metric)


def p95(system: System) -> str:
    return f"{system.latency['p95']:.1f}\u00a0ms" if "p95" in system.latency else "not measured"


def chart_data(run: Evaluation) -> dict[str, Any]:
    """What the dashboard draws: bars with intervals, the radar, quality against latency."""
    shares = [metric for metric in run.metrics if metric.share]
    return {
        "headline": run.headline,
        "headline_label": label_of(run, run.headline),
        "focus": run.focus,
        "metrics": [{"name": metric.name, "label": metric.label} for metric in shares],
        "systems": [
            {
                "name": system.name,
                "means": {name: mean.model_dump() for name, mean in system.means.items()},
                "latency": system.latency,
            }
            for system in run.systems
        ],
    }


def query_rows(run: Evaluation, metric: str, texts: Mapping[str, str]) -> tuple[list[str], list[QueryRow]]:
    """The systems that have values of this metric, and a row per question, largest differences first."""
    systems = [system for system in run.systems if system.values.get(metric)]
    names = [system.name for system in systems]
    cases = list(dict.fromkeys(case for system in systems for case in system.values[metric]))
    rows = []
    for case in cases:
        values = tuple(system.values[metric].get(case) for system in systems)
        by_name = dict(zip(names, values, strict=True))
        ours, theirs = by_name.get(run.focus), by_name.get(run.baseline)
        difference = ours - theirs if ours is not None and theirs is not None else None
        rows.append(QueryRow(case, texts.get(case, ""), values, difference))
    rows.sort(key=lambda row: -abs(row.difference or 0.0))
    return names, rows


def metrics_by_query(run: Evaluation) -> list[Metric]:
    """The metrics whose single values were kept."""
    return [metric for metric in run.metrics if any(system.values.get(metric.name) for system in run.systems)]


def chosen(runs: list[ResultFile], name: str) -> ResultFile | None:
    """The run of that name, or the one that the dashboard opens with."""
    by_name = {run.name: run for run in runs}
    if name in by_name:
        return by_name[name]
    return next((run for run in runs if run.evaluation.dataset == HEADLINE_DATASET), runs[0] if runs else None)
