"""What a load did, with every record accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from treeline.engine.durable import disk_errors
from treeline.ingest.source import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """`read` = indexed + updated + unchanged + duplicate + rejected; `total` is what the index now holds."""

    index: str
    engine: str
    generation: str
    sources: tuple[str, ...]
    encoders: tuple[str, ...]
    published: bool
    """False when nothing had changed, so that the generation before stays."""
    resumed: bool
    units: Mapping[str, int]
    """How many files or shards were read, unchanged and removed."""
    read: int
    indexed: int
    updated: int
    """Text as before, but at another place or commit: written again with the vector it had."""
    unchanged: int
    duplicate: int
    rejected: int
    reasons: Mapping[str, int]
    removed: int
    total: int
    rejects_file: str = ""
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """Files and folders that are not read on purpose (tests, vendored, ignored …), by reason."""
    empty: tuple[str, ...] = ()
    """Sources of this load in which no function was found."""
    gone: tuple[str, ...] = ()
    """Sources of the index, not of this load, that are no longer where they were; their functions stay."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """By stage; parse, analyse and encode are summed over worker processes."""
    peak_memory_mb: int = 0
    """Of all processes, each at its own highest."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def reasons(problems: Iterable[Problem]) -> dict[str, int]:
    """How often each kind of reason came; what follows a colon is the detail of one case."""
    counted = Counter(problem.reason.partition(":")[0] for problem in problems)
    return dict(counted.most_common())


def write_rejects(path: Path, problems: Iterable[Problem]) -> None:
    """One JSON object a line: file, line, reason."""
    with disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with disk_errors(path.parent), path.open("wb") as file:
        for problem in problems:
            row = {"file": problem.file, "line": problem.line, "reason": problem.reason}
            file.write(orjson.dumps(row) + b"\n")
