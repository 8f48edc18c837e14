"""The text of indexed files, stored compressed with a generation, so that pages can show files whose folder is gone.

Each text is one zlib frame. Frames lie in segments, artifacts that are never changed, so the next generation shares
them with the one before. The artifact `files` is a small SQLite database that says where the frame of each file is.
`ingest/texts.py` writes them.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from typing import Any, NamedTuple

from treeline.corpus.errors import TreelineError
from treeline.engine.protocol import Engine

ARTIFACT = "files"
VERSION = 1
SCHEMA = f"""PRAGMA user_version = {VERSION};
CREATE TABLE file (repo TEXT, path TEXT, unit INTEGER, language TEXT, size INTEGER, lines INTEGER,
                   segment INTEGER, start INTEGER, length INTEGER, PRIMARY KEY (repo, path, unit)) WITHOUT ROWID;
CREATE INDEX file_unit ON file (unit);
CREATE TABLE segment (number INTEGER PRIMARY KEY, size INTEGER);"""


class FileEntry(NamedTuple):
    """A file whose text is kept; `size` is in bytes."""

    path: str
    language: str
    size: int
    lines: int


class FileTexts:
    """The texts of one open generation; safe to use from several threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._files = open_database(engine.artifact(ARTIFACT) or b"")

    def repositories(self) -> list[tuple[str, int, int]]:
        """Each repository with how many files of it are kept, and their bytes."""
        rows = self._rows("SELECT repo, count(*), sum(size) FROM file GROUP BY repo ORDER BY repo")
        return [(repo, files, size) for repo, files, size in rows]

    def files(self, repo: str, folder: str = "") -> list[FileEntry]:
        """Every file of a repository below a folder (`src/`), by path."""
        query = "SELECT path, language, size, lines FROM file WHERE repo = ? AND path >= ? AND path < ? GROUP BY path"
        return [FileEntry(*row) for row in self._rows(query, repo, folder, f"{folder}\U0010ffff")]

    def entry(self, repo: str, path: str) -> FileEntry | None:
        """The entry of one file; None if its text is not kept."""
        rows = self._rows("SELECT path, language, size, lines FROM file WHERE repo = ? AND path = ?", repo, path)
        return FileEntry(*rows[0]) if rows else None

    def read(self, repo: str, path: str) -> bytes | None:
        """A file as it was when it was indexed; None where its text is not kept. Raises where it is damaged."""
        rows = self._rows("SELECT segment, start, length, size FROM file WHERE repo = ? AND path = ?", repo, path)
        if not rows:
            return None
        segment, start, length, size = rows[0]
        frame = self._engine.artifact_part(segment_name(segment), start, length)
        if frame is None:
            return None
        unpacker = zlib.decompressobj()
        try:
            content = unpacker.decompress(frame, size + 1)
        except zlib.error as error:
            raise _damage(path, str(error)) from error
        if len(content) != size or not unpacker.eof:
            raise _damage(path, f"{len(content)} of {size} bytes are there")
        return content

    def close(self) -> None:
        self._files.close()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._files.execute(query, values).fetchall()


def open_database(data: bytes) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if data:
        database.deserialize(data)
        if database.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return database
        database.close()  # of another version: texts are stored again as files change
        database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.executescript(SCHEMA)
    return database


def segment_name(segment: int) -> str:
    return f"{ARTIFACT}-{segment:06d}"


def _damage(path: str, why: str) -> TreelineError:
    return TreelineError(f"the kept text of {path} is damaged: {why}", "rebuild the index with --fresh")
