"""The parts of every evaluation: questions with known answers, systems that rank, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import orjson

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.engine.protocol import NO_FILTERS, Filters

# Results of each query kept in a report, to see why a query did badly.
RESULTS_IN_REPORT = 5


@dataclass(frozen=True, slots=True)
class Case:
    """One question, the relevance of each answer, and the filters of the search."""

    id: str  # a number or a commit, never the question's words, because kept result files use it
    text: str
    relevance: Mapping[str, float]
    filters: Filters = NO_FILTERS
    group: str = ""  # a language, a repository: means are also given per group
    tags: Mapping[str, str] = field(default_factory=dict)  # other ways to group: tag name → value

    @property
    def relevant(self) -> frozenset[str]:
        return frozenset(key for key, value in self.relevance.items() if value > 0)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A system's answer to one question, and its time in total and by stage."""

    hits: Sequence[Hit]
    milliseconds: float | None = None
    stages: Mapping[str, float] = field(default_factory=dict)


Answer = Callable[[Case, int], Ranking]


@dataclass(frozen=True, slots=True)
class System:
    """Anything that ranks: a mode, a fusion, a re-ranker, or a file of predictions."""

    name: str
    about: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's key and label; `share` if it lies between 0 and 1, `detail` if only files have it."""

    name: str
    label: str
    share: bool = True
    detail: bool = False


@dataclass(frozen=True, slots=True)
class DataSet:
    """Questions and how to score an answer; a metric that is None for a question is left out of the mean."""

    name: str
    about: str
    cases: Sequence[Case]
    metrics: Sequence[Metric]
    headline: str
    measure: Callable[[Case, Sequence[Hit]], Mapping[str, float | None]]
    depth: int
    facts: Mapping[str, str | float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    macro: bool = False  # whether the mean that counts is the one over groups


@dataclass(frozen=True, slots=True)
class SystemScores:
    """One system's scores (metric → case id → value), times, and first results."""

    system: str
    about: str
    values: Mapping[str, Mapping[str, float]]
    milliseconds: Mapping[str, float]
    stages: Mapping[str, Sequence[float]]
    first: Mapping[str, Sequence[Address]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A data set and the scores of every system."""

    dataset: DataSet
    systems: Sequence[SystemScores]

    def system(self, name: str) -> SystemScores:
        return next(scores for scores in self.systems if scores.system == name)


def evaluate(
    dataset: DataSet, systems: Sequence[System], progress: Callable[[str], None] = lambda _: None
) -> Evaluation:
    """Ask every system every question; calls `progress` with the system's name after each."""
    return Evaluation(dataset, tuple(_measure(dataset, system, progress) for system in systems))


def _measure(dataset: DataSet, system: System, progress: Callable[[str], None]) -> SystemScores:
    values: dict[str, dict[str, float]] = {metric.name: {} for metric in dataset.metrics}
    milliseconds: dict[str, float] = {}
    stages: dict[str, list[float]] = {}
    first: dict[str, list[Address]] = {}
    for case in dataset.cases:
        ranking = system.answer(case, dataset.depth)
        for name, value in dataset.measure(case, ranking.hits).items():
            if value is not None:
                values[name][case.id] = value
        if ranking.milliseconds is not None:
            milliseconds[case.id] = ranking.milliseconds
        for stage, duration in ranking.stages.items():
            stages.setdefault(stage, []).append(duration)
        first[case.id] = [hit.address for hit in ranking.hits[:RESULTS_IN_REPORT]]
        progress(system.name)
    return SystemScores(system.name, system.about, values, milliseconds, stages, first)


def join(evaluations: Sequence[Evaluation], whole: DataSet | None = None) -> Evaluation:
    """Several evaluations of the same systems as one, over `whole`."""
    if whole is None:
        every = [case for evaluation in evaluations for case in evaluation.dataset.cases]
        first = evaluations[0].dataset
        sums = ("cases", "repositories", "cases without an indexed answer at this level")
        facts = dict(first.facts) | {name: sum(float(e.dataset.facts[name]) for e in evaluations) for name in sums}
        whole = replace(first, cases=every, facts=facts)
    systems = []
    for scores in evaluations[0].systems:
        parts = [evaluation.system(scores.system) for evaluation in evaluations]
        systems.append(
            SystemScores(
                scores.system,
                scores.about,
                {name: {k: v for part in parts for k, v in part.values[name].items()} for name in scores.values},
                {k: v for part in parts for k, v in part.milliseconds.items()},
                {stage: [ms for part in parts for ms in part.stages.get(stage, ())] for stage in scores.stages},
                {k: v for part in parts for k, v in part.first.items()},
            )
        )
    return Evaluation(whole, systems)


Row = TypeVar("Row")


def read_jsonl(path: Path, make: Callable[[Any], Row], one: str, several: str) -> list[Row]:
    """One object per line, each passed to `make`; `one` and `several` name them in error messages."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(make(orjson.loads(line)))
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: not {one} ({error})") from None
    if not rows:
        raise InputError(f"{path} has no {several}")
    return rows
