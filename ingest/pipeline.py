"""The loading pipeline: read, analyse, encode, write; resumable, incremental, with every record accounted for.

This process reads chunks and writes to the engine; workers parse, analyse and encode in between. Results are taken in
the order in which they were sent, so that the same input always makes the same index.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from corpus.errors import EncoderMismatch, IndexMissing, InputError, TreelineError
from encoder.protocol import DEFAULT_ENCODER, Encoder
from engine.protocol import EncoderSpec, Engine, IndexInfo, Store
from ingest import manifest
from ingest.generation import Generation
from ingest.manifest import Manifest
from ingest.preparing import Clock, Item, PreparedBatch, peak_memory_kb
from ingest.source import Problem, Progress, Source, Unit, no_progress
from ingest.summary import Summary, reasons, write_rejects
from ingest.workers import Workers, load_encoders

# A trip to a worker: large enough for the journey and the matrix products to pay, small enough for flat memory.
BATCH_BYTES = 400_000
BATCH_CHUNKS = 64
# As much is done in this process before others are started.
SMALL_BYTES = 1_000_000
# Batches under way beyond one for each worker, so that neither side waits.
SPARE_BATCHES = 2
# Beside the journals: a transformer reads no function twice, in whichever index it was.
VECTOR_CACHE = "vectors.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How to load. `work` holds the journal of loads under way and, unless `rejects` says otherwise, the rejects."""

    work: Path
    encoders: tuple[str, ...] = ()
    """Empty: those of the index or, for a new one, the default."""
    strict: bool = False
    fresh: bool = False
    remove: tuple[str, ...] = ()
    """Names of sources whose functions leave the index."""
    reading: str = ""
    """How the sources are read; a load that was broken off goes on only when this is the same."""
    rejects: Path | None = None
    workers: int | None = None
    checkpoint_seconds: float = 15.0


def load(
    store: Store, name: str, sources: Sequence[Source], options: LoadOptions, progress: Progress = no_progress
) -> Summary:
    """Bring the index up to date with the sources; other sources in it stay as they are."""
    return _Load(store, name, sources, options, progress).run()


@dataclass(slots=True)
class _Load:
    store: Store
    name: str
    sources: Sequence[Source]
    options: LoadOptions
    progress: Progress
    previous: Engine | None = None
    before: Manifest = field(default_factory=Manifest)
    after: Manifest = field(default_factory=Manifest)
    encoders: dict[str, Encoder] = field(default_factory=dict)
    units: Counter[str] = field(default_factory=Counter)
    clock: Clock = field(default_factory=Clock)
    memory: dict[int, int] = field(default_factory=dict)
    bytes_done: int = 0
    bytes_total: int = 0

    def run(self) -> Summary:
        started = time.perf_counter()
        self.sources = list({source.name: source for source in self.sources}.values())
        self.previous = None if self.options.fresh else _open(self.store, self.name)
        try:
            if self.previous is not None:
                self.before = _manifest(self.previous)
            self.encoders = _encoders(self.previous, self.name, self.options.encoders, self.options.work / VECTOR_CACHE)
            with self._generation() as generation:
                self._keep_other_sources(generation)
                self._load_units(generation)
                self.units["removed"] = len(self.before.entries.keys() - self.after.entries.keys())
                info = generation.finish(self.before, self.after, self.clock, self.progress)
            return self._summary(info, generation, time.perf_counter() - started)
        finally:
            if self.previous is not None:
                self.previous.close()

    def _generation(self) -> Generation:
        specs = tuple(EncoderSpec(encoder.name, encoder.dimension) for encoder in self.encoders.values())
        fingerprint = blake2b(digest_size=12)
        for part in (
            self.previous.info.generation if self.previous else "",
            *(f"{spec.name}/{spec.dimension}" for spec in specs),
            *sorted(source.name for source in self.sources),
            *sorted(self.options.remove),
            self.options.reading,
        ):
            fingerprint.update(part.encode("utf-8", "surrogatepass") + b"\0")
        return Generation(
            self.store,
            self.name,
            specs,
            fingerprint.hexdigest(),
            self.previous,
            self.options.work,
            self.options.fresh,
            self.options.checkpoint_seconds,
        )

    def _keep_other_sources(self, generation: Generation) -> None:
        """Only what is loaded now, or is to be removed, may change."""
        unknown = set(self.options.remove) - set(self.before.sources)
        if unknown:
            known = ", ".join(self.before.sources) or "none"
            raise InputError(f"index {self.name!r} has no source {min(unknown)!r}", f"its sources: {known}")
        changing = {source.name for source in self.sources} | set(self.options.remove)
        for key, entry in self.before.entries.items():
            if entry.source not in changing:
                self.after.entries[key] = entry
                generation.seen.update(manifest.ids(entry.records))

    def _load_units(self, generation: Generation) -> None:
        count = _cores() if self.options.workers is None else self.options.workers
        pending: deque[tuple[int, Future[PreparedBatch]]] = deque()
        self.bytes_total = sum(source.size for source in self.sources)
        in_workers = {name: encoder for name, encoder in self.encoders.items() if _is_light(name)}
        # An update is likely to be small, and starting processes takes longer than a small load.
        here = SMALL_BYTES if self.previous is not None or self.bytes_total < SMALL_BYTES else 0
        with Workers(count, in_workers, here) as workers:
            for items in self._batches(generation):
                size = sum(item.chunk.size for item in items if item.chunk)
                pending.append((size, workers.submit(items)))
                while len(pending) > count + SPARE_BATCHES:
                    self._take(generation, *pending.popleft())
            while pending:
                self._take(generation, *pending.popleft())

    def _batches(self, generation: Generation) -> Iterator[list[Item]]:
        items: list[Item] = []
        size = 0
        for source in self.sources:
            for unit in source.units():
                for item in self._items(generation, source.name, unit):
                    items.append(item)
                    size += item.chunk.size if item.chunk else 0
                    if size >= BATCH_BYTES or len(items) >= BATCH_CHUNKS:
                        yield items
                        items, size = [], 0
        if items:
            yield items

    def _items(self, generation: Generation, source: str, unit: Unit) -> Iterator[Item]:
        """The chunks of a unit that are still to be done, and its end; nothing when it has not changed."""
        with self.clock("read"):
            key, digest = unit.key, unit.digest
        if key in self.after.entries:
            return
        known = self.before.entries.get(key)
        if known is not None and known.digest == digest:
            self.units["unchanged"] += 1
            self._advance(unit.size)
            generation.keep(known)
            self._be_strict(known.problems)
            self.after.entries[key] = known
            return
        self.units["read"] += 1
        entry, number, complete = generation.resume(source, key, digest)
        self.after.entries[key] = entry
        self._be_strict(entry.problems)
        if complete:
            self._advance(unit.size)
            return
        chunks = islice(unit.chunks(), number, None)
        while True:
            with self.clock("read"):
                chunk = next(chunks, None)
            yield Item(source, key, digest, number, chunk, known.records if known else b"")
            if chunk is None:
                return
            number += 1

    def _take(self, generation: Generation, size: int, future: Future[PreparedBatch]) -> None:
        with self.clock("wait"):
            try:
                batch = future.result()
            except BrokenProcessPool as error:
                raise TreelineError(
                    "a worker process died, perhaps for want of memory", "run the same command again to go on"
                ) from error
        for stage, seconds in batch.seconds.items():
            self.clock.add(stage, seconds)
        self.memory[batch.process] = batch.peak_memory_kb
        for chunk in batch.chunks:
            self._be_strict(chunk.problems)
        generation.write(batch, self.after, self.encoders, self.clock)
        self._advance(size)

    def _advance(self, size: int) -> None:
        self.bytes_done = min(self.bytes_done + size, self.bytes_total)
        self.progress("loading", self.bytes_done, self.bytes_total)

    def _be_strict(self, problems: Sequence[Problem]) -> None:
        if self.options.strict and problems:
            raise InputError(str(problems[0]), "correct it, or leave out --strict")

    def _summary(self, info: IndexInfo, generation: Generation, seconds: float) -> Summary:
        changing = {source.name for source in self.sources}
        entries = (entry for entry in self.after.entries.values() if entry.source in changing)
        problems = [*manifest.problems_of(entries), *generation.refused()]
        rejects = self.options.rejects or self.options.work / f"{self.name}.rejects.jsonl"
        if problems or self.options.rejects:
            write_rejects(rejects, problems)
        else:
            rejects.unlink(missing_ok=True)
        counts = generation.counts
        counts["indexed"] -= len(generation.refused())
        return Summary(
            index=self.name,
            engine=info.engine,
            generation=info.generation,
            sources=tuple(self.after.sources),
            encoders=tuple(self.encoders),
            published=generation.begun,
            resumed=generation.resumed,
            units={kind: self.units[kind] for kind in ("read", "unchanged", "removed")},
            read=counts.total() + len(problems),
            indexed=counts["indexed"],
            updated=counts["updated"],
            unchanged=counts["unchanged"],
            duplicate=counts["duplicate"],
            rejected=len(problems),
            reasons=reasons(problems),
            removed=generation.removed,
            total=info.functions,
            rejects_file=str(rejects) if problems else "",
            seconds={stage: round(spent, 2) for stage, spent in {**self.clock.seconds, "total": seconds}.items()},
            peak_memory_mb=sum((self.memory | {os.getpid(): peak_memory_kb()}).values()) // 1024,
        )


def _open(store: Store, name: str) -> Engine | None:
    try:
        return store.open(name)
    except IndexMissing:
        return None


def _manifest(engine: Engine) -> Manifest:
    data = engine.artifact(manifest.ARTIFACT)
    if data is None:
        raise InputError(
            f"index {engine.info.name!r} has no manifest, so it cannot be brought up to date", "use --fresh"
        )
    return manifest.load(data)


def _encoders(previous: Engine | None, name: str, asked: Sequence[str], cache: Path) -> dict[str, Encoder]:
    """Those asked for, which have to be those of the index."""
    if previous is None:
        return load_encoders(asked or (DEFAULT_ENCODER,), cache)
    recorded = [spec.name for spec in previous.info.encoders]
    encoders = load_encoders(asked or recorded, cache)
    if list(encoders) != recorded:
        made, wanted = (" + ".join(names) or "none" for names in (recorded, list(encoders)))
        raise EncoderMismatch(
            f"index {name!r} was made with encoder {made}, not {wanted}",
            "make it anew with --fresh, or choose another --name",
        )
    return encoders


def _is_light(encoder_name: str) -> bool:
    """Whether each worker can have one of its own; a transformer takes all cores and much memory by itself."""
    return encoder_name.partition(":")[0] == DEFAULT_ENCODER


def _cores() -> int:
    return len(os.sched_getaffinity(0))
