"""`python -m benchmarks.repository DIR`: how long a question takes in a repository, from the shell to the answer.

Three cases are timed, each in a new process, in wall and processor time: the first question (nothing is indexed), a
later one (nothing has changed), and one after a file was edited. It works on a copy. With `--semble PYTHON`,
a Python that has semble, semble is measured in the same way. Its model is not available everywhere, so it gets random
vectors of the same size (62,500 tokens, 256 dimensions): the times are valid, the answers are not.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.figures import JSON, Report
from treeline.corpus.errors import InputError, TreelineError
from treeline.service.cli import main

QUESTION = "how are errors handled"
MOMENTS = ("first answer", "unchanged", "one file changed")
# Time stamps as recent as the last check are not trusted, so wait a moment to measure the usual case.
SETTLE_S = 2.5
PATIENCE_S = 600
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
    """Seconds of one case: the median of the rounds."""

    tool: str
    moment: str
    wall: float
    processor: float


def run(repository: Path, *, rounds: int, semble: str, tell: Callable[[str], None]) -> dict[str, Any]:
    """Time every case with each tool, in turn, and report the medians."""
    if not repository.is_dir():
        raise InputError(f"{repository} is not a folder", "name a repository to ask in")
    results: list[Spent] = []
    with tempfile.TemporaryDirectory(prefix="treeline-bench-") as scratch:
        tools: dict[str, _Tool] = {"treeline": _Treeline(Path(scratch))}
        if semble:
            tools["semble"] = _Semble(Path(scratch), semble)
        durations: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for _ in range(rounds):
            for name, tool in tools.items():
                copy = Path(scratch) / f"{name}-copy"
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(repository, copy, symlinks=True)
                for moment, times in _moments(tool, copy).items():
                    durations.setdefault((name, moment), []).append(times)
        for (name, moment), every in durations.items():
            wall, processor = (round(median(column), 3) for column in zip(*every, strict=True))
            results.append(Spent(name, moment, wall, processor))
            tell(f"{name:9} {moment:17} {wall:6.2f} s, {processor:6.2f} s of processor time")
    return {
        "bench": "repository",
        "repository": repository.name,
        "rounds": rounds,
        "spent": [asdict(one) for one in results],
    }


class _Tool(ABC):
    """A command that answers a question in a folder."""

    def __init__(self, scratch: Path, name: str) -> None:
        self.home = scratch / f"{name}-home"

    @abstractmethod
    def command(self, folder: Path) -> Sequence[str]: ...

    @abstractmethod
    def environment(self) -> Mapping[str, str]: ...

    def forget(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)


class _Treeline(_Tool):
    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch, "treeline")

    def command(self, folder: Path) -> Sequence[str]:
        return [sys.executable, "-m", "treeline.service.cli", QUESTION]

    def environment(self) -> Mapping[str, str]:
        path = os.pathsep.join(filter(None, [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")]))
        return {"TREELINE_HOME": str(self.home), "PYTHONPATH": path}


class _Semble(_Tool):
    def __init__(self, scratch: Path, python: str) -> None:
        super().__init__(scratch, "semble")
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


def _moments(tool: _Tool, folder: Path) -> dict[str, tuple[float, float]]:
    tool.forget()
    first = _ask(tool, folder)
    time.sleep(SETTLE_S)
    _ask(tool, folder)  # checks the recent stamps again
    same = _ask(tool, folder)
    edit = _median_file(folder)
    edit.write_bytes(edit.read_bytes() + b"\n")
    return dict(zip(MOMENTS, (first, same, _ask(tool, folder)), strict=True))


def _ask(tool: _Tool, folder: Path) -> tuple[float, float]:
    """Wall and processor seconds of one question, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.run(
        tool.command(folder),
        cwd=folder,
        env={**os.environ, **tool.environment()},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode or not process.stdout.strip():
        raise TreelineError(f"{' '.join(tool.command(folder)[:4])} failed: {process.stderr.strip()[-300:]}")
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


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


@click.command
@click.argument("repository", type=click.Path(path_type=Path))
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="How often each moment is timed.")
@click.option("--semble", default="", metavar="PYTHON", help="A Python with semble, to measure it too.")
@JSON
def command(repository: Path, rounds: int, semble: str, json_file: str) -> None:
    """Measure `treeline QUESTION` in REPOSITORY."""
    report = Report(json_file)
    report.write(run(repository, rounds=rounds, semble=semble, tell=report.tell))


if __name__ == "__main__":
    main(command)
