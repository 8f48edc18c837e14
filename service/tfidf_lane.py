"""The TF-IDF lane: cosine over single terms and pairs; its matrix is made the first time it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from corpus.analysis import analyse, terms
from corpus.errors import EngineUnavailable
from corpus.tfidf import ARTIFACT, Tfidf, build, load
from engine.hits import rescored
from engine.protocol import Engine, Filters
from rerank.ranked import RankedList

LANE = "tfidf"
# With filters, this many times `k` are looked at: those that do not pass are dropped afterwards.
LOOKED_AT = 20


class TfidfLane:
    """The matrix of one generation: stored with it, or built in the background from its functions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._matrix: Tfidf | None = None
        self._building: threading.Thread | None = None
        self._error: Exception | None = None

    def __call__(self, text: str, k: int, filters: Filters) -> RankedList:
        """The best `k`; says so when the matrix is not ready, and goes on making it."""
        matrix = self._matrix
        if matrix is None:
            with self._lock:
                if self._building is None:
                    self._building = threading.Thread(target=self._try, name="tfidf", daemon=True)
                    self._building.start()
            self._building.join(1.0)  # a small index is done by then
            matrix = self._matrix
        if self._error is not None:
            raise self._error
        if matrix is None:
            raise EngineUnavailable("the TF-IDF matrix of this index is being made", "ask again in a minute")
        found = dict(matrix.search(terms(text), k if filters == Filters() else LOOKED_AT * k))
        located = self._engine.locate(list(found), filters)[:k]
        return RankedList(LANE, rescored(located, [found[hit.id] for hit in located]))

    def _try(self) -> None:
        try:
            self.prepare()
        except Exception as error:  # noqa: BLE001 - said to whoever asks for this lane
            self._error = error

    def prepare(self) -> None:
        """Load the matrix or build it, and wait for it."""
        stored = self._engine.artifact(ARTIFACT)
        self._matrix = load(stored if stored is not None else build(tfidf_rows(self._engine)))


def tfidf_rows(engine: Engine) -> Iterator[tuple[str, list[str]]]:
    """Every function's id and terms, for `build`."""
    for function in engine.scan():
        yield function.id, analyse(function).split()
