"""The generation that a load is making: begun with the first change, journalled, checkpointed, published at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from numpy.typing import NDArray

from corpus.errors import InputError, TreelineError
from corpus.function import Function
from encoder.protocol import Encoder
from engine.protocol import EncoderSpec, Engine, IndexInfo, Store, Vectors, Writer
from graph.references import FileFacts
from ingest import artifacts, facts, journal, manifest
from ingest.journal import Journal, JournalEntry
from ingest.manifest import Entry, Manifest
from ingest.preparing import Clock, Prepared, PreparedBatch
from ingest.source import Problem, Progress

# In place of a row of the batch's vectors: the text is as it was, so the index has its vector.
KEPT = -1


class Generation:
    """One load's writes to the engine. Nothing is begun while nothing has changed."""

    def __init__(
        self,
        store: Store,
        name: str,
        specs: Sequence[EncoderSpec],
        fingerprint: str,
        previous: Engine | None,
        work: Path,
        fresh: bool,
        checkpoint_seconds: float,
    ) -> None:
        self.seen: set[bytes] = set()
        self.counts: Counter[str] = Counter(indexed=0, updated=0, unchanged=0, duplicate=0)
        self.removed = 0
        self.resumed = False
        self._store, self._name, self._specs, self._fingerprint = store, name, specs, fingerprint
        self._previous, self._fresh = previous, fresh
        self._checkpoint_seconds = checkpoint_seconds
        self._journal_path = work / f"{name}-{fingerprint}.journal"
        self._journal: Journal | None = None
        self._writer: Writer | None = None
        self._last_checkpoint = 0.0
        # An interrupt in the middle of a write leaves the writer in no state to be kept; the checkpoint before is.
        self._in_the_middle = False
        self._done: dict[str, _Done] = {}
        self._doubtful: set[bytes] = set()
        self._refused_before: list[tuple[str, str]] = []

    @property
    def begun(self) -> bool:
        return self._writer is not None

    def __enter__(self) -> Self:
        if self._journal_path.exists():
            self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._writer is None:
            return
        assert self._journal is not None
        if kind is KeyboardInterrupt and not self._in_the_middle:
            self._checkpoint()
        self._journal.close()
        self._writer.__exit__(kind, *rest)

    def _begin(self) -> tuple[Writer, Journal]:
        if self._writer is None or self._journal is None:
            self._writer = self._store.begin(self._name, self._specs, self._fingerprint, fresh=self._fresh)
            self._check_base()
            self._journal = Journal(self._journal_path)
            self._take_up(self._writer.resumed)
            self._last_checkpoint = time.monotonic()
        return self._writer, self._journal

    def _check_base(self) -> None:
        """Another load may have published between our reading of the manifest and our turn to write."""
        base = self._previous.info.generation if self._previous else None
        if not self._fresh and self._name in self._store.names() and self._store.current(self._name) != base:
            assert self._writer is not None
            self._writer.abandon()
            raise InputError(f"index {self._name!r} was changed by another load meanwhile", "run the command again")

    def _take_up(self, state: bytes | None) -> None:
        """Read the journal of a load that was broken off: what the checkpoint covers is done, the rest is doubtful."""
        assert self._journal is not None
        valid = 0
        if state is not None:
            checkpoint = orjson.loads(state)
            valid = checkpoint["journal"]
            if valid > self._journal.length:
                raise TreelineError(f"the journal {self._journal_path} is damaged", "make the index anew with --fresh")
            self._refused_before = [(id_, reason) for id_, reason in checkpoint["refused"]]
            self.resumed = True
        for end, entry in journal.read(self._journal_path):
            if end > valid:
                self._doubtful.update(manifest.ids(entry.records))
            else:
                done = self._done.get(entry.unit)
                if done is None or done.digest != entry.digest:  # changed between two loads that were broken off
                    self._doubtful.update(manifest.ids(done.records) if done else ())
                    done = self._done[entry.unit] = _Done(entry.digest)
                done.add(entry)
        self._journal.truncate(valid)

    def keep(self, entry: Entry) -> None:
        """Count the functions of a unit that has not changed."""
        for id_ in manifest.ids(entry.records):
            self.counts["duplicate" if id_ in self.seen else "unchanged"] += 1
            self.seen.add(id_)

    def resume(self, source: str, key: str, digest: str) -> tuple[Entry, int, bool]:
        """What an interrupted load did of a unit: its entry so far, the next chunk, whether it was the last."""
        done = self._done.get(key)
        if done is None:
            return Entry(source, digest), 0, False
        if done.digest != digest:
            del self._done[key]
            self._doubtful.update(manifest.ids(done.records))
            return Entry(source, digest), 0, False
        self.counts.update(done.counts)
        self.seen.update(manifest.ids(done.records))
        return Entry(source, digest, done.records, tuple(done.problems)), done.chunks, done.complete

    def write(self, batch: PreparedBatch, after: Manifest, encoders: Mapping[str, Encoder], clock: Clock) -> None:
        """Note the batch in the journal and the manifest, then give what is new or changed to the engine."""
        writer, book = self._begin()
        self._in_the_middle = True
        entries: list[JournalEntry] = []
        functions: list[Function] = []
        terms: list[str] = []
        rows: list[int] = []
        next_row = 0
        for chunk in batch.chunks:
            entry, fresh = self._account(chunk)
            entries.append(entry)
            unit = after.entries[entry.unit]
            unit.records += entry.records
            unit.problems += entry.problems
            for function, analysed in zip(chunk.functions, chunk.terms, strict=True):
                kept = function.id in chunk.kept
                if function.id in fresh:
                    fresh.remove(function.id)
                    functions.append(function)
                    terms.append(analysed)
                    rows.append(KEPT if kept else next_row)
                next_row += not kept
        with clock("write"):
            book.append(entries)
            if functions:
                writer.write(functions, terms, self._vectors(batch, functions, np.array(rows), encoders))
        if time.monotonic() - self._last_checkpoint > self._checkpoint_seconds:
            with clock("checkpoint"):
                self._checkpoint()
        self._in_the_middle = False

    def _account(self, chunk: Prepared) -> tuple[JournalEntry, set[str]]:
        """The chunk's entry in the journal, and the ids that are to be written."""
        changed = {function.id for function in chunk.functions}
        fresh: set[str] = set()
        counts = Counter[str]()
        for id_ in manifest.ids(chunk.records):
            if id_ in self.seen:
                counts["duplicate"] += 1
                continue
            self.seen.add(id_)
            text_id = id_.hex()
            if text_id in changed:
                fresh.add(text_id)
                counts["updated" if text_id in chunk.kept else "indexed"] += 1
            else:
                counts["unchanged"] += 1
        self.counts.update(counts)
        item = chunk.item
        entry = JournalEntry(
            unit=item.unit,
            digest=item.digest,
            chunk=item.number,
            end=chunk.is_end,
            records=chunk.records,
            facts=chunk.facts,
            problems=chunk.problems,
            counts=dict(counts),
        )
        return entry, fresh

    def _vectors(
        self,
        batch: PreparedBatch,
        functions: Sequence[Function],
        rows: NDArray[np.int64],
        encoders: Mapping[str, Encoder],
    ) -> dict[str, Vectors]:
        """A row for each function to write: made by a worker, made here (transformers), or what the index has."""
        kept = rows == KEPT
        kept_ids = [function.id for function, is_kept in zip(functions, kept, strict=True) if is_kept]
        new = [function for function, is_kept in zip(functions, kept, strict=True) if not is_kept]
        vectors: dict[str, Vectors] = {}
        for name, encoder in encoders.items():
            matrix = np.empty((len(functions), encoder.dimension), dtype=np.float32)
            if new:
                made = batch.vectors.get(name)
                matrix[~kept] = encoder.encode_functions(new) if made is None else made[rows[~kept]]
            if kept_ids:
                assert self._previous is not None
                matrix[kept] = self._previous.vectors(kept_ids, name)
            vectors[name] = matrix
        return vectors

    def _checkpoint(self) -> None:
        writer, book = self._begin()
        state = {"journal": book.sync(), "refused": self._refused()}
        writer.checkpoint(orjson.dumps(state))
        self._last_checkpoint = time.monotonic()

    def _refused(self) -> list[tuple[str, str]]:
        return [*self._refused_before, *(self._writer.rejected if self._writer else ())]

    def refused(self) -> list[Problem]:
        """What the engine would not take."""
        return [Problem(id_, 0, f"refused by the engine: {reason}") for id_, reason in self._refused()]

    def finish(self, before: Manifest, after: Manifest, clock: Clock, progress: Progress) -> IndexInfo:
        """Remove what is gone, build the side products, publish. Nothing of it when nothing has changed."""
        if self._writer is None and self._previous is not None and before.entries.keys() == after.entries.keys():
            return self._previous.info
        writer, book = self._begin()
        self._in_the_middle = True
        refused = {bytes.fromhex(id_) for id_, _ in self._refused()}
        if refused:
            for entry in after.entries.values():
                entry.records = manifest.without(entry.records, refused)
        had, has = before.all_ids(), after.all_ids()
        # A unit that a load which was broken off had read may have vanished since.
        done = (id_ for unit in self._done.values() for id_ in manifest.ids(unit.records))
        gone = had.union(self._doubtful, done) - has
        self.removed = len(had - has)
        with clock("write"):
            if gone:
                writer.delete([id_.hex() for id_ in sorted(gone)])
            self._checkpoint()
        with clock("artifacts"):
            writer.put_artifact(manifest.ARTIFACT, after.dump())
            packed = self._facts(before, after)
            writer.put_artifact(facts.ARTIFACT, packed)
            if has:
                self._put_artifacts(writer, packed, progress)
        with clock("publish"):
            progress("publishing", 0, 0)
            info = writer.publish()
        if info.functions != len(has):
            raise TreelineError(
                f"index {self._name!r} holds {info.functions:,} functions, but {len(has):,} were loaded",
                "make it anew with --fresh",
            )
        book.remove()
        for left_over in self._journal_path.parent.glob(f"{self._name}-*.journal"):
            left_over.unlink(missing_ok=True)
        return info

    def _facts(self, before: Manifest, after: Manifest) -> bytes:
        """Those of units that were read now, from the journal, and of the others from the index."""
        book = self._begin()[1]
        pieces: list[bytes] = []
        read: set[str] = set()
        for entry in book.read():
            unit = after.entries.get(entry.unit)
            if unit is not None and unit.digest == entry.digest:
                read.add(entry.unit)
                if entry.facts:
                    pieces.append(facts.frame(entry.unit, entry.facts))
        stored = self._previous.artifact(facts.ARTIFACT) if self._previous else None
        if stored:
            pieces.append(facts.kept(stored, (after.entries.keys() & before.entries.keys()) - read))
        return b"".join(pieces)

    def _put_artifacts(self, writer: Writer, packed: bytes, progress: Progress) -> None:
        def all_facts() -> Iterator[FileFacts]:
            for _, piece in facts.frames(packed):
                yield from facts.unpack(piece)

        view = writer.preview()
        try:
            for name, data in artifacts.build(artifacts.Ingredients(view, all_facts), progress):
                writer.put_artifact(name, data)
        finally:
            view.close()


class _Done:
    """What a journal says of one unit."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        self.records = b""
        self.problems: list[Problem] = []
        self.counts: Counter[str] = Counter()
        self.chunks = 0
        self.complete = False

    def add(self, entry: JournalEntry) -> None:
        self.records += entry.records
        self.problems += entry.problems
        self.counts.update(entry.counts)
        self.chunks = entry.chunk if entry.end else entry.chunk + 1
        self.complete = entry.end
