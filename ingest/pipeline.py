"""The loading pipeline: read, analyse, encode, write. Resumable, incremental, every record accounted for.

This process reads chunks and writes to the engine. Workers parse, analyse and encode in between. Results are taken in
order, so the same input always makes the same index.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.engine.durable import disk_errors
from treeline.engine.protocol import EncoderSpec, IndexInfo, Store
from treeline.graph.facts import VERSION
from treeline.ingest import artifacts
from treeline.ingest.generation import Generation, Start, start
from treeline.ingest.journal import fingerprint
from treeline.ingest.source import READER_VERSION, Problem, Progress, Source, Unit, Unreadable, no_progress
from treeline.ingest.sources import check_overlap, disambiguate, is_missing
from treeline.ingest.state import Entry, Manifest, entry_key, save_skipped, totals
from treeline.ingest.workers import BatchResult, Clock, Task, Workers, peak_memory_kb, processors


@frozen(kw_only=True)
class Summary:
    """`read` = indexed + updated + unchanged + duplicate + rejected; `total` is what the index now holds."""

    index: str
    engine: str
    generation: str
    sources: tuple[str, ...]
    encoders: tuple[str, ...]
    published: bool
    """False if nothing had changed, so the last generation stays."""
    resumed: bool
    units: Mapping[str, int]
    """How many files or shards were read, unchanged and removed."""
    read: int
    indexed: int
    updated: int
    """Same text at another location or commit: written again with its old vector."""
    unchanged: int
    duplicate: int
    rejected: int
    reasons: Mapping[str, int]
    removed: int
    total: int
    rejects_file: str = ""
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """Files and folders skipped on purpose (tests, secrets, ignored …), by reason."""
    empty: tuple[str, ...] = ()
    """Sources of this load in which nothing was found."""
    gone: tuple[str, ...] = ()
    """Sources of the index, not of this load, that no longer exist; their units stay."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """By stage; parse, analyse and encode are summed over worker processes."""
    peak_memory_mb: int = 0
    """The sum of the processes' peaks."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def write_rejects(path: Path, problems: Iterable[Problem]) -> None:
    """One JSON object a line: file, line, reason."""
    with disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with disk_errors(path.parent), path.open("wb") as file:
        for problem in problems:
            row = {"file": problem.file, "line": problem.line, "reason": problem.reason}
            file.write(orjson.dumps(row) + b"\n")


# A batch for a worker: large enough to pay for the transfer and the matrix products, small enough for flat memory.
BATCH_BYTES = 400_000
BATCH_CHUNKS = 64
# A small load is divided further, so that all processors have their share.
SMALLEST_BATCH, BATCHES = 50_000, 20


@dataclass(slots=True)
class Reader:
    """Reads the sources' files; unchanged ones go straight to the manifest."""

    sources: Sequence[Source]
    before: Manifest
    after: Manifest
    generation: Generation
    clock: Clock
    advance: Callable[[int], None]
    notice: Callable[[Sequence[Problem]], None]
    """Receives the problems of files that are not read now."""
    keys: set[str] = field(default_factory=set)
    units: Counter[str] = field(default_factory=Counter)
    batch_bytes: int = BATCH_BYTES
    _repeats: Counter[str] = field(default_factory=Counter)
    _unchanged: list[Entry] = field(default_factory=list)

    def batches(self) -> Iterator[list[Task]]:
        """The batches to read. Whoever takes one can rely on the ledger to have all files before it."""
        for items in self._batches():
            self._account()
            yield items
        self._account()

    def _account(self) -> None:
        self.generation.ledger.keep(self._unchanged)
        self._unchanged.clear()

    def _batches(self) -> Iterator[list[Task]]:
        items: list[Task] = []
        size = 0
        for source in self.sources:
            for unit in source.units():
                for item in self._items(source.name, unit):
                    items.append(item)
                    size += item.chunk.size if item.chunk else 0
                    if size >= self.batch_bytes or len(items) >= BATCH_CHUNKS:
                        yield items
                        items, size = [], 0
        if items:
            yield items

    def _items(self, source: str, unit: Unit) -> Iterator[Task]:
        """The remaining chunks of a file, and its end; nothing if it is unchanged."""
        key = entry_key(source, unit.key)
        if key in self.keys:
            # Two members of a zip may have the same name; the second is rejected.
            self._repeats[key] += 1
            again = f"{unit.key} ({self._repeats[key] + 1})"
            key, unit = entry_key(source, again), Unreadable(again, "another one of the source has the same name")
        self.keys.add(key)
        start = time.perf_counter()
        digest = unit.digest
        self.clock.add("read", time.perf_counter() - start)
        known = self.generation.knows(self.before.entries.get(key), key, digest)
        if known is not None and known.digest == digest:
            self.units["unchanged"] += 1
            self.advance(unit.size)
            self._unchanged.append(known)
            self.notice(known.problems)
            self.after.entries[key] = known
            return
        self.units["read"] += 1
        entry, number, complete = self.generation.resume(source, key, digest)
        self.after.entries[key] = entry
        self.notice(entry.problems)
        if complete:
            self.advance(unit.size)
            return
        chunks = islice(unit.chunks(), number, None)
        while True:
            with self.clock("read"):
                chunk = next(chunks, None)
            yield Task(source, key, digest, number, chunk, known.records if known else b"")
            if chunk is None:
                return
            number += 1


# This much is done in this process before workers start.
SMALL_BYTES = 1_000_000
# Batches in flight beyond one per worker, so that neither side waits: a checkpoint takes as long as several.
SPARE_BATCHES = 6
# The vector cache beside the journals: a transformer reads each function once, for all indexes.
VECTOR_CACHE = "vectors.sqlite"


@frozen(kw_only=True)
class LoadOptions:
    """Options of a load. `work` is the folder of journals and, unless `rejects` is given, of rejects."""

    work: Path
    encoders: tuple[str, ...] = ()
    """Empty: the index's, or the default for a new index."""
    strict: bool = False
    fresh: bool = False
    base: str = ""
    """Another generation than the current one to start from; for a load of all that the index has, one folder."""
    remove: tuple[str, ...] = ()
    """Names of sources to remove from the index."""
    reading: str = ""
    """A digest of how the sources are read; an interrupted load continues only if it is the same."""
    rejects: Path | None = None
    workers: int | None = None
    lazy_artifacts: bool = False
    """Skip the call graph, tree and clusters; `artifacts.obtain` makes them when needed."""
    may_empty: bool = False
    """Whether the index may become empty; refused by default, because an unmounted folder looks empty."""
    resumable: bool = True
    """Keep a journal and checkpoints; a small load is quicker to repeat."""
    checkpoint_seconds: float = 15.0
    """Seconds until the first checkpoint; later ones are further apart."""


def load(
    store: Store, name: str, sources: Sequence[Source], options: LoadOptions, progress: Progress = no_progress
) -> Summary:
    """Update the index from the sources; its other sources stay as they are."""
    start_time = time.perf_counter()
    once = {source.name: source for source in sources}
    cache, first = options.work / VECTOR_CACHE, next(iter(once), "")
    beginning = start(store, name, options.encoders, cache, fresh=options.fresh, base=options.base, source=first)
    try:
        names = {*beginning.before.sources, *once} - {*options.remove}
        for source in once.values():
            check_overlap(source, names)
        distinct = [disambiguate(source, names) for source in once.values()]
        with _interrupts() as hold:
            return _Load(store, name, distinct, options, progress, beginning, hold).run(start_time)
    finally:
        beginning.close()


@contextmanager
def _interrupts() -> Iterator[Callable[[], None]]:
    """Gives a function that holds back Ctrl-C and SIGTERM, while a load is being published, until the block ends."""
    handlers: dict[signal.Signals, Any] = {}

    def hold() -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handlers[number] = signal.signal(number, lambda *_: None)

    try:
        yield hold
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@dataclass(slots=True)
class _Load:
    store: Store
    name: str
    sources: Sequence[Source]
    options: LoadOptions
    progress: Progress
    start: Start
    hold_interrupts: Callable[[], None]
    after: Manifest = field(default_factory=Manifest)
    clock: Clock = field(default_factory=Clock)
    memory: dict[int, int] = field(default_factory=dict)
    bytes_done: int = 0
    bytes_total: int = 0

    def run(self, start_time: float) -> Summary:
        before = self.start.before
        self.start.check_removable(self.name, self.options.remove)
        self.bytes_total = sum(source.size for source in self.sources)
        count = processors() if self.options.workers is None else self.options.workers
        # An update is usually small, and starting processes takes longer than a small load.
        here = SMALL_BYTES if self.start.previous is not None or self.bytes_total < SMALL_BYTES else 0
        with self._generation() as generation, Workers(count, self.start.light_encoders(), here) as workers:
            self._keep_other_sources(generation)
            reading = Reader(self.sources, before, self.after, generation, self.clock, self._advance, self._be_strict)
            reading.batch_bytes = min(BATCH_BYTES, max(SMALLEST_BATCH, self.bytes_total // BATCHES))
            self._load(reading, generation, workers, count + SPARE_BATCHES)
            if self.options.lazy_artifacts:  # the rest is this process's alone
                workers.stop()
            reading.units["removed"] = len(before.entries.keys() - self.after.entries.keys())
            may_empty = self.options.may_empty or bool(self.options.remove)
            make = artifacts.leave_out if self.options.lazy_artifacts else artifacts.build
            finish = partial(generation.finish, before, self.after, workers, self.clock, self.progress)
            info = finish(make, self.hold_interrupts, may_empty=may_empty)
        return self._summary(info, generation, reading, time.perf_counter() - start_time)

    def _generation(self) -> Generation:
        specs = tuple(EncoderSpec(encoder.name, encoder.dimension) for encoder in self.start.encoders.values())
        plan = (
            f"{READER_VERSION}.{VERSION}",
            "fresh" if self.options.fresh else "",
            *(f"{spec.name}/{spec.dimension}" for spec in specs),
            *sorted(source.name for source in self.sources),
            *sorted(self.options.remove),
            self.options.reading,
        )
        return Generation(
            self.store,
            self.name,
            specs,
            fingerprint(self._base(), plan),
            self.start,
            self.options.work if self.options.resumable else None,
            self.options.fresh,
            self.options.checkpoint_seconds,
        )

    def _base(self) -> str:
        """The generation that is current when the load starts, also under --fresh, which does not open it."""
        if self.start.previous is not None:
            return self.start.previous.info.generation
        return self.store.current(self.name) if self.name in self.store.names() else ""

    def _keep_other_sources(self, generation: Generation) -> None:
        """Keep the entries of sources that are neither loaded nor removed."""
        changing = {source.name for source in self.sources} | set(self.options.remove)
        for key, entry in self.start.before.entries.items():
            if entry.source not in changing:
                self.after.entries[key] = entry
                generation.ledger.see(entry)

    def _load(self, reading: Reader, generation: Generation, workers: Workers, most_under_way: int) -> None:
        under_way: deque[tuple[int, Future[BatchResult]]] = deque()
        for items in reading.batches():
            size = sum(item.chunk.size for item in items if item.chunk)
            under_way.append((size, workers.submit(items)))
            while len(under_way) > most_under_way:
                self._take(generation, *under_way.popleft())
        while under_way:
            self._take(generation, *under_way.popleft())

    def _take(self, generation: Generation, size: int, future: Future[BatchResult]) -> None:
        with self.clock("wait"):
            batch = future.result()
        for stage, seconds in batch.seconds.items():
            self.clock.add(stage, seconds)
        self.memory[batch.process] = batch.peak_memory_kb
        for chunk in batch.chunks:
            self._be_strict(chunk.problems)
        generation.write(batch, self.after, self.start.encoders, self.clock)
        self._advance(size)

    def _advance(self, size: int) -> None:
        self.bytes_done = min(self.bytes_done + size, self.bytes_total)
        self.progress("loading", self.bytes_done, self.bytes_total)

    def _be_strict(self, problems: Sequence[Problem]) -> None:
        if self.options.strict and problems:
            raise InputError(str(problems[0]), "correct it, or leave out --strict")

    def _summary(self, info: IndexInfo, generation: Generation, reading: Reader, seconds: float) -> Summary:
        changing = {source.name for source in self.sources}
        entries = [entry for entry in self.after.entries.values() if entry.source in changing]
        full = {entry.source for entry in entries if entry.records}
        refusals = generation.refusal_problems()
        problems = [*(problem for entry in entries for problem in entry.problems), *refusals]
        rejects = self.options.rejects or self.options.work / f"{self.name}.rejects.jsonl"
        if problems or self.options.rejects:
            write_rejects(rejects, problems)
        else:
            rejects.unlink(missing_ok=True)
        counts = generation.ledger.counts
        counts["indexed"] -= len(refusals)
        skips = {source.name: dict(source.left_out) for source in self.sources}
        save_skipped(self.options.work, self.name, self.after.sources, skips)
        return Summary(
            index=self.name,
            engine=info.engine,
            generation=info.generation,
            sources=tuple(self.after.sources),
            encoders=tuple(self.start.encoders),
            published=generation.is_writing,
            resumed=generation.is_resumed,
            units={kind: reading.units[kind] for kind in ("read", "unchanged", "removed")},
            read=counts.total() + len(problems),
            indexed=counts["indexed"],
            updated=counts["updated"],
            unchanged=counts["unchanged"],
            duplicate=counts["duplicate"],
            rejected=len(problems),
            reasons=totals(Counter(problem.reason for problem in problems)),
            removed=generation.removed,
            total=info.functions,
            rejects_file=str(rejects) if problems else "",
            passed_over=totals(sum(map(Counter, skips.values()), Counter[str]())),
            empty=tuple(sorted(changing - full)),
            gone=tuple(name for name in self.after.sources if name not in changing and is_missing(name)),
            seconds={stage: round(duration, 2) for stage, duration in {**self.clock.seconds, "total": seconds}.items()},
            peak_memory_mb=sum((self.memory | {os.getpid(): peak_memory_kb()}).values()) // 1024,
        )
