"""The generation that a load writes: started at the first change, journalled, checkpointed, published at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import DiskFull, EncoderMismatch, IndexMissing, InputError, TreelineError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.encoder.protocol import DEFAULT_ENCODER, Encoder
from treeline.encoder.registry import is_light
from treeline.engine.hits import Vectors
from treeline.engine.protocol import EncoderSpec, Engine, IndexInfo, Store, Writer
from treeline.ingest import artifacts, state, texts
from treeline.ingest.journal import (
    JOURNAL,
    Journal,
    JournalEntry,
    Recovery,
    UnitProgress,
    checkpoint_state,
    open_journal,
    remove_journals,
)
from treeline.ingest.source import Problem, Progress
from treeline.ingest.state import Entry, Manifest, State, row_ids
from treeline.ingest.workers import BatchResult, ChunkResult, Clock, Workers, load_encoders, trim_memory

if TYPE_CHECKING:
    from treeline.encoder.static import StaticEncoder


class Ledger:
    """Accounts for every unit of a load. A repeated id is a duplicate."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(indexed=0, updated=0, unchanged=0, duplicate=0)
        self._seen: set[bytes] = set()

    def see(self, entry: Entry) -> None:
        """Note units of another source; they are not counted."""
        self._seen.update(row_ids(entry.records))

    def keep(self, entries: Iterable[Entry]) -> None:
        """Count the functions of unchanged files."""
        ids = row_ids(b"".join(entry.records for entry in entries))
        before = len(self._seen)
        self._seen.update(ids)
        new = len(self._seen) - before
        self.counts["unchanged"] += new
        self.counts["duplicate"] += len(ids) - new

    def resume(self, progress: UnitProgress) -> None:
        """Count what an interrupted load accounted for."""
        self.counts.update(progress.counts)
        self._seen.update(row_ids(progress.records))

    def forget(self) -> None:
        """Forget the units, not the counts."""
        self._seen.clear()

    def account(self, chunk: ChunkResult) -> tuple[JournalEntry, set[str]]:
        """The chunk's journal entry, and the ids to write."""
        changes = {function.id for function in chunk.functions}
        fresh: set[str] = set()
        counts = Counter[str]()
        for id_ in row_ids(chunk.records):
            if id_ in self._seen:
                counts["duplicate"] += 1
                continue
            self._seen.add(id_)
            text_id = id_.hex()
            if text_id in changes:
                fresh.add(text_id)
                counts["updated" if text_id in chunk.has_vector else "indexed"] += 1
            else:
                counts["unchanged"] += 1
        self.counts.update(counts)
        item = chunk.item
        content = (chunk.is_end, chunk.records, chunk.facts, chunk.problems, dict(counts), chunk.texts)
        return JournalEntry(item.unit, item.digest, item.number, *content), fresh


@frozen
class Start:
    """The beginning of a load; for a new index `previous` is None and the manifest empty."""

    previous: Engine | None
    state: State
    before: Manifest
    encoders: dict[str, Encoder]
    current: str = ""
    """The generation that was current then."""
    base: str = ""
    """The generation to start from, if that is another one."""
    new_source: str = ""
    """The name of the source, if the base was made of another folder."""

    def light_encoders(self) -> dict[str, StaticEncoder]:
        """The encoders that every worker can load; any other uses all cores and much memory."""
        light = {name: encoder for name, encoder in self.encoders.items() if is_light(name)}
        return cast("dict[str, StaticEncoder]", light)

    def check_removable(self, name: str, sources: Sequence[str]) -> None:
        """Raise unless the index has the sources to be removed."""
        unknown = set(sources) - set(self.before.sources)
        if unknown:
            known = ", ".join(self.before.sources) or "none"
            raise InputError(f"index {name!r} has no source {min(unknown)!r}", f"its sources: {known}")

    def close(self) -> None:
        self.state.close()
        if self.previous is not None:
            self.previous.close()


def start(
    store: Store, name: str, encoders: Sequence[str], cache: Path, *, fresh: bool, base: str = "", source: str = ""
) -> Start:
    """Open the index, unless it is rebuilt; `cache` is the file with the vectors of slow encoders. With a `base`, which
    is of one folder, the load starts from that generation; the folder's name is now `source`."""
    current = store.current(name) if base and name in store.names() else ""
    previous = None if fresh else store.open(name, base) if base else _open(store, name)
    try:
        old_state = State() if previous is None else _state(previous)
        new_source = source if base and old_state.rename(source) else ""
        by_name = _encoders(previous, name, encoders, cache)
        if previous is not None and not base:
            current = previous.info.generation
        return Start(previous, old_state, old_state.manifest(), by_name, current, base, new_source)
    except BaseException:
        if previous is not None:
            previous.close()
        raise


def _open(store: Store, name: str) -> Engine | None:
    try:
        return store.open(name)
    except IndexMissing:
        return None


def _state(engine: Engine) -> State:
    data = engine.artifact(state.ARTIFACT)
    if data is None:
        raise InputError(
            f"index {engine.info.name!r} has no record of its sources, so it cannot be updated", "use --fresh"
        )
    return State(data)


def _encoders(previous: Engine | None, name: str, requests: Sequence[str], cache: Path) -> dict[str, Encoder]:
    """The requested encoders, which must be those of the index."""
    if previous is None:
        return load_encoders(requests or (DEFAULT_ENCODER,), cache)
    index_names = [spec.name for spec in previous.info.encoders]
    encoders = load_encoders(requests or index_names, cache)
    if list(encoders) != index_names:
        has, wants = (" + ".join(names) or "none" for names in (index_names, list(encoders)))
        raise EncoderMismatch(
            f"index {name!r} was made with encoder {has}, not {wants}",
            "rebuild it with --fresh, or choose another --name",
        )
    return encoders


# Instead of a row number: the text is unchanged, so take the index's vector.
OLD_VECTOR = -1
# The time between checkpoints grows with the load's duration, within bounds: each checkpoint adds a segment to the text
# index, and fewer segments answer faster.
LONGEST_BETWEEN_CHECKPOINTS = 120.0


class Generation:
    """One load's writes to the engine; starts nothing until something has changed."""

    def __init__(
        self,
        store: Store,
        name: str,
        specs: Sequence[EncoderSpec],
        fingerprint: str,
        start: Start,
        work: Path | None,
        fresh: bool,
        checkpoint_seconds: float,
    ) -> None:
        self.ledger = Ledger()
        self.removed = 0
        self._store, self._name, self._specs, self._fingerprint = store, name, specs, fingerprint
        self._start, self._previous, self._state, self._fresh = start, start.previous, start.state, fresh
        self._checkpoint_seconds = checkpoint_seconds
        self._journal_path = work / f"{name}-{fingerprint}{JOURNAL}" if work else None
        self._journal: Journal | None = None
        self._writer: Writer | None = None
        self._last_checkpoint = 0.0
        # An interrupt during a write leaves the writer unusable; the last checkpoint is intact.
        self._mid_write = False
        self._recovery = Recovery()

    @property
    def is_writing(self) -> bool:
        return self._writer is not None

    @property
    def is_resumed(self) -> bool:
        return self._writer is not None and self._writer.resumed is not None

    def __enter__(self) -> Self:
        if self._journal_path and self._journal_path.exists():
            self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._writer is None:
            return
        if kind is not None and issubclass(kind, DiskFull) and self._journal is not None:
            # An unfinished generation must not keep the disk full; it is written again later.
            self._writer.abandon()
            self._journal.remove()
            return
        if self._journal is not None:
            if kind is KeyboardInterrupt and not self._mid_write:
                self._checkpoint()
            self._journal.close()
        self._writer.__exit__(kind, *rest)

    def _begin(self) -> tuple[Writer, Journal]:
        if self._writer is None or self._journal is None:
            self._writer = self._store.begin(
                self._name, self._specs, self._fingerprint, fresh=self._fresh, base=self._start.base
            )
            try:
                self._check_base()
                self._journal, self._recovery = open_journal(self._journal_path, self._writer.resumed)
            except DiskFull:
                self._writer.abandon()
                self._remove_journals()
                raise
            except BaseException as error:  # `__exit__` is not called if `__enter__` fails
                self._writer.__exit__(type(error), error, error.__traceback__)
                raise
            self._last_checkpoint = time.monotonic()
        return self._writer, self._journal

    def _check_base(self) -> None:
        """Raise if another load published after we read the manifest."""
        if not self._fresh and self._name in self._store.names():
            if self._store.current(self._name) == self._start.current:
                return
            assert self._writer is not None
            self._writer.abandon()
            raise InputError(f"index {self._name!r} was changed by another load meanwhile", "run the command again")

    def resume(self, source: str, key: str, digest: str) -> tuple[Entry, int, bool]:
        """The state in which an interrupted load left a file: its entry, the next chunk, whether it is complete."""
        done = self._recovery.progress(key, digest)
        if done is None:
            return Entry(source, digest), 0, False
        self.ledger.resume(done)
        return Entry(source, digest, done.records, tuple(done.problems)), done.chunks, done.complete

    def knows(self, entry: Entry | None, key: str, digest: str) -> Entry | None:
        """The index's entry of a file; None if an interrupted load has written another version of it."""
        self._recovery.progress(key, digest)
        return None if key in self._recovery.stale else entry

    def write(self, batch: BatchResult, after: Manifest, encoders: Mapping[str, Encoder], clock: Clock) -> None:
        """Record the batch in journal and manifest, then write what is new or changed to the engine."""
        writer, book = self._begin()
        self._mid_write = True
        entries: list[JournalEntry] = []
        functions: list[Function] = []
        terms: list[str] = []
        rows: list[int] = []
        next_row = 0
        for chunk in batch.chunks:
            entry, fresh = self.ledger.account(chunk)
            entries.append(entry)
            unit = after.entries[entry.unit]
            unit.records += entry.records
            unit.problems += entry.problems
            for function, text_terms in zip(chunk.functions, chunk.terms, strict=True):
                has_vector = function.id in chunk.has_vector
                if function.id in fresh:
                    fresh.remove(function.id)
                    functions.append(function)
                    terms.append(text_terms)
                    rows.append(OLD_VECTOR if has_vector else next_row)
                next_row += not has_vector
        with clock("write"):
            book.append(entries)
            if functions:
                writer.write(functions, terms, self._vectors(batch, functions, np.array(rows), encoders))
        if time.monotonic() - self._last_checkpoint > self._checkpoint_seconds:
            with clock("checkpoint"):
                self._checkpoint()
            self._checkpoint_seconds = min(2 * self._checkpoint_seconds, LONGEST_BETWEEN_CHECKPOINTS)
        self._mid_write = False

    def _vectors(
        self,
        batch: BatchResult,
        functions: Sequence[Function],
        rows: NDArray[np.int64],
        encoders: Mapping[str, Encoder],
    ) -> dict[str, Vectors]:
        """A vector for each function: from a worker, made here (transformers), or the index's."""
        old = rows == OLD_VECTOR
        old_ids = [function.id for function, is_old in zip(functions, old, strict=True) if is_old]
        new = [function for function, is_old in zip(functions, old, strict=True) if not is_old]
        vectors: dict[str, Vectors] = {}
        for name, encoder in encoders.items():
            matrix = np.empty((len(functions), encoder.dimension), dtype=np.float32)
            if new:
                new_vectors = batch.vectors.get(name)
                matrix[~old] = encoder.encode_functions(new) if new_vectors is None else new_vectors[rows[~old]]
            if old_ids:
                assert self._previous is not None
                matrix[old] = self._previous.vectors(old_ids, name)
            vectors[name] = matrix
        return vectors

    def _checkpoint(self) -> None:
        writer, book = self._begin()
        if self._journal_path is None:
            return
        writer.checkpoint(checkpoint_state(book, self._refusals()))
        trim_memory()
        self._last_checkpoint = time.monotonic()

    def _refusals(self) -> list[tuple[str, str]]:
        # A writer that was resumed knows again what the last checkpoint says.
        return list(dict([*self._recovery.refusals, *(self._writer.rejected if self._writer else ())]).items())

    def refusal_problems(self) -> list[Problem]:
        """The documents that the engine refused."""
        return [Problem(id_, 0, f"refused by the engine: {reason}") for id_, reason in self._refusals()]

    def finish(
        self,
        before: Manifest,
        after: Manifest,
        workers: Workers,
        clock: Clock,
        progress: Progress,
        make_artifacts: artifacts.Make,
        hold_interrupts: Callable[[], None],
        *,
        may_empty: bool = False,
    ) -> IndexInfo:
        """Remove deleted files, build the side products, publish; does nothing if nothing has changed.

        An index becomes empty only on purpose (`may_empty`): a folder that is not mounted looks like one without
        functions.
        """
        is_same = before.entries.keys() == after.entries.keys() and not self._start.base
        if self._writer is None and self._previous is not None and is_same:
            # A load that failed after it had published left a journal that nobody can resume.
            with suppress(OSError):  # on a read-only disk it does no harm
                self._remove_journals(except_base=self._previous.info.generation)
            return self._previous.info
        writer, book = self._begin()
        self._mid_write = True
        self.ledger.forget()
        self._leave_out_refused(after)
        new_ids, gone_ids, has = after.difference(before)
        if not has and not may_empty and self._functions_now():
            writer.abandon()
            book.remove()
            raise InputError(
                f"index {self._name!r} would become empty, so it stays as it was: nothing was found to index",
                "check that the sources still exist; `treeline status --drop` removes an index",
            )
        old_ids = gone_ids | (self._recovery.written_ids() - has)
        self.removed, functions = len(gone_ids), len(has)
        with clock("artifacts"):
            repos = self._state.replace(after, book.facts(after))
            # Of a new index all are new: nothing is updated, so nobody asks for a list.
            new = _hex(new_ids) if self._previous is not None else []
            changes = artifacts.Changes(self._previous, new, _hex(gone_ids), self._state, repos)
            build_artifacts = make_artifacts(changes, workers, progress)
        # Of a large repository 50 MB each, and what follows takes as much.
        del new_ids, has
        with clock("write"):
            if old_ids:
                writer.delete(_hex(old_ids))
            self._checkpoint()
        with clock("artifacts"):
            writer.put_artifact(state.ARTIFACT, self._state.dump())
            gone = before.entries.keys() - after.entries.keys()
            for name, data in texts.update(self._previous, book.texts(after), gone, self._start.new_source):
                writer.put_artifact(name, data)
            for name, data in build_artifacts(writer.preview):
                writer.put_artifact(name, data)
        with clock("publish"):
            progress("publishing", 0, 0)
            hold_interrupts()
            info = writer.publish()
        if info.functions != functions:
            raise TreelineError(
                f"index {self._name!r} holds {info.functions:,} units, but {functions:,} were loaded",
                "rebuild it with --fresh",
            )
        book.remove()
        self._remove_journals()
        return info

    def _leave_out_refused(self, after: Manifest) -> None:
        if ids := {bytes.fromhex(id_) for id_, _ in self._refusals()}:
            for entry in after.entries.values():
                entry.records = state.exclude_ids(entry.records, ids)

    def _remove_journals(self, except_base: str | None = None) -> None:
        if self._journal_path:
            remove_journals(self._journal_path.parent, self._name, except_base=except_base)

    def _functions_now(self) -> int:
        """The number of units in the current generation, also under --fresh, which does not open it."""
        if self._name not in self._store.names():
            return 0
        current = self._store.current(self._name)
        return next((info.functions for info in self._store.generations(self._name) if info.generation == current), 0)


def _hex(ids: set[bytes]) -> list[str]:
    return [id_.hex() for id_ in sorted(ids)]
