"""`python -m benchmarks.releases [REVISION]`: the last release and this checkout side by side, in processor time.

Both index the same source into a folder of their own, then answer the same questions in turn, so the machine's moods
meet both. A ratio above 1 means that the checkout is slower; above `--limit` the command ends with 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click
import orjson

from benchmarks.figures import JSON, Report
from benchmarks.http import questions
from benchmarks.repository import spend
from treeline.corpus.errors import InputError, TreelineError
from treeline.service.cli import main

ROOT = Path(__file__).resolve().parents[1]
OLD, NEW = "release", "checkout"
INDEX = "releases"
# Runs in either tree: the milliseconds of processor time of each question, after a round to warm up.
ASK = """
import json, sys, time
from treeline.search.live import open_searcher
from treeline.search.query import Query
from treeline.search.settings import Settings

home, index, texts = json.loads(sys.argv[1])
searcher = open_searcher(Settings(home=home, index=index, lane_timeout=60.0))
times = []
for _ in range(2):
    times.clear()
    for text in texts:
        begin = time.process_time()
        searcher.search(Query(text, feedback=False, explain=False))
        times.append((time.process_time() - begin) * 1000)
print(json.dumps(times))
"""


class Tree:
    """A version of the project, with an index of its own."""

    def __init__(self, code: Path, home: Path, texts: Sequence[str]) -> None:
        self._code, self._home, self._texts = code, home, texts

    def load(self, source: str) -> float:
        """Processor seconds of indexing the source; nothing is done if the index is there."""
        command = [sys.executable, "-m", "treeline.service.cli", "index", source, "--name", INDEX, "--json"]
        return spend(command, self._code, self._environment)[1]

    def cold(self) -> float:
        """Processor milliseconds of one question in a new process."""
        command = [sys.executable, "-m", "treeline.service.cli", "search", self._texts[0], "--name", INDEX, "--json"]
        return spend(command, self._code, self._environment)[1] * 1000

    def ask(self) -> list[float]:
        """Processor milliseconds of each question in a process that has answered all of them before."""
        argument = orjson.dumps((str(self._home), INDEX, self._texts)).decode()
        process = subprocess.run(
            [sys.executable, "-c", ASK, argument],
            env={**os.environ, **self._environment},
            cwd=self._code,
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode:
            raise TreelineError(f"{self._code} cannot be asked: {process.stderr.strip()[-300:]}")
        times: list[float] = orjson.loads(process.stdout.splitlines()[-1])
        return times

    @property
    def _environment(self) -> Mapping[str, str]:
        return {"TREELINE_HOME": str(self._home), "PYTHONPATH": str(self._code), "PYTHONNODEBUGRANGES": "1"}


def last_release() -> str:
    """The newest tag, or the commit that set the version."""
    for command in (["describe", "--tags", "--abbrev=0"], ["log", "-1", "--format=%h", "-G^__version__", "treeline"]):
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    raise InputError("this is no git checkout with a release in its history", "name a revision")


def run(
    revision: str, source: str, homes: Path, *, rounds: int, texts: Sequence[str], tell: Callable[[str], None]
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="treeline-release-") as folder:
        archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=False)
        if archive.returncode:
            raise InputError(f"{revision!r} is no revision of this checkout", archive.stderr.decode().strip())
        subprocess.run(["tar", "--extract", "--directory", folder], input=archive.stdout, check=True)
        trees = {OLD: Tree(Path(folder), homes / revision, texts), NEW: Tree(ROOT, homes / NEW, texts)}
        loads = {name: tree.load(source) for name, tree in trees.items()}
        cold: dict[str, list[float]] = {name: [] for name in trees}
        warm: dict[str, list[list[float]]] = {name: [] for name in trees}
        for number in range(rounds):
            for name, tree in sorted(trees.items(), reverse=bool(number % 2)):
                cold[name].append(tree.cold())
                warm[name].append(tree.ask())
    best = {name: [min(times) for times in zip(*every, strict=True)] for name, every in warm.items()}
    rows = {
        "a question, median, ms": {name: median(times) for name, times in best.items()},
        "a question, 95 %, ms": {name: sorted(times)[int(0.95 * len(times))] for name, times in best.items()},
        "a question in a new process, ms": {name: min(times) for name, times in cold.items()},
        "indexing, s": loads,
    }
    by_round = [sum(new) / sum(old) for old, new in zip(warm[OLD], warm[NEW], strict=True)]
    for what, row in rows.items():
        ratio = f"{row[NEW] / row[OLD]:.2f}" if min(row.values()) > 0 else "-"
        tell(f"{what:32} {OLD} {row[OLD]:9.2f}   {NEW} {row[NEW]:9.2f}   ratio {ratio}")
    tell(f"all questions, ratio by round: {', '.join(f'{ratio:.2f}' for ratio in by_round)}")
    return {"bench": "releases", "release": revision, "rows": rows, "by_round": by_round, "ratio": median(by_round)}


@click.command
@click.argument("revision", default="")
@click.option("--source", default=str(ROOT), metavar="SOURCE", help="Indexed by both; default: this checkout.")
@click.option("--homes", default="", metavar="DIR", help="Keep the indexes here for the next time.")
@click.option(
    "--rounds", default=3, show_default=True, type=click.IntRange(1), help="How often each is asked, in turn."
)
@click.option("--limit", default=1.2, show_default=True, help="Of the ratio of all questions; above it, exit code 1.")
@JSON
def command(revision: str, source: str, homes: str, rounds: int, limit: float, json_file: str) -> None:
    """Compare REVISION (the last release) with this checkout."""
    report = Report(json_file)
    with tempfile.TemporaryDirectory(prefix="treeline-homes-") as scratch:
        where = Path(homes or scratch)
        document = run(revision or last_release(), source, where, rounds=rounds, texts=questions(), tell=report.tell)
    report.write(document)
    if document["ratio"] > limit:
        raise TreelineError(f"a question takes {document['ratio']:.2f} times as long as in {document['release']}")


if __name__ == "__main__":
    main(command)
