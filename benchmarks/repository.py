"""`python -m benchmarks.repository DIR…`: how long a question takes in repositories, from the shell to the answer.

Each moment is a new process, measured in wall and processor time and by its largest process: the first question
(nothing is indexed), the first with the whole index, a later one (nothing has changed), and one after an edit. It works
on copies; a DIR may be a bare repository. With `--semble PYTHON`, a Python that has semble, semble is measured in the
same way. Its model is not available everywhere, so it gets random vectors of the same size (62,500 tokens, 256
dimensions): the times are valid, the answers are not. With ripgrep at hand, one search for a word. `--chart FILE` draws
how all of it grows.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import orjson

from benchmarks.figures import JSON, Report
from benchmarks.plots import Series, Step, growth_svg
from treeline.corpus.errors import InputError, TreelineError
from treeline.service.cli import main

QUESTION, WORD = "how are errors handled", "error"
FIRST, WHOLE, UNCHANGED, CHANGED = MOMENTS = ("first answer", "whole index", "unchanged", "one file changed")
# Time stamps as recent as the last check are not trusted, so wait a moment to measure the usual case.
SETTLE_S = 2.5
PATIENCE_S = 6_000
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}  # without it compiling modules takes .8 s of each question
RANDOM_MODEL = """
import sys
import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

words = ["[UNK]", "[PAD]", *"abcdefghijklmnopqrstuvwxyz", *("##" + letter for letter in "abcdefghijklmnopqrstuvwxyz")]
words += [f"word{number}" for number in range(62_500 - len(words))]
tokenizer = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
tokenizer.normalizer = normalizers.BertNormalizer()
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
vectors = np.random.default_rng(0).standard_normal((len(words), 256)).astype(np.float32)
StaticModel(vectors, tokenizer).save_pretrained(sys.argv[1])
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of one case and megabytes of its largest process: the median of the rounds."""

    tool: str
    moment: str
    wall: float
    processor: float
    memory_mb: float


Measure = tuple[float, float, float]


def run(
    repositories: Sequence[Path],
    *,
    rounds: int,
    semble: str = "",
    tell: Callable[[str], None],
    keep: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Time every case with each tool, in turn; `keep` gets what there is after each repository."""
    for repository in repositories:
        if not repository.is_dir():
            raise InputError(f"{repository} is not a folder", "name a repository to ask in")
    document: dict[str, Any] = {"bench": "repository", "rounds": rounds, "steps": []}
    with tempfile.TemporaryDirectory(prefix="treeline-bench-") as scratch:
        tools: list[_Tool] = [_Treeline(Path(scratch))]
        if shutil.which("rg"):
            tools.append(_Ripgrep(Path(scratch)))
        if semble:
            tools.append(_Semble(Path(scratch), semble))
        for repository in repositories:
            copy = Path(scratch) / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            check_out(repository, copy)
            step = _measure(tools, copy, rounds)
            document["steps"].append({"repository": _name(repository), **step})
            tell(f"{_name(repository)}: {step['functions']:,} units")
            for row in step["spent"]:
                used = f"{row['wall']:8.2f} s, {row['processor']:8.2f} s of processor time, {row['memory_mb']:5.0f} MB"
                tell(f"{row['tool']:9} {row['moment']:17} {used}")
            keep(document)
    return document


def _measure(tools: Sequence[_Tool], copy: Path, rounds: int) -> dict[str, Any]:
    """What each tool spends at each moment, and leaves on disk."""
    every: dict[tuple[str, str], list[Measure]] = {}
    for _ in range(rounds):
        for tool in tools:
            for moment, measure in tool.moments(copy).items():
                every.setdefault((tool.name, moment), []).append(measure)
    spent = [
        Spent(tool, moment, *(round(median(column), 3) for column in zip(*measures, strict=True)))
        for (tool, moment), measures in every.items()
    ]
    disk = {tool.name: round(_size(tool.home) / 1e6, 1) for tool in tools if tool.home.exists()}
    units = max(orjson.loads(path.read_bytes())["functions"] for path in tools[0].home.rglob("info.json"))
    return {"functions": units, "disk_mb": disk, "spent": [asdict(one) for one in spent]}


class _Tool(ABC):
    """A command that answers a question in a folder."""

    name: str

    def __init__(self, scratch: Path) -> None:
        self.home = scratch / f"{self.name}-home"

    @abstractmethod
    def command(self, folder: Path) -> Sequence[str]: ...

    @abstractmethod
    def environment(self) -> Mapping[str, str]: ...

    def moments(self, folder: Path) -> dict[str, Measure]:
        self.forget()
        first = self.ask(folder)
        time.sleep(SETTLE_S)
        self.ask(folder)  # checks the recent stamps again
        same = self.ask(folder)
        edit = _median_file(folder)
        edit.write_bytes(edit.read_bytes() + b"\n")
        return {FIRST: first, UNCHANGED: same, CHANGED: self.ask(folder)}

    def forget(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)

    def ask(self, folder: Path, *more: str) -> Measure:
        return spend([*self.command(folder), *more], folder, self.environment())


def spend(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Measure:
    """Wall and processor seconds of a command that prints something, and the megabytes of its largest process."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **BYTECODE, **environment}, stdout=out, stderr=error
        )
        clock = threading.Timer(PATIENCE_S, process.kill)
        clock.start()
        _, status, usage = os.wait4(process.pid, 0)  # unlike `resource.getrusage`, of this child alone
        clock.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        if process.returncode or not os.fstat(out.fileno()).st_size:
            error.seek(0)
            why = error.read()[-300:].decode("utf-8", "replace").strip()
            raise TreelineError(f"{' '.join(command[:4])} failed: {why}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


class _Treeline(_Tool):
    name = "treeline"

    def command(self, folder: Path) -> Sequence[str]:
        return [sys.executable, "-m", "treeline.service.cli", QUESTION]

    def environment(self) -> Mapping[str, str]:
        path = os.pathsep.join(filter(None, [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH")]))
        return {"TREELINE_HOME": str(self.home), "PYTHONPATH": path}

    def moments(self, folder: Path) -> dict[str, Measure]:
        """The first answer by itself: behind it a process indexes the rest, which is ended."""
        self.forget()
        first = self.ask(folder)
        self._end_index()
        self.forget()
        whole = self.ask(folder, "--wait")
        time.sleep(SETTLE_S)
        self.ask(folder)
        same = self.ask(folder)
        edit = _median_file(folder)
        edit.write_bytes(edit.read_bytes() + b"\n")
        return dict(zip(MOMENTS, (first, whole, same, self.ask(folder)), strict=True))

    def _end_index(self) -> None:
        """End the processes of this home, which are in sessions of their own."""
        mark = f"TREELINE_HOME={self.home}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)


class _Ripgrep(_Tool):
    """No index: each question reads all files."""

    name = "ripgrep"

    def command(self, folder: Path) -> Sequence[str]:
        return ["rg", "--count", WORD]

    def environment(self) -> Mapping[str, str]:
        return {}

    def moments(self, folder: Path) -> dict[str, Measure]:
        return {UNCHANGED: self.ask(folder, ".")}


class _Semble(_Tool):
    name = "semble"

    def __init__(self, scratch: Path, python: str) -> None:
        super().__init__(scratch)
        self._python, self._model = python, scratch / "model"
        product = subprocess.run(
            [python, "-c", RANDOM_MODEL, str(self._model)], capture_output=True, text=True, check=False
        )
        if product.returncode:
            why = (product.stderr.strip().splitlines() or ["it failed"])[-1]
            raise InputError(f"{python} cannot run semble: {why}", "install semble for it")

    def command(self, folder: Path) -> Sequence[str]:
        start = "from semble.cli import main; main()"
        return [self._python, "-c", start, "search", QUESTION, str(folder)]

    def environment(self) -> Mapping[str, str]:
        return {"SEMBLE_MODEL_NAME": str(self._model), "XDG_CACHE_HOME": str(self.home), "HF_HUB_OFFLINE": "1"}


def _name(repository: Path) -> str:
    """Of `OWNER+NAME/repo` the name."""
    return (repository.parent.name if _is_bare(repository) else repository.name).rpartition("+")[2]


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir()


def check_out(repository: Path, copy: Path) -> None:
    if not _is_bare(repository):
        shutil.copytree(repository, copy, symlinks=True)
        return
    git = ["git", "--git-dir", str(repository)]
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=True).stdout
    files = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry.startswith(b"100")]
    objects = b"\n".join(entry.split()[2] for entry, _, _ in files)
    read = subprocess.run([*git, "cat-file", "--batch"], input=objects, capture_output=True, check=True).stdout
    at = 0
    for _, _, path in files:
        head, at = read[at : read.index(b"\n", at)].split(), read.index(b"\n", at) + 1
        if head[1] == b"missing":  # large files of a partial clone
            continue
        target = copy / os.fsdecode(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(read[at : at + int(head[2])])
        at += int(head[2]) + 1


def _size(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def _median_file(folder: Path) -> Path:
    """The source file to edit: the median by size."""
    suffixes = {
        ".py",
        ".go",
        ".js",
        ".ts",
        ".java",
        ".rb",
        ".rs",
        ".c",
        ".cpp",
        ".php",
        ".cs",
        ".kt",
        ".swift",
        ".scala",
    }
    files = [path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file() and not path.is_symlink()]
    if not files:
        raise InputError(f"{folder} has no source file to edit", "name another repository")
    return sorted(files, key=lambda path: (path.stat().st_size, str(path)))[len(files) // 2]


def table(steps: Sequence[Step]) -> Iterator[str]:
    """Processor seconds and megabytes of each tool in each repository, as Markdown."""
    yield f"| | units | {' | '.join(MOMENTS)} | memory, MB | disk, MB |"
    yield "|---" * (len(MOMENTS) + 4) + "|"
    for step in steps:
        for tool in dict.fromkeys(row["tool"] for row in step["spent"]):
            rows = {row["moment"]: row for row in step["spent"] if row["tool"] == tool}
            seconds = " | ".join(f"{rows[moment]['processor']:.2f}" if moment in rows else "" for moment in MOMENTS)
            memory = max(row["memory_mb"] for row in rows.values())
            name = f"{step['repository']} | {step['functions']:,}" if tool == "treeline" else f"… {tool} | "
            yield f"| {name} | {seconds} | {memory:.0f} | {step['disk_mb'].get(tool, '')} |"


def series(moment: str, figure: str) -> Sequence[Series]:
    """A figure of each tool at a moment, over the repositories."""

    def of(tool: str) -> Callable[[Step], float | None]:
        def value(step: Step) -> float | None:
            rows = (row for row in step["spent"] if (row["tool"], row["moment"]) == (tool, moment))
            return next((row[figure] for row in rows), None)

        return value

    return [(tool, of(tool)) for tool in ("treeline", "semble", "ripgrep")]


CHARTS: Sequence[tuple[str, Sequence[Series]]] = [
    *((f"{moment}, s of processor time", series(moment, "processor")) for moment in MOMENTS),
    ("memory of the whole index, MB", series(WHOLE, "memory_mb")),
    ("disk, MB", [("treeline", lambda step: step["disk_mb"].get("treeline"))]),
]


@click.command
@click.argument("repositories", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="How often each moment is timed.")
@click.option("--semble", default="", metavar="PYTHON", help="A Python with semble, to measure it too.")
@click.option("--chart", default="", metavar="FILE", help="Draw the growth, as SVG.")
@JSON
def command(repositories: Sequence[Path], rounds: int, semble: str, chart: str, json_file: str) -> None:
    """Measure `treeline QUESTION` in REPOSITORIES."""
    report = Report(json_file)

    def keep(document: dict[str, Any]) -> None:
        document["steps"].sort(key=lambda step: step["functions"])
        if chart:
            Path(chart).write_text(growth_svg("Growth over repositories", CHARTS, document["steps"]), encoding="utf-8")

    document = run(repositories, rounds=rounds, semble=semble, tell=report.tell, keep=keep)
    for line in table(document["steps"]):
        report.tell(line)
    report.write(document)


if __name__ == "__main__":
    main(command)
