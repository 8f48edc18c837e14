"""Reads from git the commits of a definition, and the lines of a commit as files have them now."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.graph.git import ask_git, git_command, git_environment
from treeline.graph.history import MASS, Commit, History

FILE_COMMITS, AT_ONCE = 500, 100  # last commits of a file among which those of a definition are looked for
LAST, FADING = 15, 0.8  # commits of a file, and what the next older one counts
SWEEP = 60  # hunks of a commit in one file
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
    """The last `k` commits that touched these lines of a file as it is now, newest first: of the last few hundred that
    touched the file, each asked for its hunks. `git log -L` reads every commit's tree instead."""
    known = history.repositories().get(repo)
    ids = history.last_commits(repo, path, FILE_COMMITS) if known else []
    if known is None or not ids:
        return []
    rows = history.commits(ids)
    commits = {rows[id_].hash: rows[id_] for id_ in ids}
    shas = iter(commits)
    blocks = iter(lambda: list(islice(shas, AT_ONCE)), [])
    log = ((sha, _hunks(patch)) for block in blocks for sha, patch in _patches(known.root, block, [path]))
    walk = _walk(log, _now(known.root, [path]).get(path, []), [lines])
    return list(islice((commits[sha] for sha, (is_touched,) in walk if is_touched), k))


def changes_lately(history: History, repo: str, spans: Mapping[str, Sequence[Lines]]) -> dict[str, list[float]]:
    """For each span of lines of these files, how many of the file's last commits touched it; the one before counts
    less. Of a sweep over the file nobody knows what it was about."""
    known = history.repositories().get(repo)
    if known is None:
        return {}
    ids = {path: history.last_commits(repo, path, LAST) for path in spans}
    commits = history.commits(chain.from_iterable(ids.values()))
    patches = dict(_patches(known.root, [one.hash for one in commits.values()], list(spans))) if commits else {}
    hunks = {(sha, path): own for sha, patch in patches.items() for _, path, own in _files(patch)}
    now = _now(known.root, list(spans)) if patches else {}
    result = {}
    for path, own in spans.items():
        result[path] = [0.0] * len(own)
        log = [(commits[id_].hash, hunks.get((commits[id_].hash, path), [])) for id_ in ids[path]]
        for age, (sha, flags) in enumerate(_walk(log, now.get(path, []), own)):
            weight = FADING**age if len(hunks.get((sha, path), ())) <= SWEEP else 0.0
            result[path] = [one + weight * flag for one, flag in zip(result[path], flags, strict=True)]
    return result


def _now(root: Path, paths: Sequence[str]) -> dict[str, list[Hunk]]:
    """The hunks of these files that are not committed."""
    with suppress(InputError, OSError, subprocess.SubprocessError):
        return {path: hunks for _, path, hunks in _files(run_diff(root, paths=paths))}
    return {}


def _walk(
    log: Iterable[tuple[str, Sequence[Hunk]]], now: Sequence[Hunk], spans: Sequence[Lines]
) -> Iterator[tuple[str, list[bool]]]:
    """Each commit of a file, newest first, with whether it touched each span, which the walk carries back."""
    spans = [_lines_before(now, span) for span in spans]
    for sha, hunks in log:
        if not hunks:  # the file had another name
            return
        yield sha, [span[0] <= span[1] and any(_touches(hunk, span) for hunk in hunks) for span in spans]
        spans = [_lines_before(hunks, span) for span in spans]


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
