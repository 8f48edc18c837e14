"""Results of `treeline eval`, read from its files: figures, charts and per-query rows for API and pages."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from treeline.corpus.frozen import frozen
from treeline.search.settings import Settings

PROJECT = Path(__file__).resolve().parents[2]
MOST_FILES = 50
MOST_BYTES = 20_000_000


class Metric(BaseModel):
    name: str
    label: str
    share: bool = Field(True, description="A figure between 0 and 1.")


class Mean(BaseModel):
    """A mean with its confidence interval."""

    mean: float
    low: float | None = None
    high: float | None = None


class Difference(BaseModel):
    """A system compared with the baseline: paired bootstrap, wins and losses by query."""

    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    wins: int = 0
    losses: int = 0
    ties: int = 0


class System(BaseModel):
    name: str
    about: str = ""
    means: dict[str, Mean]
    latency: dict[str, float] = {}
    against_baseline: dict[str, Difference] = {}
    values: dict[str, dict[str, float | None]] = {}


class ReturnedUnit(BaseModel):
    name: str
    repo: str
    path: str
    url: str = ""


class Worst(BaseModel):
    """A question with a low score, and its results."""

    system: str = ""
    id: str = ""
    query: str = ""
    value: float
    expected: list[str] = []
    returned: list[ReturnedUnit] = []


class Evaluation(BaseModel):
    """One evaluation run, with the fields that the pages show."""

    dataset: str
    about: str = ""
    headline: str
    commit: str = ""
    changed: bool = False
    made: str = ""
    queries: int
    metrics: list[Metric]
    facts: dict[str, Any] = {}
    notes: list[str] = []
    baseline: str = ""
    focus: str = ""
    systems: list[System]
    worst: list[Worst] = []
    texts: dict[str, str] = {}

    def system(self, name: str) -> System | None:
        return next((system for system in self.systems if system.name == name), None)


@frozen
class ResultFile:
    """A result file and its content."""

    name: str
    modified: float
    evaluation: Evaluation


def folder(settings: Settings) -> Path:
    return Path(settings.eval_results).expanduser() if settings.eval_results else PROJECT / "eval" / "results"


def has_results(settings: Settings) -> bool:
    return any(folder(settings).glob("*.json"))


def result_files(settings: Settings) -> tuple[list[ResultFile], list[str]]:
    """The readable files, newest first, and the names of the unreadable ones."""
    files: list[ResultFile] = []
    unreadable: list[str] = []
    for path in folder(settings).glob("*.json"):
        try:
            state = path.stat()
            files.append(ResultFile(path.stem, state.st_mtime, _read(path, state.st_mtime_ns, state.st_size)))
        except (OSError, ValueError):
            unreadable.append(path.name)
    # By the time in the file: a fresh checkout gives all files the same modification time.
    files.sort(key=lambda file: (file.evaluation.made, file.modified, file.name), reverse=True)
    return files[:MOST_FILES], sorted(unreadable)


@lru_cache(MOST_FILES)
def _read(path: Path, mtime_ns: int, size: int) -> Evaluation:
    if size > MOST_BYTES:
        raise ValueError(f"{path} is larger than {MOST_BYTES} bytes")
    try:
        return Evaluation.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(f"{path} is not a result file: {error}") from error


HEADLINE_DATASET = "codesearchnet"


@frozen
class QueryRow:
    """One row of the per-query table: the text if known, each system's value, focus minus baseline."""

    id: str
    text: str
    values: tuple[float | None, ...]
    difference: float | None


def label_of(run: Evaluation, metric: str) -> str:
    return next((one.label for one in run.metrics if one.name == metric), metric)


def chart_data(run: Evaluation) -> dict[str, Any]:
    """The data of the dashboard's charts: bars with intervals, the radar, quality against latency."""
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
    """The systems with values for this metric, and one row per question, largest differences first."""
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
    """The metrics that have per-query values."""
    return [metric for metric in run.metrics if any(system.values.get(metric.name) for system in run.systems)]


def select_run(runs: list[ResultFile], name: str) -> ResultFile | None:
    """The run of that name, or the dashboard's default."""
    by_name = {run.name: run for run in runs}
    if name in by_name:
        return by_name[name]
    return next((run for run in runs if run.evaluation.dataset == HEADLINE_DATASET), runs[0] if runs else None)


QUERIES_FILE = "queries.csv"
OFFICIAL = "codesearchnet"
NUMBER = re.compile(r"#(\d+)$")


def query_texts(run: Evaluation, settings: Settings) -> Mapping[str, str]:
    """Question id → text, where known; raises OSError or ValueError if the official file cannot be read."""
    if run.texts or not run.dataset.startswith(OFFICIAL):
        return run.texts
    file = queries_file(settings)
    if file is None:
        return run.texts
    official = read_queries(file)
    cases = {case for system in run.systems for values in system.values.values() for case in values}
    numbers = {case: int(match[1]) for case in cases if (match := NUMBER.search(case))}
    return {case: official[number - 1] for case, number in numbers.items() if 0 < number <= len(official)}


def queries_file(settings: Settings) -> Path | None:
    """The official questions: where the settings say, or where `treeline download queries` puts them."""
    if settings.eval_data:
        return Path(settings.eval_data).expanduser() / QUERIES_FILE
    folders = (Path(settings.codesearchnet).expanduser(), settings.cache_path / OFFICIAL)
    return next((folder / QUERIES_FILE for folder in folders if (folder / QUERIES_FILE).is_file()), None)


def read_queries(path: Path) -> list[str]:
    """The distinct questions of `queries.csv` in order, numbered as in the evaluation."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if "query" not in (reader.fieldnames or ()):
            raise ValueError(f"{path} has no column 'query'")
        return list(dict.fromkeys(text for row in reader if (text := (row["query"] or "").strip())))
