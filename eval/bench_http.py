"""The service under load: 1, 8 and 64 clients, answers computed and kept; and a soak that watches memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treeline.eval.codesearchnet import BESIDE, QUERIES, read_queries
from treeline.eval.load import drive, paths
from treeline.eval.served import MemoryWatch, memory, processor_seconds, served

CLIENTS = (1, 8, 64)
SECONDS = 15.0
WARM_UP = 3.0
# What the figures under it were measured on.
COMPUTED = "every answer computed, none kept:"
KEPT = "as served by default, the last answers kept:"  # here all of them, after the warm-up
GIVEN = "the server at this address, as it is set up:"
# When CodeSearchNet's own 99 are not at hand: names, concepts, a typo, one word, a sentence.
QUESTIONS = (
    "convert int to string", "retry with exponential backoff", "sort list of dictionaries by key", "parse json",
    "read csv file line by line", "sha256 of a file", "http get with timeout", "camel case to snake case",
    "flatten nested list", "memoize", "thread pool", "walk directory tree", "levenshtein distance", "parse url",
    "deep merge two dicts", "format bytes human readable", "read_csv", "json.loads", "get_or_create",
    "topological sort", "connect to database", "decorator that measures time", "unzip archive", "validate email adress",
    "random string", "priority queue", "binary search", "group by", "strip html tags", "how to copy a file in python",
)  # fmt: skip


def questions(file: Path | None = None) -> list[str]:
    """CodeSearchNet's queries where they are at hand, else our own."""
    file = file or BESIDE / QUERIES
    return read_queries(file) if file.exists() else list(QUESTIONS)


def run(
    index: str = "",
    *,
    engine: str = "",
    url: str = "",
    clients: Sequence[int] = CLIENTS,
    seconds: float | None = None,
    minutes: float = 0.0,
    tool: str = "",
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Figures of each step, and of the soak when `minutes` are given; `url` measures a server that already runs."""
    wanted, seconds = paths(questions()), SECONDS if seconds is None else seconds
    with nullcontext((url, 0)) if url else served(index, engine) as (base, process):
        drive(base, wanted, 2, WARM_UP, tool=tool)
        begin = memory(process) if process else 0.0
        tell(GIVEN if url else COMPUTED)
        steps = stepped(base, process, wanted, clients, seconds, tool, tell)
        found: dict[str, Any] = {"steps": steps, "questions": len(wanted)}
        if process:
            found["memory_mb"] = {"idle": begin, "after": memory(process)}
        if minutes:
            found["soak"] = soak(base, process, wanted, minutes, tool, tell)
    if not url:
        with served(index, engine, kept_answers=True) as (base, process):
            drive(base, wanted, 2, WARM_UP, tool=tool)
            tell(KEPT)
            found["kept_steps"] = stepped(base, process, wanted, clients, seconds, tool, tell)
    return found


def stepped(
    base: str,
    process: int,
    wanted: Sequence[str],
    clients: Sequence[int],
    seconds: float,
    tool: str,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """A line for each number of clients: what they saw, and the processor time of a request where it can be seen."""
    steps = []
    tell(f"{'clients':>8} {'requests/s':>11} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'CPU ms':>8} {'errors':>7}")
    for number in clients:
        spent = processor_seconds(process) if process else 0.0
        load = drive(base, wanted, number, seconds, tool=tool)
        spent = (processor_seconds(process) - spent) * 1000 / max(1, load.requests) if process else 0.0
        steps.append({**asdict(load), "throughput": load.throughput, "cpu_ms": spent})
        took = f"{load.p50:>8.1f} {load.p95:>8.1f} {load.p99:>8.1f} {spent:>8.2f}"
        tell(f"{number:>8} {load.throughput:>11.0f} {took} {load.errors:>7}")
    return steps


def soak(
    base: str, process: int, wanted: Sequence[str], minutes: float, tool: str, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Eight clients for a long time: no errors, and memory that does not grow."""
    with MemoryWatch(process) as watch:
        load = drive(base, wanted, 8, minutes * 60, tool=tool)
    growth = watch.growth_a_minute()
    tell(
        f"soak of {minutes:g} min: {load.requests} requests, {load.errors} errors, p95 {load.p95:.1f} ms, "
        f"memory peak {watch.peak:.0f} MB, growth {growth:+.2f} MB/min"
    )
    memory_figures = {"peak": watch.peak, "growth_a_minute": growth, "seen": watch.seen}
    return {**asdict(load), "throughput": load.throughput, "minutes": minutes, "memory_mb": memory_figures}
