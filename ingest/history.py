"""Reads the history of the git checkouts in an index: once in full, later what was added since; and diffs."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import which

from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.secrets import has_secret
from treeline.engine.durable import LockHeld, WriterLock, disk_errors
from treeline.graph.history import Change, Commit, History, Repository, add, create, history_file
from treeline.ingest.source import MAX_FILE_BYTES, Source, read_plain, readable
from treeline.ingest.sources.checkout import checkout_of, git_command, git_environment, run_git

MOST_COMMITS = 50_000  # the newest; older ones say little about today's files
MOST_BYTES = 400_000_000  # of git's output
TIMEOUT_S = 120
LONGEST_SUBJECT, LONGEST_BODY = 300, 2_000  # characters
LONGEST_TOKEN = 1 << 20  # bytes of a message or path
MOST_PATHS = 1_000  # of a commit; one that touches more has no vote anyway
BLOCK = 1 << 20
FILE_COMMITS = 100  # last commits of a file among which those of a definition are looked for
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
HASH = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
STATUS = re.compile(rb"\n?([ACDMRTUX])\d*")
TRAILER = re.compile(
    r"^(?:[A-Z][\w-]+-by|Change-Id|Signed-off-by|Co-authored-by|git-svn-id): .*$", re.MULTILINE | re.IGNORECASE
)
SECRET_MESSAGE = b"(left out: the message holds a secret)"
FORMAT = "--format=%H%x00%ct%x00%an%x00%B"


def update_sources(home: Path, index: str, sources: Sequence[Source]) -> None:
    """Bring the history of those sources up to date that are folders."""
    from treeline.ingest.sources.folder import Folder  # and every parser: a question in an unchanged project needs none

    update(home, index, {source.repo: source.root for source in sources if isinstance(source, Folder)})


def update(home: Path, index: str, roots: Mapping[str, Path]) -> None:
    """Bring the history of an index's repositories (name to folder) up to date; nothing if another process is at it.

    What is no git checkout has none. A rewritten history is read again, and so are those beside it.
    """
    file = history_file(home, index)
    if not home.is_dir():
        return
    with _errors(home):
        file.parent.mkdir(mode=0o700, exist_ok=True)
    with suppress(LockHeld), _errors(home), WriterLock(file.with_suffix(".lock")):
        known = _known(file)
        others = {repo: one.root for repo, one in known.items() if one.root not in roots.values()}  # not by an old name
        roots = others | dict(roots)
        answers = {repo: _git(root, "rev-parse", "--verify", "HEAD^{commit}") for repo, root in roots.items()}
        heads = {repo: head for repo, head in answers.items() if head}
        if {repo: one.head for repo, one in known.items()} == heads:
            return
        if known and all(repo in heads and _is_ancestor(roots[repo], one.head) for repo, one in known.items()):
            since = {repo: one.head for repo, one in known.items()}
            _write(file, {repo: (roots[repo], since.get(repo, ""), head) for repo, head in heads.items()})
        elif heads:
            new = file.with_suffix(".new")
            new.unlink(missing_ok=True)
            _write(new, {repo: (roots[repo], "", head) for repo, head in heads.items()})
            new.replace(file)


def share(home: Path, index: str, root: Path, other: str) -> None:
    """Begin the history of a project's index with that of another copy of its repository, if that has one."""
    source, target = history_file(home, other), history_file(home, index)
    with suppress(LockHeld), _errors(home), WriterLock(target.with_suffix(".lock")):
        if _known(source) and not target.exists():
            with closing(sqlite3.connect(source)) as database, closing(sqlite3.connect(target)) as copy:
                database.backup(copy)
                copy.execute("UPDATE repository SET root = ?", (os.fsencode(root),))
                copy.commit()


@contextmanager
def _errors(home: Path) -> Iterator[None]:
    with disk_errors(home):
        try:
            yield
        except sqlite3.Error as error:
            raise TreelineError(f"the history cannot be saved: {error}") from error


def update_behind(home: Path, index: str, roots: Mapping[str, Path]) -> None:
    """Bring the history up to date in a process of its own, for which no answer waits; nothing if no head has moved."""
    heads = {repo: checkout.sha for repo, root in roots.items() if (checkout := checkout_of(root)) and checkout.sha}
    known = _known(history_file(home, index)) if heads else {}
    if all(repo in known and known[repo].head == head for repo, head in heads.items()) or not which("git"):
        return
    arguments = [str(home), index, *(part for repo in heads for part in (repo, str(roots[repo])))]
    with suppress(OSError):
        process = subprocess.Popen(
            [sys.executable, "-m", "treeline.ingest.history", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=process.wait, daemon=True).start()  # a server that goes on keeps no zombie


def _known(file: Path) -> dict[str, Repository]:
    """The content of the file; empty if it is missing, damaged or of another version: all of it can be read again."""
    with suppress(sqlite3.Error), closing(History(file)) as history:
        return history.repositories()
    return {}


def _write(file: Path, repositories: Mapping[str, tuple[Path, str, str]]) -> None:
    """Add the commits of each repository (folder, commit read last, head)."""
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        if database.execute("PRAGMA user_version").fetchone() == (0,):
            create(database)
        database.execute("BEGIN IMMEDIATE")
        for repo, (root, since, head) in repositories.items():
            if since != head:
                add(database, repo, read_log(root, since, head))
                row = (repo, os.fsencode(root), head, 0.0)
                database.execute("INSERT OR REPLACE INTO repository VALUES (?, ?, ?, ?)", row)
        database.execute("COMMIT")
        with closing(History(file)) as history:
            qualities = [(history.measure_quality(repo), repo) for repo in repositories]
        database.executemany("UPDATE repository SET quality = ? WHERE repo = ?", qualities)


def read_log(root: Path, since: str, head: str) -> Iterator[tuple[Commit, list[Change]]]:
    """The commits after `since` without merges, oldest first, with the paths below the folder."""
    command = ["-C", str(root), "log", "-z", "--no-merges", "--no-show-signature", "--no-ext-diff", "--no-textconv"]
    command += ["--name-status", "-M100%", "--relative", f"--max-count={MOST_COMMITS}", "--reverse", FORMAT]
    command += [f"{since}..{head}" if since else head, "--", "."]
    tokens = _tokens(command)
    token = next(tokens, b"")
    while HASH.fullmatch(token):
        sha, time, author, message = (token, *(next(tokens, b"") for _ in range(3)))
        changes: list[Change] = []
        while match := STATUS.fullmatch(token := next(tokens, b"")):
            status = match[1].decode()
            old = readable(os.fsdecode(next(tokens, b""))) if status in "RC" else ""
            path = readable(os.fsdecode(next(tokens, b"")))
            if len(changes) < MOST_PATHS:
                changes.append(Change(status, path, old if status == "R" else ""))
        if has_secret("", message):
            message = SECRET_MESSAGE
        subject, _, body = message.decode("utf-8", "replace").strip().partition("\n")
        yield (
            Commit(
                sha.decode(),
                int(time) if time.isdigit() else 0,
                _plain(author.decode("utf-8", "replace"))[:LONGEST_SUBJECT],
                _plain(subject)[:LONGEST_SUBJECT],
                TRAILER.sub("", body[:LONGEST_BODY]).strip(),
            ),
            changes,
        )


def _plain(text: str) -> str:
    """One line without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _tokens(command: list[str]) -> Iterator[bytes]:
    """The output of git, split at NUL; ends early after too much or too long."""
    process = subprocess.Popen(
        git_command(command),
        env=git_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    clock = threading.Timer(TIMEOUT_S, process.kill)
    clock.start()
    rest, size = b"", 0
    try:
        while (block := process.stdout.read(BLOCK)) and size < MOST_BYTES:
            size += len(block)
            *tokens, rest = (rest + block).split(b"\0")
            yield from tokens
            rest = rest[:LONGEST_TOKEN]
        if rest:
            yield rest
    finally:
        clock.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


def commits_of(history: History, repo: str, path: str, lines: tuple[int, int], k: int) -> list[Commit]:
    """The last `k` commits that touched these lines of a file as it is now, newest first: of the last hundred that
    touched the file, each asked for its hunks. `git log -L` reads every commit's tree instead."""
    known = history.repositories().get(repo)
    ids = history.last_commits(repo, path, FILE_COMMITS) if known else []
    if known is None or not ids:
        return []
    rows = history.commits(ids)
    commits = {rows[id_].hash: rows[id_] for id_ in ids}
    command = ["log", "--no-walk=unsorted", "--format=%x00%H", "--patch", "--unified=0", "--relative", "--no-renames"]
    command += ["--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature", *commits, "--", path]
    patches = (_git(known.root, *command) or "").split("\0")[1:]
    result: list[Commit] = []
    with suppress(TreelineError, OSError, subprocess.SubprocessError):
        lines = _lines_before(_hunks(read_diff(known.root, path=path)), lines)
    for patch in patches:
        hunks = _hunks(patch)
        if any(_touches(hunk, lines) for hunk in hunks):
            result.append(commits[patch.partition("\n")[0]])
        lines = _lines_before(hunks, lines)
        if len(result) == k or lines[1] < lines[0] or not hunks:  # its beginning, or the file had another name
            break
    return result


def _hunks(patch: str) -> list[tuple[int, ...]]:
    """Of each hunk: first line and number of lines, before and after."""
    return [tuple(int(number or 1) for number in hunk) for hunk in HUNK.findall(patch)]


def _lines_before(hunks: Sequence[tuple[int, ...]], lines: tuple[int, int]) -> tuple[int, int]:
    return _before(hunks, lines[0], is_end=False), _before(hunks, lines[1], is_end=True)


def _touches(hunk: tuple[int, ...], lines: tuple[int, int]) -> bool:
    _, _, start, count = hunk
    if not count:  # what was behind this line is gone
        return lines[0] <= start < lines[1]
    return start <= lines[1] and start + count > lines[0]


def _before(hunks: Sequence[tuple[int, ...]], line: int, *, is_end: bool) -> int:
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


def read_diff(root: Path, revisions: str = "", path: str = ".", *, is_staged: bool = False) -> str:
    """The diff of a checkout's folder: between two revisions (`main..topic`), in the index, or (default) from HEAD to
    the files as they are, new ones included. No filter or other program of the repository's configuration is run."""
    drivers = (
        _git(root, "config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$") or ""
    ).split("\n")
    off = {key: "false" if key.endswith(".required") else "" for key in drivers if key}
    environment = {"GIT_CONFIG_COUNT": str(len(off))}
    for number, (key, value) in enumerate(off.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    command = ["-C", str(root), "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-textconv"]
    command += ["--unified=0", "--relative", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/"]
    command += ["--cached"] if is_staged else []
    result = subprocess.run(
        git_command([*command, "--end-of-options", revisions or "HEAD", "--", path]),
        env=git_environment() | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ").partition("\n")[0]
        raise InputError(f"git cannot compare {revisions or 'the files with HEAD'}: {reason}", "name REV..REV")
    new = "" if is_staged or revisions or path != "." else "".join(_new_files(root))
    return result.stdout[:MOST_BYTES].decode("utf-8", "backslashreplace") + new  # as `readable`


def _new_files(root: Path) -> Iterator[str]:
    """Each file that git neither tracks nor ignores, as in a diff."""
    listing = run_git(root, "ls-files", "-z", "--others", "--exclude-standard")
    for name in listing.split(b"\0")[:MOST_PATHS]:
        content = read_plain(root / os.fsdecode(name), MAX_FILE_BYTES) if name else None
        if isinstance(content, bytes) and b"\0" not in content:
            lines = content.decode("utf-8", "replace").splitlines()
            body = "".join(f"+{line}\n" for line in lines)
            yield f"+++ b/{readable(os.fsdecode(name))}\n@@ -0,0 +1,{len(lines)} @@\n{body}"


def _is_ancestor(root: Path, commit: str) -> bool:
    return _git(root, "merge-base", "--is-ancestor", commit, "HEAD") is not None


def _git(root: Path, *arguments: str) -> str | None:
    """The answer of git, without the last line's end; None if it fails."""
    with suppress(OSError, subprocess.SubprocessError):
        return run_git(root, *arguments).decode("utf-8", "replace").strip()
    return None


if __name__ == "__main__":
    os.nice(10)
    home, index, *pairs = sys.argv[1:]
    with suppress(TreelineError):
        update(Path(home), index, dict(zip(pairs[::2], map(Path, pairs[1::2]), strict=True)))
