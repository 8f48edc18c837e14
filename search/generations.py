"""The open generation of an index and the change to the next one: noticed between searches, and none is cut short."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from treeline.corpus.errors import EngineUnavailable, InputError
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import load
from treeline.engine.protocol import Engine, Store
from treeline.search.at_hand import EncodersAtHand
from treeline.search.computing import Computing
from treeline.search.searcher import Adjust, Searcher
from treeline.search.settings import Settings
from treeline.search.side_by_side import SideBySide

log = logging.getLogger(__name__)

# Seconds between two looks at the store: a new index is seen soon enough, and a busy server asks once a second.
LOOK_EVERY = 1.0
# Seconds that a search waits for that look. A folder answers in 20 µs; a cluster that is away must not hold it up.
LOOK_FOR = 0.05


class Generations:
    """Holds the current generation open, and those before it until their last search ends.

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
        self._encoders = EncodersAtHand(name, load_encoder)
        self._threads, self._computing = SideBySide(), Computing()
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._users: dict[Searcher, int] = {}
        self._retired: list[Searcher] = []
        self._looked = monotonic()
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

    @property
    def engine(self) -> Engine:
        """The current engine, for one question to it: a second may be answered by the next generation."""
        self._look()
        return self._current.engine

    @property
    def passed_over(self) -> str:
        """Why the current generation is not the one that answers; empty when it is."""
        return self._passed_over[1] if self._passed_over else ""

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

    def _switch(self) -> bool:
        if self._is_current() and not self._encoders.one_came(self._current.info.encoders):
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

    def _open(self, without_encoder: bool = False) -> Searcher:
        engine = self.store.open(self.name)
        try:
            self._encoders.have(engine.info.encoders, or_without=without_encoder)
        except InputError:
            engine.close()
            raise
        return Searcher(
            engine,
            self._encoders.by_name,
            self.settings,
            adjust=self._adjust,
            threads=self._threads,
            computing=self._computing,
            cache=self._cache,
        )

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
