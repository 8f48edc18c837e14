"""Questions from a repository's history: a commit's subject asks, the code it changed answers.

The idea is old in bug localisation (Zhou et al. 2012, BugLocator) and needs no annotator; the answers are what a
developer touched for that reason, so they are incomplete and sometimes beside the point, alike for every system.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.registry import by_suffix

# A commit that touches more code files than this is a sweep (a rename, a reformat): it asks for nothing.
MOST_FILES = 15
LEAST_WORDS = 3
TRIVIAL = re.compile(
    r"^(merge|revert|bump|release|version|wip|fixup!|squash!|typo|update (readme|changelog|docs?)|"
    r"v?\d+(\.\d+)+|initial commit|first commit|lint|format|cleanup|clean up|minor)\b",
    re.IGNORECASE,
)
# "fix(scope): …" and "Fix #123": the words count, the bookkeeping does not.
PREFIX = re.compile(r"^(\w+)(\([^)]*\))?!?:\s+")
REFERENCE = re.compile(r"\(?(?:#\d+|GH-\d+|[A-Z]{2,}-\d+)\)?")
FIELD, RECORD = "\x1f", "\x1e"
HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """A commit: its subject, and per changed file that had code the lines after the change."""

    commit: str
    subject: str
    lines: dict[str, list[tuple[int, int]]]


def question(subject: str) -> str:
    """The subject as a question, or '' when it is trivial."""
    if TRIVIAL.match(subject.strip()):
        return ""
    words = REFERENCE.sub(" ", PREFIX.sub("", subject.strip()))
    words = " ".join(words.split()).strip(" .")
    if TRIVIAL.match(words) or len(re.findall(r"[A-Za-z]{2,}", words)) < LEAST_WORDS:
        return ""
    return words


def changes(repository: Path, limit: int = 5000) -> Iterator[Change]:
    """The history from the newest, merges left out."""
    log = _git(repository, "log", "--no-merges", f"--max-count={limit}", f"--format={RECORD}%H{FIELD}%s", "HEAD")
    for record in log.split(RECORD)[1:]:
        commit, _, subject = record.strip().partition(FIELD)
        patch = _git(
            repository,
            "show",
            "--format=",
            "--unified=0",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--diff-filter=AM",
            commit,
        )
        lines = {path: hunks for path, hunks in _hunks(patch) if grammar_of(path)}
        if 0 < len(lines) <= MOST_FILES:
            yield Change(commit, subject, lines)


def grammar_of(path: str) -> Grammar | None:
    """How the file is parsed; nothing for what is no code, or of a language without a parser."""
    return by_suffix().get(Path(path).suffix.lower())


def touched(hunks: list[tuple[int, int]], names: dict[str, tuple[int, int]]) -> list[str]:
    """The functions whose lines (at that commit) a hunk overlaps; the innermost when they nest."""
    found: set[str] = set()
    for first, last in hunks:
        around = [name for name, (start, end) in names.items() if start <= last and first <= end]
        inner = [
            name
            for name in around
            if not any(
                other != name
                and names[name][0] <= names[other][0]
                and names[other][1] <= names[name][1]
                and names[other] != names[name]
                for other in around
            )
        ]
        found.update(inner)
    return sorted(found)


def file_at(repository: Path, commit: str, path: str) -> bytes:
    """A file's bytes as of a commit."""
    command = ["git", "-C", str(repository), "cat-file", "blob", f"{commit}:{path}"]
    return subprocess.run(command, capture_output=True, check=False).stdout


def _hunks(patch: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    for part in re.split(r"^diff --git ", patch, flags=re.MULTILINE)[1:]:
        target = re.search(r"^\+\+\+ b/(.+?)\t?$", part, re.MULTILINE)
        if target is None:
            continue
        spans = []
        for found in HUNK.finditer(part):
            first, count = int(found[1]), int(found[2] if found[2] is not None else 1)
            # A pure deletion leaves no line of its own; the place it happened at is the line before.
            spans.append((first, first + max(count, 1) - 1))
        if spans:
            yield target[1], spans


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-c", "core.quotepath=off", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except FileNotFoundError:
        raise InputError("git is not installed", "mining needs it to read the history") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"{repository} has no readable git history: {said[-1] if said else 'git failed'}") from None
    return done.stdout.decode("utf-8", "replace")
