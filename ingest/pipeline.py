"""The loading pipeline: read, analyse, encode, write; resumable, incremental, with every record accounted for.

This process reads chunks and writes to the engine; workers parse, analyse and encode in between. Results are taken in
the order in which they were sent, so that the same input always makes the same index.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.engine.protocol import EncoderSpec, IndexInfo, Store
from treeline.ingest import manifest
from treeline.ingest.beginning import Beginning, begin
from treeline.ingest.generation import Generation
from treeline.ingest.manifest import Manifest
from treeline.ingest.opening import is_gone, told_apart
from treeline.ingest.preparing import Clock, PreparedBatch, peak_memory_kb
from treeline.ingest.reading import Reading
from treeline.ingest.source import Problem, Progress, Source, no_progress
from treeline.ingest.summary import Summary, reasons, write_rejects
from treeline.ingest.workers import Workers, outcome, processors

# As much is done in this process before others are started.
SMALL_BYTES = 1_000_000
# Batches under way beyond one for each worker, so that neither side waits: a checkpoint takes as long as several.
SPARE_BATCHES = 6
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
    """Until the first checkpoint; those that follow are farther and farther apart."""


def load(
    store: Store, name: str, sources: Sequence[Source], options: LoadOptions, progress: Progress = no_progress
) -> Summary:
    """Bring the index up to date with the sources; other sources in it stay as they are."""
    begun = time.perf_counter()
    once = {source.name: source for source in sources}
    beginning = begin(store, name, options.encoders, options.work / VECTOR_CACHE, fresh=options.fresh)
    try:
        names = {*beginning.before.sources, *once} - {*options.remove}
        distinct = [told_apart(source, names) for source in once.values()]
        return _Load(store, name, distinct, options, progress, beginning).run(begun)
    finally:
        beginning.close()


@dataclass(slots=True)
class _Load:
    store: Store
    name: str
    sources: Sequence[Source]
    options: LoadOptions
    progress: Progress
    beginning: Beginning
    after: Manifest = field(default_factory=Manifest)
    clock: Clock = field(default_factory=Clock)
    memory: dict[int, int] = field(default_factory=dict)
    bytes_done: int = 0
    bytes_total: int = 0

    def run(self, begun: float) -> Summary:
        before = self.beginning.before
        self.beginning.check_removable(self.name, self.options.remove)
        self.bytes_total = sum(source.size for source in self.sources)
        count = processors() if self.options.workers is None else self.options.workers
        # An update is likely to be small, and starting processes takes longer than a small load.
        here = SMALL_BYTES if self.beginning.previous is not None or self.bytes_total < SMALL_BYTES else 0
        with self._generation() as generation, Workers(count, self.beginning.light_encoders(), here) as workers:
            self._keep_other_sources(generation)
            reading = Reading(self.sources, before, self.after, generation, self.clock, self._advance, self._be_strict)
            self._load(reading, generation, workers, count + SPARE_BATCHES)
            reading.units["removed"] = len(before.entries.keys() - self.after.entries.keys())
            removing = bool(self.options.remove)
            info = generation.finish(before, self.after, workers, self.clock, self.progress, removing=removing)
        return self._summary(info, generation, reading, time.perf_counter() - begun)

    def _generation(self) -> Generation:
        previous = self.beginning.previous
        specs = tuple(EncoderSpec(encoder.name, encoder.dimension) for encoder in self.beginning.encoders.values())
        fingerprint = blake2b(digest_size=12)
        for part in (
            previous.info.generation if previous else "",
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
            previous,
            self.options.work,
            self.options.fresh,
            self.options.checkpoint_seconds,
        )

    def _keep_other_sources(self, generation: Generation) -> None:
        """Only what is loaded now, or is to be removed, may change."""
        changing = {source.name for source in self.sources} | set(self.options.remove)
        for key, entry in self.beginning.before.entries.items():
            if entry.source not in changing:
                self.after.entries[key] = entry
                generation.ledger.see(entry)

    def _load(self, reading: Reading, generation: Generation, workers: Workers, most_under_way: int) -> None:
        under_way: deque[tuple[int, Future[PreparedBatch]]] = deque()
        for items in reading.batches():
            size = sum(item.chunk.size for item in items if item.chunk)
            under_way.append((size, workers.submit(items)))
            while len(under_way) > most_under_way:
                self._take(generation, *under_way.popleft())
        while under_way:
            self._take(generation, *under_way.popleft())

    def _take(self, generation: Generation, size: int, future: Future[PreparedBatch]) -> None:
        with self.clock("wait"):
            batch = outcome(future)
        for stage, seconds in batch.seconds.items():
            self.clock.add(stage, seconds)
        self.memory[batch.process] = batch.peak_memory_kb
        for chunk in batch.chunks:
            self._be_strict(chunk.problems)
        generation.write(batch, self.after, self.beginning.encoders, self.clock)
        self._advance(size)

    def _advance(self, size: int) -> None:
        self.bytes_done = min(self.bytes_done + size, self.bytes_total)
        self.progress("loading", self.bytes_done, self.bytes_total)

    def _be_strict(self, problems: Sequence[Problem]) -> None:
        if self.options.strict and problems:
            raise InputError(str(problems[0]), "correct it, or leave out --strict")

    def _summary(self, info: IndexInfo, generation: Generation, reading: Reading, seconds: float) -> Summary:
        changing = {source.name for source in self.sources}
        entries = [entry for entry in self.after.entries.values() if entry.source in changing]
        full = {entry.source for entry in entries if entry.records}
        refused = generation.refused()
        problems = [*manifest.problems_of(entries), *refused]
        rejects = self.options.rejects or self.options.work / f"{self.name}.rejects.jsonl"
        if problems or self.options.rejects:
            write_rejects(rejects, problems)
        else:
            rejects.unlink(missing_ok=True)
        counts = generation.ledger.counts
        counts["indexed"] -= len(refused)
        passed_over = sum((Counter(source.left_out) for source in self.sources), Counter[str]())
        return Summary(
            index=self.name,
            engine=info.engine,
            generation=info.generation,
            sources=tuple(self.after.sources),
            encoders=tuple(self.beginning.encoders),
            published=generation.begun,
            resumed=generation.resumed,
            units={kind: reading.units[kind] for kind in ("read", "unchanged", "removed")},
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
            passed_over=dict(sorted(passed_over.items(), key=lambda row: (-row[1], row[0]))),
            empty=tuple(sorted(changing - full)),
            gone=tuple(name for name in self.after.sources if name not in changing and is_gone(name)),
            seconds={stage: round(spent, 2) for stage, spent in {**self.clock.seconds, "total": seconds}.items()},
            peak_memory_mb=sum((self.memory | {os.getpid(): peak_memory_kb()}).values()) // 1024,
        )
