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
from dataclasses import replace
from pathlib import Path
from shutil import which

from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.secrets import has_secret
from treeline.engine.durable import LockHeld, WriterLock, disk_errors
from treeline.graph.git import ask_git, git_command, git_environment, run_git
from treeline.graph.history import Change, Commit, History, Repository, add, create, history_file
from treeline.graph.touched import run_diff
from treeline.ingest.source import MAX_FILE_BYTES, Source, read_plain, readable
from treeline.ingest.sources.checkout import checkout_of

MOST_COMMITS = 50_000  # the newest; older ones say little about today's files
MOST_BYTES = 400_000_000  # of git's output
TIMEOUT_S = 120
LONGEST_SUBJECT, LONGEST_BODY = 300, 2_000  # characters
LONGEST_TOKEN = 1 << 20  # bytes of a message or path
MOST_PATHS = 1_000  # of a commit; one that touches more has no vote anyway
BLOCK = 1 << 20
HASH = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
STATUS = re.compile(rb"\n?([ACDMRTUX])\d*")
TRAILER = re.compile(
    r"^(?:[A-Z][\w-]+-by|Change-Id|Signed-off-by|Co-authored-by|git-svn-id): .*$", re.MULTILINE | re.IGNORECASE
)
SECRET_MESSAGE = b"(left out: the message holds a secret)"
MEASURED = 50  # commits after which a history's quality is measured again
FORMAT = "--format=%H%x00%ct%x00%an%x00%B"


def update_sources(home: Path, index: str, sources: Sequence[Source]) -> None:
    """Bring the history of those sources up to date that are folders."""
    from treeline.ingest.sources.folder import Folder  # and every parser: a question in an unchanged project needs none

    update(home, index, {source.repo: source.root for source in sources if isinstance(source, Folder)})


def update(home: Path, index: str, roots: Mapping[str, Path], wait_s: float = 0.0) -> None:
    """Bring the history of an index's repositories (name to folder) up to date; nothing if another process is at it,
    and still is after a wait.

    What is no git checkout has none. A history that was rewritten, or reaches further back, is read again, and so are
    those beside it.
    """
    file = history_file(home, index)
    if not home.is_dir():
        return
    with _errors(home):
        file.parent.mkdir(mode=0o700, exist_ok=True)
    with suppress(LockHeld), _errors(home), WriterLock(file.with_suffix(".lock"), wait_s):
        known = _known(file)
        others = {repo: one.root for repo, one in known.items() if one.root not in roots.values()}  # not by an old name
        roots = others | dict(roots)
        answers = {repo: ask_git(root, "rev-parse", "--verify", "HEAD^{commit}") for repo, root in roots.items()}
        new = {repo: Repository(roots[repo], head, 0.0, _end_of(roots[repo])) for repo, head in answers.items() if head}
        if {repo: (one.head, one.end) for repo, one in known.items()} == {
            repo: (one.head, one.end) for repo, one in new.items()
        }:
            return
        if known and all(
            repo in new and one.end == new[repo].end and _is_ancestor(roots[repo], one.head)
            for repo, one in known.items()
        ):
            _write(file, new, known)
        elif new:
            fresh = file.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            _write(fresh, new, {})
            fresh.replace(file)


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
    states = {
        repo: (one.sha, one.end) for repo, root in roots.items() if (one := checkout_of(root)) is not None and one.sha
    }
    known = {repo: (one.head, one.end) for repo, one in _known(history_file(home, index)).items()} if states else {}
    if states.items() <= known.items() or not which("git"):
        return
    arguments = [str(home), index, *(part for repo in states for part in (repo, str(roots[repo])))]
    with suppress(OSError, RuntimeError):  # the system starts no more processes or threads
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


def _end_of(root: Path) -> str:
    checkout = checkout_of(root)
    return checkout.end if checkout else ""


def _write(file: Path, repositories: Mapping[str, Repository], known: Mapping[str, Repository]) -> None:
    """Add the commits of each repository to those that are `known`. Its quality is measured again after a few dozen:
    in 13,000 commits that takes a second, and adding one takes none."""
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        if database.execute("PRAGMA user_version").fetchone() == (0,):
            create(database)
        database.execute("BEGIN IMMEDIATE")
        counts = dict(database.execute("SELECT repo, count(*) FROM commits GROUP BY repo"))
        for repo, one in repositories.items():
            before = known.get(repo, replace(one, head=""))
            if before.head != one.head:
                add(database, repo, read_log(one.root, before.head, one.head), one.end.split())
                row = (repo, os.fsencode(one.root), one.head, before.quality, one.end)
                database.execute("INSERT OR REPLACE INTO repository VALUES (?, ?, ?, ?, ?)", row)
        database.execute("COMMIT")
        new = dict(database.execute("SELECT repo, count(*) FROM commits GROUP BY repo"))
        with closing(History(file)) as history:
            due = [repo for repo in new if repo not in counts or counts[repo] // MEASURED < new[repo] // MEASURED]
            qualities = [(history.measure_quality(repo), repo) for repo in due]
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


def read_diff(root: Path, revisions: str = "", *, is_staged: bool = False) -> str:
    """The diff of a checkout's folder: between two revisions (`main..topic`), in the index, or (default) from HEAD to
    the files as they are, new ones included."""
    if not (is_staged or revisions) and checkout_of(root) is None:
        raise InputError(f"{root} is no git checkout", "give a .diff file or a definition's name")
    new = "" if is_staged or revisions else "".join(_new_files(root))
    return run_diff(root, revisions, is_staged=is_staged) + new


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
    return ask_git(root, "merge-base", "--is-ancestor", commit, "HEAD") is not None


if __name__ == "__main__":
    os.nice(10)
    home, index, *pairs = sys.argv[1:]
    with suppress(TreelineError):
        update(Path(home), index, dict(zip(pairs[::2], map(Path, pairs[1::2]), strict=True)))
