"""A searcher that stays current.

`LiveSearcher` holds the current generation of an index open and switches to the next one between searches. A search in
flight finishes on its own generation.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from treeline.corpus.errors import (
    REBUILD,
    EncoderMismatch,
    EngineUnavailable,
    IndexDamaged,
    IndexMissing,
    InputError,
    TreelineError,
)
from treeline.encoder.protocol import AbsentEncoder, Encoder
from treeline.encoder.registry import load
from treeline.engine.protocol import EncoderSpec, Engine, IndexInfo, Store
from treeline.search.executor import Executor, Inline, Probe
from treeline.search.location import Locations
from treeline.search.relatives import Relatives
from treeline.search.searcher import Searcher
from treeline.search.settings import Settings, open_store

if TYPE_CHECKING:
    from treeline.engine.texts import FileTexts
    from treeline.graph.callgraph import CallGraph
    from treeline.graph.history import History

log = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds between two checks for a new generation
LOOK_TIMEOUT_S = 0.05  # seconds that a search waits for that check: a folder answers in 20 µs, a cluster may be down
RETRY_ENCODER = 60.0  # seconds until an absent encoder is tried again: the hub may be back, a package installed
KEEP_READY = 0.5  # seconds that a readiness check is cached, so many probes cost the engine one call

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")
Part = TypeVar("Part")  # of a searcher


def open_searcher(
    settings: Settings, index: str = "", *, without_encoder: bool = False, once: bool = False
) -> LiveSearcher:
    """The searcher of the named (or the settings') index; raises `IndexMissing`, `EncoderMismatch`."""
    return LiveSearcher(
        open_store(settings),
        index or settings.index,
        settings,
        cache=settings.cache_path,
        without_encoder=without_encoder,
        once=once,
    )


class Encoders:
    """The encoders of an index, each loaded once. Unavailable ones are retried from time to time."""

    def __init__(self, index: str, load: Callable[[str], Encoder | None]) -> None:
        self.by_name: dict[str, Encoder] = {}
        self._index, self._load = index, load
        self._tried = monotonic()

    def require(self, specs: Sequence[EncoderSpec], *, allow_absent: bool) -> None:
        """Load missing encoders. One that cannot be loaded raises, or is replaced by one that raises when used."""
        for spec in specs:
            if spec.name not in self.by_name:
                try:
                    self.by_name[spec.name] = self._matching(spec)
                except InputError as error:
                    if not allow_absent:
                        raise
                    self.by_name[spec.name] = AbsentEncoder(spec.name, spec.dimension, error)

    def retry(self, specs: Sequence[EncoderSpec]) -> bool:
        """Retry the unavailable ones if it is time; returns whether one was loaded."""
        absent = [spec for spec in specs if isinstance(self.by_name[spec.name], AbsentEncoder)]
        if not absent or monotonic() - self._tried < RETRY_ENCODER:
            return False
        self._tried = monotonic()
        is_loaded = False
        for spec in absent:
            with suppress(InputError):
                self.by_name[spec.name] = self._matching(spec)
                is_loaded = True
        return is_loaded

    def _matching(self, spec: EncoderSpec) -> Encoder:
        encoder = self._load(spec.name)
        if encoder is None or (encoder.name, encoder.dimension) != (spec.name, spec.dimension):
            own = f"{spec.name} ({spec.dimension} dimensions)"
            other = f"{encoder.name} ({encoder.dimension} dimensions)" if encoder else "none"
            raise EncoderMismatch(f"the index {self._index!r} was made with encoder {own}, at hand is {other}", REBUILD)
        return encoder


class Generations:
    """The current generation, held open, and those before it until their last search ends.

    With `without_encoder`, an index opens even if its encoder cannot be loaded. The other lanes search it, and every
    answer says why. Servers use this, because a partial answer is better than none. With `once`, a search waits for
    every lane, however long it takes; this is for a command that searches once.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        settings: Settings | None = None,
        *,
        load_encoder: Callable[[str], Encoder | None] = load,
        cache: Path | None = None,
        without_encoder: bool = False,
        once: bool = False,
    ) -> None:
        self.store, self.name, self.settings = store, name, settings or Settings()
        self._cache, self._once = cache, once
        self._encoders = Encoders(name, load_encoder)
        self._executor = Executor()
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._users: dict[Searcher, int] = {}
        self._retired: list[Searcher] = []
        self._looked = monotonic()
        self._current = self._open(without_encoder)
        self._newest = self._current.info.identity
        self._dropped: IndexMissing | None = None
        self._passed_over: tuple[str, str] | None = None  # the newest generation, and why it could not be opened

    @contextmanager
    def searcher(self) -> Iterator[Searcher]:
        """The current searcher, kept open as long as it is in use; raises `IndexMissing` after a drop."""
        self._look()
        self._check_dropped()
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
        """The current engine, for one call: the next call may get the next generation's."""
        self._look()
        self._check_dropped()
        return self._current.engine

    @property
    def passed_over(self) -> str:
        """The reason that the newest generation is not in use; empty if it is."""
        return self._passed_over[1] if self._passed_over else ""

    def refresh(self) -> bool:
        """Switch to a newer generation, or reopen the same one if its encoder has become available; returns whether."""
        if not self._refreshing.acquire(blocking=False):
            return False
        try:
            is_switched = self._switch()
            self._dropped = self._passed_over = None
        except IndexMissing as error:
            self._dropped = error
            raise
        except EngineUnavailable:  # not the fault of a generation, and every search reports it anyway
            raise
        except Exception as error:
            self._pass_over(error)
            raise
        finally:
            self._refreshing.release()
        self._close_unused()
        return is_switched

    def close(self) -> None:
        with self._lock:
            every = [self._current, *self._retired]
        self._executor.close()
        for searcher in every:
            searcher.engine.close()

    def _look(self) -> None:
        """Check for a new generation, in one of the searching threads and at most once a second."""
        now = monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        with self._lock:
            if now - self._looked < LOOK_EVERY:
                return
            self._looked = now
        # Whatever fails here (the store is down, the new generation needs another encoder), the open generation still
        # answers, `passed_over` says why, and the next check tries again.
        self._executor.run({"look": self.refresh}, {"look": LOOK_TIMEOUT_S})

    def _check_dropped(self) -> None:
        if (error := self._dropped) is not None:
            raise IndexMissing(error.message, error.hint)

    def _switch(self) -> bool:
        if self._is_current() and not self._encoders.retry(self._current.info.encoders):
            return False
        fresh = self._open()
        with self._lock:
            self._retired.append(self._current)
            self._current = fresh
        return True

    def _is_current(self) -> bool:
        """Whether the open generation is the current one. After a drop, another one may have the same number."""
        self._newest = self.store.info(self.name).identity
        return self._newest == self._current.info.identity

    def _pass_over(self, error: Exception) -> None:
        """Record why a generation is not opened; logged once per generation."""
        reason = (self._newest, str(error))
        if reason != self._passed_over:
            generation = self._current.info.generation
            log.warning("index %r stays at generation %s: %s", self.name, generation, error)
        self._passed_over = reason

    def _open(self, without_encoder: bool = False) -> Searcher:
        try:
            engine = self.store.open(self.name)
        except TreelineError:
            raise
        except Exception as error:  # a damaged file may make its reader raise anything
            raise IndexDamaged(self.name, f"{type(error).__name__}: {error}") from error
        try:
            self._encoders.require(engine.info.encoders, allow_absent=without_encoder)
        except InputError:
            engine.close()
            raise
        encoders = self._encoders.by_name
        executor = Inline() if self._once else self._executor
        return Searcher(engine, encoders, self.settings, executor=executor, cache=self._cache)

    def _close_unused(self) -> None:
        # A lane past its timeout may still be reading memory that closing would unmap.
        if self._executor.overdue():
            return
        with self._lock:
            idle_searchers = [searcher for searcher in self._retired if not self._users.get(searcher)]
            self._retired = [searcher for searcher in self._retired if searcher not in idle_searchers]
            for searcher in idle_searchers:
                self._users.pop(searcher, None)
        for searcher in idle_searchers:
            searcher.engine.close()


def _current(
    method: Callable[Concatenate[Part, Arguments], Value], part: Callable[[Searcher], Part]
) -> Callable[Concatenate[LiveSearcher, Arguments], Value]:
    """Wraps a method of a part of the searcher to call it on the current one, which stays open during the call."""

    @wraps(method)
    def call(live: LiveSearcher, /, *arguments: Arguments.args, **keywords: Arguments.kwargs) -> Value:
        with live.searcher() as current:
            return method(part(current), *arguments, **keywords)

    return call


def _all(searcher: Searcher) -> Searcher:
    return searcher


def _relatives(searcher: Searcher) -> Relatives:
    return searcher.relatives


class LiveSearcher(Generations):
    """The methods of `Searcher` and `Relatives`, each on the generation that is current when the call starts."""

    search = _current(Searcher.search, _all)
    rank = _current(Searcher.rank, _all)
    plan = _current(Searcher.plan, _all)
    lanes = _current(Searcher.lanes, _all)
    fuse = _current(Searcher.fuse, _all)
    rerank = _current(Searcher.rerank, _all)

    similar = _current(Searcher.similar, _all)
    function = _current(Searcher.function, _all)
    suggest = _current(Searcher.suggest, _all)
    commits = _current(Searcher.commits, _all)

    structure = _current(Relatives.structure, _relatives)
    callers = _current(Relatives.callers, _relatives)
    callees = _current(Relatives.callees, _relatives)
    near = _current(Relatives.near, _relatives)
    unresolved_calls = _current(Relatives.unresolved_calls, _relatives)

    @property
    def info(self) -> IndexInfo:
        return self.engine.info

    @property
    def locations(self) -> Locations | None:
        with self.searcher() as current:
            return current.locations

    @property
    def texts(self) -> FileTexts:
        with self.searcher() as current:
            return current.texts

    @property
    def graph(self) -> CallGraph | None:
        with self.searcher() as current:
            return current.graph

    @property
    def history(self) -> History | None:
        with self.searcher() as current:
            return current.history


class Readiness(Probe[IndexInfo]):
    """Checks whether the engine answers, by a count with a timeout."""

    def __init__(self, engine: Callable[[], Engine], seconds: float) -> None:
        def ask() -> IndexInfo:
            current = engine()
            current.count()
            return current.info

        super().__init__(ask, seconds, KEEP_READY)

    def info(self) -> IndexInfo | None:
        """The index that is ready, or None."""
        try:
            return self()
        except TreelineError:
            return None
