"""Compares lists of all occurrences with ripgrep's on the same files, and the processor time of both:
python -m benchmarks.ripgrep [--rg FILE] FOLDER…

For each folder it takes words, phrases and expressions from the folder's own files. Every line that `rg` finds must be
listed; lines beyond that come from phrases and expressions that match across lines.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click

from treeline.corpus.errors import InputError
from treeline.ingest.project import find_project, indexed_files
from treeline.search.settings import from_environment

EXPRESSIONS = (
    r"\w+_url\(",
    r"^(import|from|use|package)\b",
    "TODO|FIXME",
    r"[0-9]{4}-[0-9]{2}",
    r"err(or)?\b.*nil",
    r"\)$",
)
WORDS, PHRASES = 6, 4  # taken from the folder
ROUNDS = 2
FILES_AT_ONCE = 2_000  # of the command line of rg
WORD = re.compile(rb"[A-Za-z_]\w{3,30}")


class Found(NamedTuple):
    lines: set[tuple[str, int]]
    seconds: float


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rg", default="rg", help="ripgrep's program.")
def command(folders: Sequence[Path], rg: str) -> None:
    """Compare the lists of all occurrences in FOLDERS with ripgrep's."""
    if not shutil.which(rg):
        raise InputError("ripgrep is not there", "install it, or give --rg FILE")
    click.echo("folder            files  questions  lines of rg  missing  beyond   rg ms      ms     ×")
    for folder in folders:
        compare(folder.resolve(), rg)


def compare(folder: Path, rg: str) -> None:
    listed([], folder, "-l", "x")  # indexes, and warms
    settings = from_environment()
    project = find_project(folder, settings.home_path)
    files = [os.fsdecode(name) for name, _ in indexed_files(project.index, settings.home_path)]
    total = missing = beyond = 0
    times: list[tuple[float, float]] = []
    questions = texts(folder, files)
    for question in questions:
        is_pattern = question in EXPRESSIONS
        theirs = searched_by(rg, question, files, folder, is_pattern=is_pattern)
        ours = listed(files, folder, "--all", f"/{question}/" if is_pattern else question)
        total += len(theirs.lines)
        for path, number in sorted(theirs.lines - ours.lines)[:3]:
            click.echo(f"missing for {question!r}: {path}:{number}", err=True)
        missing += len(theirs.lines - ours.lines)
        beyond += len(ours.lines - theirs.lines)
        times.append((theirs.seconds, ours.seconds))
    theirs_ms, ours_ms = (1_000 * median(column) for column in zip(*times, strict=True))
    row = f"{folder.name:<16}{len(files):>7,}{len(questions):>11}{total:>13,}{missing:>9,}{beyond:>8,}"
    click.echo(f"{row}{theirs_ms:>8.0f}{ours_ms:>8.0f}{ours_ms / theirs_ms:>6.1f}")


def texts(folder: Path, files: Sequence[str]) -> list[str]:
    """Words and two neighbouring words of some files, and the expressions."""
    chance = random.Random(0)
    words: list[str] = []
    phrases: list[str] = []
    for name in chance.sample(list(files), min(len(files), WORDS)):
        content = (folder / name).read_bytes()
        words += [match[0].decode() for match in WORD.finditer(content)][7:8]
        phrases += [
            line.strip()
            for line in content.decode("utf-8", "ignore").split("\n")
            if re.fullmatch(r"[\w .,()]{12,60}", line.strip())
        ][:1]
    return [*dict.fromkeys((*words, *phrases[:PHRASES])), *EXPRESSIONS]


def searched_by(rg: str, text: str, files: Sequence[str], folder: Path, *, is_pattern: bool) -> Found:
    """The lines that ripgrep finds in these files, and the time that it takes for the folder."""
    options = [rg, "--smart-case", "--no-heading", "--with-filename", "--line-number", *([] if is_pattern else ["-F"])]
    lines: set[tuple[str, int]] = set()
    for at in range(0, len(files), FILES_AT_ONCE):
        some = [*options, "--", text, *files[at : at + FILES_AT_ONCE]]
        lines |= rows(subprocess.run(some, cwd=folder, capture_output=True, check=False).stdout)
    return Found(lines, fastest([*options, "--", text, "."], folder))


def listed(files: Sequence[str], folder: Path, *arguments: str) -> Found:
    command_line = [sys.executable, "-m", "treeline.service.cli", *arguments]
    output = subprocess.run(command_line, cwd=folder, capture_output=True, check=False).stdout
    return Found(rows(output), fastest(command_line, folder) if files else 0.0)


def rows(output: bytes) -> set[tuple[str, int]]:
    matches = (re.match(rb"(.+?):(\d+):", row) for row in output.split(b"\n"))
    return {(os.fsdecode(match[1]), int(match[2])) for match in matches if match}


def fastest(command_line: Sequence[str], folder: Path) -> float:
    """The processor time of the fastest of some rounds, in seconds; wall time says more about what else runs."""
    seconds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryFile() as output:
            begin = processor_time()
            subprocess.run(command_line, cwd=folder, stdout=output, stderr=subprocess.DEVNULL, check=False)
            seconds.append(processor_time() - begin)
    return min(seconds)


def processor_time() -> float:
    """Of all processes that were started here and have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    from treeline.service.cli import main

    main(command)
