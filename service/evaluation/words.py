"""The words of the evaluation's questions: kept with the result where they are ours, else from CodeSearchNet's file."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from treeline.search.settings import Settings
from treeline.service.evaluation.files import Evaluation

FILE = "queries.csv"
OFFICIAL = "codesearchnet"
NUMBER = re.compile(r"#(\d+)$")


def words(run: Evaluation, settings: Settings) -> Mapping[str, str]:
    """Question id → text, of those that are known; OSError or ValueError when the official file cannot be read."""
    if run.texts or not run.dataset.startswith(OFFICIAL) or not settings.eval_data:
        return run.texts
    official = read(Path(settings.eval_data).expanduser() / FILE)
    asked = {case for system in run.systems for values in system.values.values() for case in values}
    numbers = {case: int(found[1]) for case in asked if (found := NUMBER.search(case))}
    return {case: official[number - 1] for case, number in numbers.items() if 0 < number <= len(official)}


def read(path: Path) -> list[str]:
    """The questions of `queries.csv` in its order, each once, as the evaluation numbers them."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if "query" not in (reader.fieldnames or ()):
            raise ValueError(f"{path} has no column 'query'")
        return list(dict.fromkeys(text for row in reader if (text := (row["query"] or "").strip())))
