"""A searcher that stays current: it notices a new generation of its index and switches between two searches."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from corpus.errors import MAKE_ANEW, EncoderMismatch, EngineUnavailable, InputError
from corpus.function import Function
from encoder.absent import AbsentEncoder
from encoder.loading import load
from encoder.protocol import Encoder
from engine.protocol import NO_FILTERS, EncoderSpec, Engine, Filters, Hit, IndexInfo, Store
from graph.references import Relation
from rerank.candidate import Candidate
from service.lanes.results import LaneResults
from service.lanes.tfidf import Progress, untold
from service.question.exact import Written
from service.question.query import Query
from service.question.structural import Direction
from service.question.structure import Neighbour, Structure
from service.searching.answer import Answer
from service.searching.computing import Computing
from service.searching.searcher import Adjust, Ranking, Searcher
from service.searching.side_by_side import SideBySide
from service.settings import Settings
from service.stores import open_store

log = logging.getLogger(__name__)

# Seconds between two looks at the store: a new index is seen soon enough, and a busy server asks once a second.
LOOK_EVERY = 1.0
# Seconds that a search waits for that look. A folder answers in 20 µs; a cluster that is away must not hold it up.
LOOK_FOR = 0.05
# Seconds until an encoder that was not at hand is asked for again: the hub may be back, a package installed.
ASK_EVERY = 60.0


def open_searcher(
    settings: Settings, index: str = "", *, adjust: Adjust | None = None, without_encoder: bool = False
) -> LiveSearcher:
    """The searcher of the named (or the settings') index; raises `IndexMissing`, `EncoderMismatch`."""
    return LiveSearcher(
        open_store(settings),
        index or settings.index,
        settings,
        adjust=adjust,
        cache=settings.cache_path,
        without_encoder=without_encoder,
    )


class LiveSearcher:
    """The methods of `Searcher` over whichever generation is current; searches in flight finish on theirs.

    With `without_encoder` an index is opened though its encoder is not at hand: it is searched by its other lanes, and
    every answer says why. That is for servers, which better answer with less than not at all.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        settings: Settings | None = None,
        *,
        adjust: Adjust | None = None,
        load_encoder: Callable[[str], Encoder | None] = load,
        cache: Path | None = None,
        without_encoder: bool = False,
    ) -> None:
        self.store, self.name, self.settings = store, name, settings or Settings()
        self._adjust, self._cache = adjust, cache
        self._load_encoder = load_encoder
        self._encoders: dict[str, Encoder] = {}
        self._threads, self._computing = SideBySide(), Computing()
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._users: dict[Searcher, int] = {}
        self._retired: list[Searcher] = []
        self._looked = self._asked = monotonic()
        self._current = self._open(without_encoder)
        self._newest = self._current.info.identity
        self._passed_over: tuple[str, str] | None = None  # the newest generation seen, and why it is not open

    @contextmanager
    def searcher(self) -> Iterator[Searcher]:
        """The current searcher, kept open as long as it is in use."""
        self._look()
        with self._lock:
            current = self._current
            self._users[current] = self._users.get(current, 0) + 1
        try:
            yield current
        finally:
            with self._lock:
                self._users[current] -= 1
            if self._retired:
                self._close_unused()

    def refresh(self) -> bool:
        """Switch to a newer generation now, or to the same with its encoder, if there is one; whether it did."""
        if not self._refreshing.acquire(blocking=False):
            return False
        try:
            switched = self._switch()
            self._passed_over = None
        except EngineUnavailable:  # of no generation in particular, and every search says so itself
            raise
        except Exception as error:
            self._pass_over(error)
            raise
        finally:
            self._refreshing.release()
        self._close_unused()
        return switched

    @property
    def passed_over(self) -> str:
        """Why the current generation is not the one that answers; empty when it is."""
        return self._passed_over[1] if self._passed_over else ""

    def _switch(self) -> bool:
        if self._is_current() and not self._encoder_came():
            return False
        fresh = self._open()
        with self._lock:
            self._retired.append(self._current)
            self._current = fresh
        return True

    def _is_current(self) -> bool:
        """Whether the open generation is the current one, and not another of its number, made after a drop."""
        self._newest = self.store.info(self.name).identity
        return self._newest == self._current.info.identity

    def _pass_over(self, error: Exception) -> None:
        """Logged once a generation, not at every look: a look has nobody to raise it to."""
        told = (self._newest, str(error))
        if told != self._passed_over:
            open_one = self._current.info.generation
            log.warning("index %r stays at generation %s: %s", self.name, open_one, error)
        self._passed_over = told

    def close(self) -> None:
        with self._lock:
            every = [self._current, *self._retired]
        self._threads.close()
        self._computing.close()
        for searcher in every:
            searcher.engine.close()

    def _look(self) -> None:
        """At most once a second, one of the searching threads looks for a new generation."""
        now = monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        with self._lock:
            if now - self._looked < LOOK_EVERY:
                return
            self._looked = now
        # Whatever goes wrong here (the store is away, the new generation needs another encoder), the open generation
        # still answers, `passed_over` says why, and the next look tries again.
        self._threads.run({"look": self.refresh}, {"look": LOOK_FOR})

    def _open(self, without_encoder: bool = False) -> Searcher:
        engine = self.store.open(self.name)
        try:
            self._have_encoders(engine.info.encoders, without_encoder)
        except InputError:
            engine.close()
            raise
        return Searcher(
            engine,
            self._encoders,
            self.settings,
            adjust=self._adjust,
            threads=self._threads,
            computing=self._computing,
            cache=self._cache,
        )

    def _have_encoders(self, specs: Sequence[EncoderSpec], without: bool) -> None:
        for spec in specs:
            if spec.name not in self._encoders:
                try:
                    self._encoders[spec.name] = self._encoder(spec)
                except InputError as error:
                    if not without:
                        raise
                    self._encoders[spec.name] = AbsentEncoder(spec.name, spec.dimension, error)

    def _encoder_came(self) -> bool:
        """Whether an encoder that was not at hand when the index was opened is now."""
        absent = [spec for spec in self._current.info.encoders if isinstance(self._encoders[spec.name], AbsentEncoder)]
        if not absent or monotonic() - self._asked < ASK_EVERY:
            return False
        self._asked = monotonic()
        for spec in absent:
            with suppress(InputError):
                self._encoders[spec.name] = self._encoder(spec)
        return not all(isinstance(self._encoders[spec.name], AbsentEncoder) for spec in absent)

    def _encoder(self, spec: EncoderSpec) -> Encoder:
        encoder = self._load_encoder(spec.name)
        if encoder is None or (encoder.name, encoder.dimension) != (spec.name, spec.dimension):
            made = f"{spec.name} ({spec.dimension} dimensions)"
            found = f"{encoder.name} ({encoder.dimension} dimensions)" if encoder else "none"
            raise EncoderMismatch(
                f"the index {self.name!r} was made with encoder {made}, at hand is {found}", MAKE_ANEW
            )
        return encoder

    def _close_unused(self) -> None:
        # A lane past its time-out may still be reading: closing under it would pull away memory it maps.
        if self._threads.overdue():
            return
        with self._lock:
            unused = [searcher for searcher in self._retired if not self._users.get(searcher)]
            self._retired = [searcher for searcher in self._retired if searcher not in unused]
            for searcher in unused:
                self._users.pop(searcher, None)
        for searcher in unused:
            searcher.engine.close()

    # The methods of `Searcher`, each on the generation that is current when it is called.

    @property
    def engine(self) -> Engine:
        self._look()
        return self._current.engine

    @property
    def info(self) -> IndexInfo:
        return self.engine.info

    def search(self, query: Query) -> Answer:
        with self.searcher() as current:
            return current.search(query)

    def rank(self, query: Query) -> Ranking:
        with self.searcher() as current:
            return current.rank(query)

    def lanes(self, query: Query, names: Sequence[str] | None = None) -> LaneResults:
        with self.searcher() as current:
            return current.lanes(query, names)

    def fuse(self, lanes: LaneResults, method: str = "default", limit: int = 300) -> Sequence[Candidate]:
        return self._current.fuse(lanes, method, limit)

    def rerank(self, query: Query, candidates: Sequence[Candidate], method: str = "default") -> Sequence[Candidate]:
        with self.searcher() as current:
            return current.rerank(query, candidates, method)

    def similar(self, id_: str, k: int = 10) -> list[Hit]:
        with self.searcher() as current:
            return current.similar(id_, k)

    def structure(
        self,
        name: str,
        relations: Sequence[Relation] = ("calls",),
        direction: Direction = "in",
        depth: int = 1,
        filters: Filters = NO_FILTERS,
    ) -> Structure:
        with self.searcher() as current:
            return current.structure(name, relations, direction, depth, filters)

    def related(
        self, id_: str, relation: Relation = "calls", direction: Direction = "in", depth: int = 1
    ) -> list[Neighbour]:
        with self.searcher() as current:
            return current.related(id_, relation, direction, depth)

    def near(self, name: str) -> list[str]:
        with self.searcher() as current:
            return current.near(name)

    def callers(self, id_: str, depth: int = 1) -> list[Neighbour]:
        return self.related(id_, "calls", "in", depth)

    def callees(self, id_: str, depth: int = 1) -> list[Neighbour]:
        return self.related(id_, "calls", "out", depth)

    def written(self, function: Function) -> Written:
        with self.searcher() as current:
            return current.written(function)

    def prepare(self, lane: str, progress: Progress = untold) -> None:
        with self.searcher() as current:
            current.prepare(lane, progress)

    def function(self, id_: str) -> Function | None:
        with self.searcher() as current:
            return current.function(id_)

    def suggest(self, prefix: str, k: int = 10) -> list[str]:
        with self.searcher() as current:
            return current.suggest(prefix, k)
