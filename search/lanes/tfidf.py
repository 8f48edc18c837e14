"""The TF-IDF lane: cosine over single terms and pairs; its matrix is made the first time it is asked for, and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

from treeline.corpus.analysis import analyse, terms
from treeline.corpus.errors import EngineUnavailable
from treeline.corpus.tfidf import ARTIFACT, Tfidf, build, load
from treeline.engine.hits import rescored
from treeline.engine.protocol import Engine, Filters
from treeline.rerank.ranked_list import RankedList
from treeline.search.lanes.tfidf_file import kept

LANE = "tfidf"
# With filters, this many times `k` are looked at: those that do not pass are dropped afterwards.
LOOKED_AT = 20
# Seconds that a question waits for the matrix: a small index is done by then, and a kept matrix is read. Less than
# a lane has (`lane_timeout`), so that the answer can say what it waits for.
WAIT = 2.0
# Seconds after a failure until it is tried again: an engine that was away is back some time, and reading all functions
# of a large index for nothing takes a minute.
TRY_AGAIN_AFTER = 60.0
TOLD_EVERY = 1_000  # functions

Progress = Callable[[str, int, int], None]  # what, how many are done, of how many


def untold(_what: str, _done: int, _total: int) -> None:
    """Nobody is watching."""


class TfidfLane:
    """The matrix of one generation: stored with it, kept in `cache` from before, or built from its functions."""

    def __init__(self, engine: Engine, cache: Path | None = None) -> None:
        self._engine, self._cache = engine, cache
        self._lock = threading.Lock()
        self._matrix: Tfidf | None = None
        self._building: threading.Thread | None = None
        self._error: Exception | None = None
        self._failed = 0.0  # when

    def __call__(self, text: str, k: int, filters: Filters) -> RankedList:
        """The best `k`; says so when the matrix is not ready, and goes on making it."""
        matrix = self._matrix
        if matrix is None:
            self._begun().join(WAIT)
            matrix = self._matrix
        if matrix is None:
            if self._error is not None:
                raise self._error.with_traceback(None)  # which would grow with every question
            raise EngineUnavailable("the TF-IDF matrix of this index is being made", "ask again in a minute")
        found = dict(matrix.search(terms(text), k if filters == Filters() else LOOKED_AT * k))
        located = self._engine.locate(list(found), filters)[:k]
        return RankedList(LANE, rescored(located, [found[hit.id] for hit in located]))

    def _begun(self) -> threading.Thread:
        """The thread that makes the matrix; some time after one has failed, another."""
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

    def prepare(self, progress: Progress = untold) -> None:
        """Load the matrix or build it, and wait for it."""
        self._matrix = load(self._engine.artifact(ARTIFACT) or self._made(progress))

    def _made(self, progress: Progress) -> bytes:
        def make() -> bytes:
            return build(tfidf_rows(self._engine, progress))

        return make() if self._cache is None else kept(self._cache, self._engine.info, make)


def tfidf_rows(engine: Engine, progress: Progress = untold) -> Iterator[tuple[str, list[str]]]:
    """Every function's id and terms, for `build`."""
    for number, function in enumerate(engine.scan()):
        if number % TOLD_EVERY == 0:
            progress("making the TF-IDF matrix of this index", number, engine.info.functions)
        yield function.id, analyse(function).split()
