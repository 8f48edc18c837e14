"""Reads from git the commits of a definition, and the lines of a commit as files have them now."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.graph.git import ask_git, git_command, git_environment
from treeline.graph.history import MASS, Commit, History

FILE_COMMITS = 100  # last commits of a file among which those of a definition are looked for
MOST_LINES = 10_000  # of a file that a commit touched
MOST_BYTES = 400_000_000  # of git's output
TIMEOUT_S = 120
PATCH = (
    "--unified=0",
    "--relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
)
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
SIDES = re.compile(
    r"^(?:--- (?:[ab]/)?(?P<old>.+?)\t?\n\+\+\+ (?:[ab]/)?(?P<new>.+?)\t?"
    r"|rename from (?P<from>.+)\nrename to (?P<to>.+))$",
    re.MULTILINE,
)
NOTHING = "/dev/null"  # the side of a file that is not there

Hunk = tuple[int, ...]  # first line and number of lines, before and after
Lines = tuple[int, int]


def commits_of(history: History, repo: str, path: str, lines: Lines, k: int) -> list[Commit]:
    """The last `k` commits that touched these lines of a file as it is now, newest first: of the last hundred that
    touched the file, each asked for its hunks. `git log -L` reads every commit's tree instead."""
    known = history.repositories().get(repo)
    ids = history.last_commits(repo, path, FILE_COMMITS) if known else []
    if known is None or not ids:
        return []
    rows = history.commits(ids)
    commits = {rows[id_].hash: rows[id_] for id_ in ids}
    result: list[Commit] = []
    with suppress(InputError, OSError, subprocess.SubprocessError):
        lines = _lines_before(_hunks(run_diff(known.root, paths=[path])), lines)
    for sha, patch in _patches(known.root, list(commits), [path]):
        hunks = _hunks(patch)
        if any(_touches(hunk, lines) for hunk in hunks):
            result.append(commits[sha])
        lines = _lines_before(hunks, lines)
        if len(result) == k or lines[1] < lines[0] or not hunks:  # its beginning, or the file had another name
            break
    return result


def touched_lines(root: Path, commits: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list[int]]]:
    """The lines that each commit touched, by hash and current path, as files are now. `commits` has the current paths
    of what each touched; one that touched many files says little of each."""
    small = {sha: paths for sha, paths in commits.items() if 0 < len(paths) <= MASS}
    touched: dict[str, dict[str, list[int]]] = {}
    for sha, patch in _patches(root, list(small), ["."]) if small else ():
        own = {new: hunks for _, new, hunks in _files(patch)}
        paths = list(dict.fromkeys((*small[sha], *own)))
        since: dict[str, tuple[str, list[Hunk]]] = {}
        with suppress(InputError, OSError, subprocess.SubprocessError):
            since = {then: (now, hunks) for now, then, hunks in _files(run_diff(root, sha, paths, is_reverse=True))}
        lines: dict[str, list[int]] = {}
        for path, hunks in own.items():
            now, later = since.get(path, (path, []))
            if NOTHING not in (path, now):
                spans = [_lines_before(later, (start, start + max(count, 1) - 1)) for *_, start, count in hunks]
                lines[now] = [line for first, last in spans for line in range(first, last + 1)][:MOST_LINES]
        touched[sha] = lines
    return touched


def run_diff(
    root: Path,
    revisions: str = "",
    paths: Sequence[str] = (".",),
    *,
    is_staged: bool = False,
    is_reverse: bool = False,
) -> str:
    """The diff of a checkout's folder: between two revisions (`main..topic`), from one to the files as they are, in the
    index, or (default) from HEAD. No filter or other program of the repository's configuration is run."""
    drivers = (
        ask_git(root, "config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$") or ""
    ).split("\n")
    off = {key: "false" if key.endswith(".required") else "" for key in drivers if key}
    environment = {"GIT_CONFIG_COUNT": str(len(off))}
    for number, (key, value) in enumerate(off.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    command = ["-C", str(root), "-c", "core.quotePath=false", "--literal-pathspecs", "diff", *PATCH, "--find-renames"]
    command += ["--cached"] * is_staged + ["-R"] * is_reverse
    result = subprocess.run(
        git_command([*command, "--end-of-options", revisions or "HEAD", "--", *paths]),
        env=git_environment() | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ").partition("\n")[0]
        raise InputError(f"git cannot compare {revisions or 'the files with HEAD'}: {reason}", "name REV..REV")
    return result.stdout[:MOST_BYTES].decode("utf-8", "backslashreplace")  # as `readable`


def _patches(root: Path, commits: Sequence[str], paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The patch of each commit to these paths, in the order given."""
    command = ["-c", "core.quotePath=false", "log", "--no-walk=unsorted", "--format=%x00%H", "--patch", "--no-renames"]
    answer = ask_git(root, *command, *PATCH, "--no-show-signature", *commits, "--", *paths)
    for patch in (answer or "").split("\0")[1:]:
        yield patch[: patch.find("\n")] if "\n" in patch else patch, patch


def _files(patch: str) -> Iterator[tuple[str, str, list[Hunk]]]:
    """Old path, new path and hunks of each file of a patch."""
    for part in f"\n{patch}".split("\ndiff --git ")[1:]:
        if sides := SIDES.search(part):
            yield sides["old"] or sides["from"], sides["new"] or sides["to"], _hunks(part)


def _hunks(patch: str) -> list[Hunk]:
    return [tuple(int(number or 1) for number in hunk) for hunk in HUNK.findall(patch)]


def _lines_before(hunks: Sequence[Hunk], lines: Lines) -> Lines:
    return _before(hunks, lines[0], is_end=False), _before(hunks, lines[1], is_end=True)


def _touches(hunk: Hunk, lines: Lines) -> bool:
    _, _, start, count = hunk
    if not count:  # what was behind this line is gone
        return lines[0] <= start < lines[1]
    return start <= lines[1] and start + count > lines[0]


def _before(hunks: Sequence[Hunk], line: int, *, is_end: bool) -> int:
    """The number that a line had before these hunks; of a new line, that of the hunk's old end or beginning."""
    shift = 0
    for old, old_count, new, count in hunks:
        if new + count - bool(count) < line:
            shift += old_count - count
        elif count and new <= line:
            return old + old_count - bool(old_count) if is_end else old + (not old_count)
        else:
            break
    return line + shift
