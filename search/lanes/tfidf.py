"""The TF-IDF lane: cosine over single terms and pairs of them.

Its matrix is made the first time the lane is asked, which takes a minute for 182,431 functions, and kept in a file of
the cache, which takes a second to read.
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
from treeline.engine.hits import with_scores
from treeline.engine.protocol import Engine, Filters, IndexInfo
from treeline.rerank.ranked_list import RankedList
from treeline.search.plan import TFIDF

log = logging.getLogger(__name__)

FOLDER = "tfidf"
DIGEST = 16  # bytes in front of the matrix, to check that it is whole
# With filters, this many times `k` are looked at: those that do not pass are dropped afterwards.
LOOKED_AT = 20
# Seconds that a query waits for the matrix. A small index is done by then, and a kept matrix is read. It is less than a
# lane's timeout, so the answer can say what it waits for.
WAIT = 2.0
# Seconds after a failure until it is tried again: reading all functions of a large index for nothing takes a minute.
TRY_AGAIN_AFTER = 60.0
REPORT_EVERY = 1_000  # functions

Progress = Callable[[str, int, int], None]  # what, how many are done, of how many


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Reports to nobody."""


class TfidfLane:
    """Over the matrix of one generation: stored with it, kept in `cache`, or built from its functions."""

    def __init__(self, engine: Engine, cache: Path | None = None) -> None:
        self._engine, self._cache = engine, cache
        self._lock = threading.Lock()
        self._matrix: Tfidf | None = None
        self._building: threading.Thread | None = None
        self._error: Exception | None = None
        self._failed = 0.0  # when

    def __call__(self, text: str, k: int, filters: Filters) -> RankedList:
        """The best `k`; raises `EngineUnavailable` while the matrix is still being made."""
        matrix = self._matrix
        if matrix is None:
            self._started().join(WAIT)
            matrix = self._matrix
        if matrix is None:
            if self._error is not None:
                raise self._error.with_traceback(None)  # which would grow with every question
            raise EngineUnavailable("the TF-IDF matrix of this index is being made", "ask again in a minute")
        found = dict(matrix.search(terms(text), k if filters == Filters() else LOOKED_AT * k))
        located = self._engine.locate(list(found), filters)[:k]
        return RankedList(TFIDF, with_scores(located, [found[hit.id] for hit in located]))

    def _started(self) -> threading.Thread:
        """The thread that makes the matrix; a new one some time after one has failed."""
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
        except Exception as error:  # noqa: BLE001 - said to whoever asks for this lane
            self._failed, self._error = monotonic(), error

    def prepare(self, progress: Progress = no_progress) -> None:
        """Load the matrix or build it, and wait for it."""
        self._matrix = load(self._engine.artifact(ARTIFACT) or self._made(progress))

    def _made(self, progress: Progress) -> bytes:
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
    """The kept matrix of this generation, or the one that `make` makes now; two processes never both make it."""
    path = path_of(cache, info)
    data = _read(path)
    if data is None:
        with _locked(path.parent):
            data = _read(path)
            if data is None:
                data = make()
                _write(path, data)
    return data


def forget(cache: Path, name: str) -> None:
    """Remove what is kept of an index that was dropped."""
    shutil.rmtree(cache / FOLDER / name, ignore_errors=True)


def path_of(cache: Path, info: IndexInfo) -> Path:
    """One file a generation; an index that was made anew under the same name and number has another one."""
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
    """Replace what other generations kept; where nothing can be written, the matrix is made again the next time."""
    try:
        for old in path.parent.glob("*-*"):
            old.unlink()
        write_atomically(path, blake2b(data, digest_size=DIGEST).digest() + data)
    except OSError as error:
        log.warning("the TF-IDF matrix cannot be kept for the next time: %s", error)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("ab")
    except OSError:  # nothing can be kept here, so there is nothing to lock
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
