"""The history of repositories as evidence: the commits nearest to a question vote for the files that they touched.

One SQLite file per index holds the messages in a full-text index (BM25) and the files of each commit under their
current paths. A message names a file in the words of issues; the file's own words are those of the code.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from treeline.corpus.analysis import terms
from treeline.corpus.errors import EngineUnavailable
from treeline.corpus.frozen import frozen

FOLDER = ".history"
VERSION = 2
SCHEMA = """
CREATE TABLE repository (repo TEXT PRIMARY KEY, root BLOB, head TEXT, quality REAL, end TEXT) WITHOUT ROWID;
CREATE TABLE commits (id INTEGER PRIMARY KEY, repo TEXT, hash TEXT, time INTEGER, author TEXT, subject TEXT, body TEXT);
CREATE TABLE file (id INTEGER PRIMARY KEY, repo TEXT, path TEXT, is_gone INTEGER DEFAULT 0);
CREATE INDEX file_by_path ON file (repo, path, is_gone);
CREATE TABLE touched (commit_id INTEGER, file_id INTEGER, PRIMARY KEY (commit_id, file_id)) WITHOUT ROWID;
CREATE INDEX touched_by_file ON touched (file_id, commit_id);
CREATE VIRTUAL TABLE message USING
    fts5(subject, body, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '_'");
"""
MOST_TERMS = 60  # of a question
SUBJECT_WEIGHT = 2.0  # of a word in the subject, in parts of one in the body
VOTERS = 100  # commits nearest to the question
MASS = 50  # files; a commit that touches more says little about each, and has no vote
VOTE_POWER = 2.0  # of a commit's score in parts of the best: commits far from the question hardly count
SIZE_POWER = 0.5  # of the number of files by which a vote is divided
SHARE_POWER = 0.5  # of a file's votes in parts of the most
# Commits that touch files for another reason than what their message says.
ROUTINE = re.compile(
    r"(?:chore\b[^:]{0,40}: ?)?(?:bump|releas|prepare (?:for )?releas|version \d|update dependenc|(?:re)?format"
    r"|lint\b|merge\b|run (?:black|gofmt|prettier|rustfmt))|v?\d+\.\d+|\[pre-commit",
    re.IGNORECASE,
)
SAMPLE = 100  # of the last commits, asked to measure how well messages lead to files
TOP = 10  # files among which one that the commit touched is a success
BESIDE_CODE = re.compile(
    r"(?:^|[/_.])(?:tests?|specs?|docs?|examples?|changelog|changes|news)(?:[/_.]|$)", re.IGNORECASE
)

FADING = 20.0  # commits after which an older one counts half for files that change together, or often
TOGETHER = 200  # last commits of a file that say what changes with it
LATELY, LATELY_FADING = 30, 5.0  # last commits of a repository that say what is being worked on


class Change(NamedTuple):
    """One path of a commit: `status` is git's letter (A, M, D, R …); `old` is the path before a rename."""

    status: str
    path: str
    old: str = ""


class Commit(NamedTuple):
    """A commit, without what it changed."""

    hash: str
    time: int  # seconds since 1970
    author: str
    subject: str
    body: str = ""

    @property
    def title(self) -> str:
        """`3a1c2f9 Fix cookie path`."""
        return f"{self.hash[:7]} {self.subject}"


class Vote(NamedTuple):
    """A file's votes in parts of the most that any has, and the commit that gave most of them."""

    share: float
    commit: Commit


class Companion(NamedTuple):
    """A file that changed together with others: a weight that fades with age and size, the common commits, and the
    largest part of the commits of one of the others that they are."""

    weight: float
    commits: int
    share: float


@frozen
class Repository:
    """One repository's history. `quality` is the share of recent commits whose message led to a file they touched;
    `end` has the last commits of a shallow clone."""

    root: Path
    head: str
    quality: float
    end: str = ""


class History:
    """The histories of an index's repositories, for reading; safe to use from several threads."""

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        if self._database.execute("PRAGMA user_version").fetchone() != (VERSION,):
            self._database.close()
            raise sqlite3.DatabaseError(f"{file.name} is a history of another version")

    def repositories(self) -> dict[str, Repository]:
        rows = self._rows("SELECT repo, root, head, quality, end FROM repository")
        return {repo: Repository(Path(os.fsdecode(root)), *rest) for repo, root, *rest in rows}

    @property
    def is_shallow(self) -> bool:
        return any(one.end for one in self.repositories().values())

    def search(self, words: Sequence[str], k: int, before: int = 0) -> list[tuple[int, float]]:
        """The ids and BM25 scores of the commits with the best messages; repeated words count more. `before`: an id to
        look only at older commits."""
        query = " OR ".join(f'"{word}"' for word in words[:MOST_TERMS])
        older = f"AND rowid < {before:d}" if before else ""
        sql = (
            f"SELECT rowid, -bm25(message, {SUBJECT_WEIGHT}, 1.0) AS score FROM message WHERE message MATCH ? {older}"  # noqa: S608
            " ORDER BY score DESC LIMIT ?"
        )
        return self._rows(sql, query, k) if query else []

    def votes(self, words: Sequence[str], before: int = 0) -> dict[tuple[str, str], Vote]:
        """The files that commits with messages near these words touched, by repository and path, most votes first."""
        voters = self.search(words, VOTERS, before)
        if not voters:
            return {}
        scores = {id_: (max(score, 0.0) / max(voters[0][1], 1e-9)) ** VOTE_POWER for id_, score in voters}
        sums: dict[int, float] = defaultdict(float)
        best: dict[int, tuple[float, int]] = {}
        for id_, files in self._files(scores).items():
            vote = scores[id_] / len(files) ** SIZE_POWER
            for file in files:
                sums[file] += vote
                best[file] = max(best.get(file, (0.0, 0)), (vote, id_))
        names = self._names(sums)
        ranked = sorted(names, key=lambda file: -sums[file])
        commits = self.commits({best[file][1] for file in ranked})
        most = sums[ranked[0]] or 1.0 if ranked else 1.0
        return {names[file]: Vote((sums[file] / most) ** SHARE_POWER, commits[best[file][1]]) for file in ranked}

    def commits(self, ids: Iterable[int]) -> dict[int, Commit]:
        """Commits by id."""
        rows = self._of("SELECT id, hash, time, author, subject, body FROM commits WHERE id IN ({})", ids)
        return {id_: Commit(*rest) for id_, *rest in rows}

    def repos(self, ids: Iterable[int]) -> dict[int, str]:
        """The repositories of commits, by the commit's id."""
        return dict(self._of("SELECT id, repo FROM commits WHERE id IN ({})", ids))

    def paths(self, ids: Iterable[int]) -> dict[int, list[str]]:
        """The current paths of what each commit touched, by the commit's id."""
        paths: dict[int, list[str]] = defaultdict(list)
        for id_, path in self._of(
            "SELECT commit_id, path FROM touched JOIN file ON file.id = file_id WHERE commit_id IN ({}) ORDER BY path",
            ids,
        ):
            paths[id_].append(path)
        return paths

    def last_commits(self, repo: str, path: str, k: int) -> list[int]:
        """The ids of the last commits that touched a file, newest first."""
        rows = self._rows(
            "SELECT commit_id FROM touched JOIN file ON file.id = file_id"
            " WHERE repo = ? AND path = ? AND NOT is_gone ORDER BY commit_id DESC LIMIT ?",
            *(repo, path, k),
        )
        return [id_ for (id_,) in rows]

    def files(self) -> dict[int, tuple[str, str]]:
        """Repository and path of every file that is there, by id."""
        rows = self._rows("SELECT id, repo, path FROM file WHERE NOT is_gone")
        return {id_: (repo, path) for id_, repo, path in rows}

    def paths_of(self, repo: str) -> set[str]:
        """Every path of a repository that is there."""
        return {path for (path,) in self._rows("SELECT path FROM file WHERE repo = ? AND NOT is_gone", repo)}

    def last_of(self, files: Iterable[int], k: int) -> list[int]:
        """The ids of the last commits that touched any of these files, newest first; no routine, no mass changes."""
        sql = (
            "SELECT DISTINCT commit_id FROM touched WHERE file_id IN (SELECT value FROM json_each(?))"
            " AND commit_id IN (SELECT rowid FROM message) ORDER BY commit_id DESC LIMIT ?"
        )
        ids = [id_ for (id_,) in self._rows(sql, json.dumps(list(files)), k)]
        small = self._files(ids)
        return [id_ for id_ in ids if id_ in small]

    def changed_with(self, repo: str, paths: Collection[str]) -> dict[str, Companion]:
        """The other files that commits changed together with these. A common commit counts less the more files it
        touches and the older it is among those of the file. A new file has the commits of its folder."""
        weights: dict[int, float] = defaultdict(float)
        shares: dict[int, float] = defaultdict(float)
        commits: dict[int, set[int]] = defaultdict(set)
        known = dict(
            self._rows(
                "SELECT path, id FROM file WHERE repo = ? AND NOT is_gone AND path IN (SELECT value FROM json_each(?))",
                *(repo, json.dumps(list(paths))),
            )
        )
        for own in known.values():
            ids = self._rows(
                "SELECT commit_id FROM touched WHERE file_id = ? ORDER BY commit_id DESC LIMIT ?", own, TOGETHER
            )
            parts: dict[int, float] = defaultdict(float)
            for file, commit, weight in self._fading(ids):
                parts[file] += weight
                commits[file].add(commit)
            total = sum(0.5 ** (age / FADING) for age in range(len(ids))) + 1
            for file, weight in parts.items():
                weights[file] += weight
                shares[file] = max(shares[file], weight / total)
        for folder in {path.rpartition("/")[0] for path in paths if path not in known} - {""}:
            ids = self._rows(
                "SELECT DISTINCT commit_id FROM touched JOIN file ON file.id = file_id WHERE repo = ? AND path > ?"
                " AND path < ? AND NOT instr(substr(path, ?), '/') ORDER BY commit_id DESC LIMIT ?",
                *(repo, f"{folder}/", f"{folder}0", len(folder) + 2, TOGETHER),
            )
            for file, _, weight in self._fading(ids):
                weights[file] += weight
        names = self._names(weights.keys() - known.values())
        return {path: Companion(weights[file], len(commits[file]), shares[file]) for file, (_, path) in names.items()}

    def changed_lately(self, repo: str) -> dict[str, float]:
        """The files that the last commits of a repository changed, each with a weight that fades."""
        weights: dict[int, float] = defaultdict(float)
        ids = self._rows("SELECT id FROM commits WHERE repo = ? ORDER BY id DESC LIMIT ?", repo, LATELY)
        for file, _, weight in self._fading(ids, LATELY_FADING):
            weights[file] += weight
        return {path: weights[file] for file, (_, path) in self._names(weights).items()}

    def _fading(self, commits: Sequence[tuple[int]], half: float = FADING) -> Iterator[tuple[int, int, float]]:
        """Each file of these commits, newest first, with the commit's id and weight."""
        files_of = self._files(id_ for (id_,) in commits)
        for age, (id_,) in enumerate(commits):
            files = files_of.get(id_, ())
            for file in files:
                yield file, id_, 0.5 ** (age / half) / len(files) ** SIZE_POWER

    def measure_quality(self, repo: str) -> float:
        """The share of the last commits whose subject leads to a file they touched, by the messages before them."""
        rows = self._rows(
            "SELECT id, subject FROM commits WHERE repo = ? AND id IN (SELECT rowid FROM message)"
            " ORDER BY id DESC LIMIT ?",
            *(repo, SAMPLE),
        )
        touched = self.paths(id_ for id_, _ in rows)
        code = {id_: {path for path in paths if not BESIDE_CODE.search(path)} for id_, paths in touched.items()}
        successes = []
        for id_, subject in rows:
            if 0 < len(code.get(id_, ())) <= TOP:
                ranked = [path for _, path in self.votes(terms(subject), id_) if not BESIDE_CODE.search(path)]
                successes.append(not code[id_].isdisjoint(ranked[:TOP]))
        return (sum(successes) + 1) / (len(successes) + 2)  # by the rule of succession: a half of few is unsure

    def close(self) -> None:
        self._database.close()

    def _files(self, ids: Iterable[int]) -> dict[int, list[int]]:
        """The files of each commit that does not touch too many."""
        files: dict[int, list[int]] = defaultdict(list)
        for id_, file in self._of("SELECT commit_id, file_id FROM touched WHERE commit_id IN ({})", ids):
            files[id_].append(file)
        return {id_: own for id_, own in files.items() if len(own) <= MASS}

    def _names(self, files: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Repository and path of the files that are still there."""
        rows = self._of("SELECT id, repo, path FROM file WHERE NOT is_gone AND id IN ({})", files)
        return {file: (repo, path) for file, repo, path in rows}

    def _of(self, sql: str, ids: Iterable[int]) -> list[Any]:
        return self._rows(sql.format(",".join(map(str, ids))))

    def _rows(self, sql: str, *values: object) -> list[Any]:
        try:
            with self._lock:
                return self._database.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise EngineUnavailable(f"the history cannot be read: {error}") from error


class StoredHistory:
    """The history of an index as it is now in its file, opened when it is asked for; None where there is none."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, threading.Lock()
        self._history: History | None = None
        self._stamp: tuple[int, int, int] | None = None

    def __call__(self) -> History | None:
        try:
            state = self._file.stat()
        except OSError:
            return None
        stamp = (state.st_ino, state.st_mtime_ns, state.st_size)
        with self._lock:
            if stamp != self._stamp:
                self._stamp, self._history = stamp, None
                with suppress(sqlite3.Error):
                    self._history = History(self._file)
            return self._history

    def close(self) -> None:
        if self._history is not None:
            self._history.close()


def history_file(home: Path, index: str) -> Path:
    """The file that has the history of an index's repositories."""
    return home / FOLDER / f"{index}.sqlite"


def create(database: sqlite3.Connection) -> None:
    """Make the tables."""
    database.executescript(f"{SCHEMA}PRAGMA user_version = {VERSION};")


def add(
    database: sqlite3.Connection,
    repo: str,
    commits: Iterable[tuple[Commit, Sequence[Change]]],
    end: Collection[str] = (),
) -> None:
    """Add a repository's next commits, oldest first. Of those at the `end` of a shallow clone only the files are known,
    not what they changed."""
    number = (database.execute("SELECT max(id) FROM commits").fetchone()[0] or 0) + 1
    file_id = (database.execute("SELECT max(id) FROM file").fetchone()[0] or 0) + 1
    paths = dict(database.execute("SELECT path, id FROM file WHERE repo = ? AND NOT is_gone", (repo,)))
    rows, touched, messages, gone = [], [], [], []
    for commit, changes in commits:
        for old, new in _moves(changes):
            if old in paths:
                paths[new] = paths.pop(old)
        files = []
        for change in changes:
            if change.path not in paths:
                if change.status == "D":
                    continue
                paths[change.path] = file_id
                file_id += 1
            files.append(paths[change.path])
            if change.status == "D":
                gone.append((paths.pop(change.path), change.path))
        if commit.hash in end:
            continue
        rows.append((number, repo, *commit))
        touched += [(number, file) for file in dict.fromkeys(files)]
        if not ROUTINE.match(commit.subject):
            messages.append((number, " ".join(terms(commit.subject)), " ".join(terms(commit.body))))
        number += 1
    database.executemany("INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    database.executemany("INSERT INTO touched VALUES (?, ?)", touched)
    database.executemany("INSERT INTO message (rowid, subject, body) VALUES (?, ?, ?)", messages)
    database.executemany(
        "INSERT INTO file (id, repo, path, is_gone) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
        " SET path = excluded.path, is_gone = excluded.is_gone",
        [*((file, repo, path, 1) for file, path in gone), *((file, repo, path, 0) for path, file in paths.items())],
    )


def _moves(changes: Sequence[Change]) -> list[tuple[str, str]]:
    """The renames of a commit: those that git is sure of, and files that went and came under one name."""
    moves = [(change.old, change.path) for change in changes if change.old]
    gone: dict[str, list[str]] = defaultdict(list)
    new: dict[str, list[str]] = defaultdict(list)
    for change in changes:
        if change.status in "AD":
            (new if change.status == "A" else gone)[change.path.rpartition("/")[2]].append(change.path)
    return moves + [(old[0], new[name][0]) for name, old in gone.items() if len(old) == len(new.get(name, ())) == 1]
