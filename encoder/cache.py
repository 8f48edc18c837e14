"""A cache of vectors by content: a slow encoder reads each function once, for all indexes."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b, file_digest
from pathlib import Path
from threading import Lock

import numpy as np

from treeline.corpus.errors import DiskFull, TreelineError
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder, Vectors, unit
from treeline.encoder.text import passage

log = logging.getLogger(__name__)

DAMAGE_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
DISK_CODES = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
RUN_AGAIN = "free some space or make the folder writable, then run it again; what was read is kept"
CODE = 0xFF  # the primary part of SQLite's extended error codes
ASKED_AT_ONCE = 500  # SQLite's limit on variables in one statement is 999 on old builds


class CachedEncoder:
    """Caches an encoder's function vectors in a SQLite file, in half precision, keyed by encoder and text.

    `model` is the digest of the model's folder, whose content may change; `text` is all that the encoder reads of a
    function.
    """

    def __init__(
        self, encoder: Encoder, file: Path, model: bytes = b"", text: Callable[[Function], str] = passage
    ) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.name, self.dimension, self.usual = encoder.name, encoder.dimension, encoder.usual
        self._encoder, self._file, self._model, self._text = encoder, file, model, text
        self._lock = Lock()
        self._rows = self._connect()
        with self._errors():
            self._prepare()

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._encoder.encode_queries(texts)

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        keys = [self._key(self._text(function)) for function in functions]
        known = self._known(keys)
        new = {key: function for key, function in zip(keys, functions, strict=True) if key not in known}
        if new:
            vectors = self._encoder.encode_functions(list(new.values()))
            fresh = {key: vector.astype(np.float16).tobytes() for key, vector in zip(new, vectors, strict=True)}
            with self._lock, self._errors(), self._rows:
                self._rows.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", fresh.items())
            known |= fresh
        rows = np.frombuffer(b"".join(known[key] for key in keys), dtype=np.float16)
        return unit(rows.reshape(len(keys), self.dimension).astype(np.float32))

    def close(self) -> None:
        self._rows.close()

    def _key(self, text: str) -> bytes:
        key_text = f"{self.name}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(key_text, digest_size=16, key=self._model).digest()

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        known: dict[bytes, bytes] = {}
        unique = list(dict.fromkeys(keys))
        size = self.dimension * 2
        with self._lock, self._errors():
            for start in range(0, len(unique), ASKED_AT_ONCE):
                some = unique[start : start + ASKED_AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._rows.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some)  # noqa: S608
                known |= {key: vector for key, vector in rows if len(vector) == size}
        return known

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Replace a damaged file by an empty one: everything in it can be computed again. Say what a disk refuses."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & CODE
            if code in DISK_CODES:
                kind = DiskFull if code == sqlite3.SQLITE_FULL else TreelineError
                raise kind(f"cannot write the vectors in {self._file}: {error}", RUN_AGAIN) from error
            if code not in DAMAGE_CODES:
                raise
            log.warning("%s is damaged (%s) and will be rebuilt", self._file, error)
            self._rows.close()
            for end in ("", "-wal", "-shm", "-journal"):
                self._file.with_name(self._file.name + end).unlink(missing_ok=True)
            self._rows = self._connect()
            self._prepare()

    def _connect(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(self._file, check_same_thread=False, timeout=30)
        except sqlite3.OperationalError as error:
            raise TreelineError(f"cannot open the vectors in {self._file}: {error}", RUN_AGAIN) from error

    def _prepare(self) -> None:
        self._rows.execute("PRAGMA journal_mode=WAL")
        self._rows.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")


def digest(folder: Path) -> bytes:
    """A digest of all files of a model's folder."""
    total = blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            total.update(str(path.relative_to(folder)).encode("utf-8", "surrogateescape") + b"\0")
            total.update(file_digest(file, "blake2b").digest())
    return total.digest()
