"""The state of a project in SQLite: the stamps and digests of its files as of the last refresh.

The file is also the lock that keeps two processes from refreshing the same project.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import orjson

from treeline.corpus.errors import TreelineError
from treeline.engine.durable import disk_errors
from treeline.ingest.source import Listing, Stamp, skip_reason

VERSION = 3
# A file may change twice within one tick of the file system's clock; two seconds is the coarsest one in use (FAT).
CLOCK_TICK_NS = 2_000_000_000
# Paths are bytes, because a name need not be UTF-8.
SCHEMA = """CREATE TABLE project (root BLOB, fingerprint TEXT, generation TEXT, checked_ns INTEGER, skipped TEXT,
    repo TEXT, branches TEXT);
CREATE TABLE file (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER, digest TEXT)
    WITHOUT ROWID;
CREATE TABLE folder (path BLOB PRIMARY KEY, mtime_ns INTEGER) WITHOUT ROWID;
CREATE TABLE rules (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER)
    WITHOUT ROWID;"""


class Stamps:
    """The files, folders and ignore files of a project as of its last refresh."""

    def __init__(self, database: sqlite3.Connection) -> None:
        columns = "fingerprint, generation, checked_ns, skipped, repo, branches"
        row = database.execute(f"SELECT {columns} FROM project").fetchone()  # noqa: S608
        fingerprint, generation, checked_ns, skips, repo, branches = row or ("", "", 0, "{}", "", "[]")
        self.fingerprint: str = fingerprint
        self.generation: str = generation
        self.checked_ns: int = checked_ns
        self.skipped = Counter[str](orjson.loads(skips))
        self.repo: str = repo
        # Generations of branches that were left, the last one first.
        self.branches: list[str] = orjson.loads(branches)
        rows = database.execute("SELECT * FROM file").fetchall()
        # Decoded together, which takes a tenth of the time; no path has a zero byte.
        paths = os.fsdecode(b"\0".join([row[0] for row in rows])).split("\0") if rows else []
        self.files = {path: Stamp._make(row[1:5]) for path, row in zip(paths, rows, strict=True)}
        self.digests: dict[str, str] = {path: row[5] for path, row in zip(paths, rows, strict=True)}
        self._saved = self.files, self.digests
        self.folders = {os.fsdecode(path): mtime_ns for path, mtime_ns in database.execute("SELECT * FROM folder")}
        self.rules = {os.fsdecode(path): Stamp(*stamp) for path, *stamp in database.execute("SELECT * FROM rules")}

    def forget(self) -> None:
        self.generation, self.branches = "", []
        self.files, self.digests, self.folders, self.rules = {}, {}, {}, {}

    def skips(self) -> Counter[str]:
        """The files and folders that are skipped, counted by reason."""
        return self.skipped + Counter(filter(None, map(skip_reason, self.digests.values())))

    def listing(self, root: Path) -> Listing | None:
        """The files with their current stamps; None if folders or ignore files changed, so there may be others.

        A file modified within a clock tick of the last refresh may have changed without a new stamp.
        """
        top, young = f"{root}/", self.checked_ns - CLOCK_TICK_NS
        try:
            for path, mtime_ns in self.folders.items():
                if mtime_ns >= young or os.lstat(top + path).st_mtime_ns != mtime_ns:
                    return None
            for path, stamp in self.rules.items():
                if stamp.ctime_ns >= young or Stamp.of(os.lstat(top + path)) != stamp:
                    return None
            stamps = {path: Stamp.of(os.lstat(top + path)) for path in self.files}
        except OSError:
            return None
        return Listing(stamps, self.folders, self.rules, self.skipped) if self.folders else None

    def has_read(self, listing: Listing) -> bool:
        """Whether every file is unchanged since it was read."""
        young = self.checked_ns - CLOCK_TICK_NS
        return listing.files == self.files and all(stamp.ctime_ns < young for stamp in self.files.values())

    def reliable_digests(self, listing: Listing) -> dict[str, str]:
        """The digests of files whose stamps are unchanged."""
        young = self.checked_ns - CLOCK_TICK_NS
        return {
            path: self.digests[path]
            for path, stamp in listing.files.items()
            if self.files.get(path) == stamp and stamp.ctime_ns < young
        }

    def save(
        self,
        database: sqlite3.Connection,
        root: Path,
        fingerprint: str,
        generation: str,
        checked_ns: int,
        listing: Listing,
    ) -> None:
        with closing(database.cursor()) as cursor:
            for table in ("project", "folder", "rules"):
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608
            skips, branches = orjson.dumps(self.skipped).decode(), orjson.dumps(self.branches).decode()
            row = (os.fsencode(root), fingerprint, generation, checked_ns, skips, self.repo, branches)
            cursor.execute("INSERT INTO project VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            stamps, digests = self._saved
            old_files = [(os.fsencode(path),) for path in stamps.keys() - listing.files.keys()]
            cursor.executemany("DELETE FROM file WHERE path = ?", old_files)
            rows = (
                (os.fsencode(path), *stamp, self.digests[path])
                for path, stamp in listing.files.items()
                if stamps.get(path) != stamp or digests[path] != self.digests[path]
            )
            cursor.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)", rows)
            folders = ((os.fsencode(path), mtime_ns) for path, mtime_ns in listing.folders.items())
            cursor.executemany("INSERT INTO folder VALUES (?, ?)", folders)
            rules = ((os.fsencode(path), *stamp) for path, stamp in listing.rules.items())
            cursor.executemany("INSERT INTO rules VALUES (?, ?, ?, ?, ?)", rules)
            cursor.execute("COMMIT")


def repo_in(state: Path) -> str:
    """The name of a project's repository in its index, '' if it has none yet."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as database:
        row = database.execute("SELECT repo FROM project").fetchone()
        return str(row[0]) if row else ""
    return ""


def files_in(state: Path, *, skipped: bool = False) -> list[tuple[bytes, int]]:
    """The path and size of every file in a project's index, as of its last refresh; or also of those that were skipped
    for what is in them."""
    with closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as database:
        # `skip_reason` in SQL, which is quicker: a digest ends with the reason behind a space.
        return database.execute("SELECT path, size FROM file WHERE ? OR NOT instr(digest, ' ')", (skipped,)).fetchall()


@contextmanager
def open_state(file: Path, home: Path) -> Iterator[sqlite3.Connection]:
    """A project's SQLite file; a missing or damaged one is made again, because all of it can be recomputed."""
    with disk_errors(home):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.parent.mkdir(exist_ok=True)
        try:
            database = _connect(file)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise OSError(errno.EACCES, str(error)) from error
            file.unlink()
            database = _connect(file)
    with closing(database):
        yield database


def _connect(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, isolation_level=None)
    # Losing the last refresh's stamps costs only time.
    database.execute("PRAGMA synchronous = OFF")
    return database


def lock(database: sqlite3.Connection, patience: float) -> bool:
    """Whether this process got the lock to refresh; the lock ends with the connection."""
    database.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
    try:
        database.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise TreelineError(f"the project's state cannot be saved: {error}") from error
    if database.execute("PRAGMA user_version").fetchone()[0] != VERSION:
        for table in ("project", "file", "folder", "rules"):
            database.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in (*SCHEMA.split(";"), f"PRAGMA user_version = {VERSION}"):
            database.execute(statement)
    return True
