"""The evaluation's results, read as the files that `treeline eval` wrote; nothing of the evaluation is imported."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

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
    """A system against the baseline: paired bootstrap, and wins and losses by query."""

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


class Found(BaseModel):
    name: str
    repo: str
    path: str
    url: str = ""


class Worst(BaseModel):
    """A question that went badly, and what came back."""

    system: str = ""
    id: str = ""
    query: str = ""
    value: float
    expected: list[str] = []
    returned: list[Found] = []


class Evaluation(BaseModel):
    """One run of the evaluation, as much of its file as the pages show."""

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


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file and what is in it."""

    name: str
    modified: float
    evaluation: Evaluation


def folder(settings: Settings) -> Path:
    return Path(settings.eval_results).expanduser() if settings.eval_results else PROJECT / "eval" / "results"


def result_files(settings: Settings) -> tuple[list[ResultFile], list[str]]:
    """The files that can be read, newest first, and the names of those that cannot."""
    found: list[ResultFile] = []
    unreadable: list[str] = []
    for path in folder(settings).glob("*.json"):
        try:
            state = path.stat()
            found.append(ResultFile(path.stem, state.st_mtime, _read(path, state.st_mtime_ns, state.st_size)))
        except (OSError, ValueError):
            unreadable.append(path.name)
    # By the time that the run itself wrote down: a fresh checkout gives all files one age.
    found.sort(key=lambda file: (file.evaluation.made, file.modified, file.name), reverse=True)
    return found[:MOST_FILES], sorted(unreadable)


@lru_cache(MOST_FILES)
def _read(path: Path, modified: int, size: int) -> Evaluation:
    if size > MOST_BYTES:
        raise ValueError(f"{path} is larger than {MOST_BYTES} bytes")
    try:
        return Evaluation.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(f"{path} is not a result file: {error}") from error
