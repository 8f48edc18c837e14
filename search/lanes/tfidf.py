"""The TF-IDF lane: cosine over single terms and pairs of them.

Its matrix is built at the first query, which takes a minute for 182,431 functions, and cached in a file, which takes a
second to read.
"""

from __future__ import annotations

import fcntl
import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from time import monotonic

from treeline.corpus.analysis import analyse, terms
from treeline.corpus.errors import EngineUnavailable
from treeline.corpus.tfidf import ARTIFACT, Tfidf, build, load
from treeline.engine.durable import write_atomically
from treeline.engine.hits import Hits
from treeline.engine.protocol import Engine, Filters, IndexInfo
from treeline.rerank.fusion import RankedList
from treeline.search.plan import TFIDF

log = logging.getLogger(__name__)

FOLDER = "tfidf"
DIGEST = 16  # bytes before the matrix, to check that it is complete
# With filters, this many times `k` are ranked, because those that do not pass are dropped afterwards.
LOOKED_AT = 20
# Seconds that a query waits for the matrix: enough for a small index or a cached matrix, and less than a lane's
# timeout, so the answer can say what it waits for.
BUILD_TIMEOUT_S = 2.0
# Seconds after a failure until the next attempt, which may take a minute.
TRY_AGAIN_AFTER = 60.0
REPORT_EVERY = 1_000  # functions

Progress = Callable[[str, int, int], None]  # label, done, total


def no_progress(_what: str, _count: int, _total: int) -> None:
    """Reports nothing."""


class TfidfLane:
    """The lane over the matrix of one generation: stored with it, cached in `cache`, or built now."""

    def __init__(self, engine: Engine, cache: Path | None = None) -> None:
        self._engine, self._cache = engine, cache
        self._lock = threading.Lock()
        self._matrix: Tfidf | None = None
        self._building: threading.Thread | None = None
        self._error: Exception | None = None
        self._failed = 0.0  # when

    def __call__(self, text: str, k: int, filters: Filters) -> RankedList:
        """The best `k`; raises `EngineUnavailable` while the matrix is being built."""
        matrix = self._matrix
        if matrix is None:
            self._builder().join(BUILD_TIMEOUT_S)
            matrix = self._matrix
        if matrix is None:
            if self._error is not None:
                raise self._error.with_traceback(None)  # or it grows with every query
            raise EngineUnavailable("the TF-IDF matrix of this index is being made", "ask again in a minute")
        scores = dict(matrix.search(terms(text), k if filters == Filters() else LOOKED_AT * k))
        hits = Hits.of(self._engine.locate(list(scores), filters))[:k]
        return RankedList(TFIDF, hits.with_scores([scores[id_] for id_ in hits.ids]))

    def _builder(self) -> threading.Thread:
        """The thread that builds the matrix; a new one some time after a failure."""
        with self._lock:
            again = self._error is not None and monotonic() - self._failed >= TRY_AGAIN_AFTER
            if self._building is None or again:
                self._error = None
                self._building = threading.Thread(target=self._try, name="tfidf", daemon=True)
                self._building.start()
            return self._building

    def _try(self) -> None:
        try:
            self.prepare()
        except Exception as error:  # noqa: BLE001 - reported by the lane
            self._failed, self._error = monotonic(), error

    def prepare(self, progress: Progress = no_progress) -> None:
        """Load or build the matrix, and wait for it."""
        self._matrix = load(self._engine.artifact(ARTIFACT) or self._make(progress))

    def _make(self, progress: Progress) -> bytes:
        def make() -> bytes:
            return build(tfidf_rows(self._engine, progress))

        return make() if self._cache is None else cached_matrix(self._cache, self._engine.info, make)


def tfidf_rows(engine: Engine, progress: Progress = no_progress) -> Iterator[tuple[str, list[str]]]:
    """Every function's id and terms."""
    for number, function in enumerate(engine.scan()):
        if number % REPORT_EVERY == 0:
            progress("making the TF-IDF matrix of this index", number, engine.info.functions)
        yield function.id, analyse(function).split()


def cached_matrix(cache: Path, info: IndexInfo, make: Callable[[], bytes]) -> bytes:
    """The cached matrix of this generation, or the one that `make` builds now, in one process at a time."""
    path = path_of(cache, info)
    data = _read(path)
    if data is None:
        with _lock_on(path.parent):
            data = _read(path)
            if data is None:
                data = make()
                _write(path, data)
    return data


def forget(cache: Path, name: str) -> None:
    """Remove the cached matrices of a dropped index."""
    shutil.rmtree(cache / FOLDER / name, ignore_errors=True)


def path_of(cache: Path, info: IndexInfo) -> Path:
    """One file per generation; an index rebuilt under the same name and number has another one."""
    identity = blake2b(info.identity.encode(), digest_size=8).hexdigest()
    return cache / FOLDER / info.name / f"{info.generation}-{identity}"


def _read(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, data = content[:DIGEST], content[DIGEST:]
    return data if digest == blake2b(data, digest_size=DIGEST).digest() else None


def _write(path: Path, data: bytes) -> None:
    """Replace the files of other generations; if writing fails, the matrix is built again the next time."""
    try:
        for old in path.parent.glob("*-*"):
            old.unlink()
        write_atomically(path, blake2b(data, digest_size=DIGEST).digest() + data)
    except OSError as error:
        log.warning("the TF-IDF matrix cannot be cached: %s", error)


@contextmanager
def _lock_on(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("ab")
    except OSError:  # nothing can be written here, so there is nothing to lock
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
