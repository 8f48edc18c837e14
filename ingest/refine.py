"""Refinement: an index made with static vectors gets deep ones later, while it answers.

The deep encoder reads the units into the vector cache first, without any lock; that takes minutes. Then one new
generation takes all of them over, as a load does; that takes seconds. A refinement that is killed continues from the
cache, and the index is whole at every moment. Which units are refined is an artifact of the generation. A load keeps
it for units that have not changed; the others have static vectors until the next refinement.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar

import numpy as np
import orjson

from treeline.corpus.counting import counted
from treeline.corpus.errors import IndexMissing, InputError
from treeline.corpus.frozen import frozen
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import check_shipped, is_light
from treeline.engine.durable import disk_errors
from treeline.engine.hits import Vectors
from treeline.engine.protocol import Engine, IndexInfo, Store, Writer
from treeline.ingest import state
from treeline.ingest.journal import has_unfinished_load
from treeline.ingest.source import Progress, no_progress
from treeline.ingest.state import ID, TEXT, Manifest, State, split_rows

ARTIFACT = "refined"
COUNT = "refined-count"  # the encoder and the number of the rows: a status must not read megabytes
TOO_OLD = "an older version made it, and its vectors cannot be replaced"
FRESH = "index it again with `--fresh`"
ROW = ID + TEXT  # a unit's id and the hash of its text
READ_AT_ONCE = 256  # units; as many are lost at most when the process is killed
REPLACED_AT_ONCE = 20_000
PATIENCE = 60.0  # seconds that the swap waits for a load to end
PAUSE = 0.5

Made = TypeVar("Made")


@frozen
class Refined:
    """The units of a generation that have deep vectors, and whose."""

    encoder: str = ""
    rows: frozenset[bytes] = frozenset()

    @classmethod
    def load(cls, data: bytes | None) -> Refined:
        if not data:
            return cls()
        encoder, _, rows = data.partition(b"\n")
        return cls(orjson.loads(encoder), frozenset(rows[at : at + ROW] for at in range(0, len(rows), ROW)))

    def dump(self) -> bytes:
        return orjson.dumps(self.encoder) + b"\n" + b"".join(sorted(self.rows))

    def put(self, writer: Writer) -> None:
        """Store them with a generation in the making."""
        writer.put_artifact(ARTIFACT, self.dump())
        writer.put_artifact(COUNT, orjson.dumps([self.encoder, len(self.rows)]))

    def kept(self, manifest: Manifest, written: set[bytes]) -> Refined:
        """Without units that are no longer there or whose vectors were written again."""
        there = {row[:ROW] for entry in manifest.entries.values() for row in split_rows(entry.records)}
        return Refined(self.encoder, frozenset(row for row in self.rows & there if row[:ID] not in written))


@frozen
class Refinement:
    """How far an index is refined: so many of its `units`, by this encoder."""

    encoder: str
    refined: int
    units: int
    problem: str = ""
    """Why it cannot be refined, or not whole; empty if it can."""

    @property
    def is_complete(self) -> bool:
        return self.refined >= self.units


def refinement(store: Store, name: str, encoder: str = "") -> Refinement | None:
    """How far the index is refined (by `encoder`, if it is given); None if it has no static vectors."""
    info = store.info(name)
    if not any(is_light(spec.name) for spec in info.encoders):
        return None
    refined, count = _counted(partial(store.artifact, name))
    problem = "" if info.has_replaceable_vectors else f"{TOO_OLD} ({FRESH})"
    return Refinement(encoder or refined, count if encoder in ("", refined) else 0, info.functions, problem)


def complete(engine: Engine) -> str:
    """The encoder by which every unit of the index is refined; empty if some units have static vectors."""
    name, count = _counted(engine.artifact)
    return name if count >= engine.info.functions else ""


def _counted(artifact: Callable[[str], bytes | None]) -> tuple[str, int]:
    """The encoder of a stored `Refined`, and the number of its units."""
    if (counted := artifact(COUNT)) is not None:
        encoder, count = orjson.loads(counted)
        return encoder, count
    header, _, rows = (artifact(ARTIFACT) or b'""').partition(b"\n")  # stored before there was a count
    return orjson.loads(header), len(rows) // ROW


def refine(
    store: Store,
    name: str,
    encoder: Encoder,
    work: Path,
    progress: Progress = no_progress,
    *,
    idle: bool = False,
    swap: Callable[[], AbstractContextManager[Callable[[IndexInfo], None]]] | None = None,
) -> Refinement:
    """Give every unit of the index the vector of `encoder`, which caches what it has read.

    A unit that the index does not give back is left out; `problem` then says how many.
    `work` is the folder of the loads' journals. `idle` reads when nobody else wants the processor. `swap` opens a
    context around the swap that gives a function to be told of the new generation.
    """
    left_out: set[bytes] = set()
    while True:
        with closing(store.open(name)) as engine:
            _static(engine.info)
            if not engine.info.has_replaceable_vectors:
                raise InputError(f"the index {name!r} cannot be refined: {TOO_OLD}", FRESH)
            unrefined = _pending(engine, encoder)
            pending = [row for row in unrefined if row not in left_out]
            read = partial(_read, engine, pending, encoder, work, progress)
            vectors = (run_idle(read) if idle else read()) if pending else None
        if vectors is not None:
            with closing(vectors):
                unread = vectors.unread(pending)
                left_out.update(unread)
                if len(unread) < len(pending):
                    _swap(store, name, encoder.name, work, vectors, (swap or _nothing)())
        found = refinement(store, name, encoder.name)
        assert found is not None
        if found.is_complete or not unrefined:
            return found
        if not pending:
            return replace(found, problem=f"{counted(len(unrefined), 'unit')} cannot be read from the index ({FRESH})")


def run_idle(call: Callable[[], Made]) -> Made:
    """Run a call in a thread that gets processor time only when nobody else wants it."""
    made: list[Made] = []
    failed: list[BaseException] = []

    def run() -> None:
        # On Linux this is the thread's own priority; elsewhere the process was made nice when it started.
        if hasattr(os, "SCHED_IDLE"):
            with suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        try:
            made.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    thread = threading.Thread(target=run, name="idle", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


class _ReadVectors:
    """The vectors of units that were read, in a file without a name: those of a million units are half a gigabyte."""

    def __init__(self, work: Path, units: int, dimension: int) -> None:
        work.mkdir(parents=True, exist_ok=True)
        with disk_errors(work):
            self._file = TemporaryFile(dir=work)  # noqa: SIM115 - `close` closes it
            # Or a full disk would end the process by a signal when a page of the file is first written.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file.fileno(), 0, units * dimension * np.dtype(np.float16).itemsize)
            self._vectors = np.memmap(self._file, np.float16, "w+", shape=(units, dimension))
        self._places: dict[bytes, int] = {}

    def add(self, rows: Sequence[bytes], vectors: Vectors) -> None:
        places = range(len(self._places), len(self._places) + len(rows))
        self._vectors[places.start : places.stop] = vectors
        self._places.update(zip(rows, places, strict=True))

    def batches(self, rows: Sequence[bytes]) -> Iterator[tuple[Sequence[bytes], Vectors]]:
        """Those of these units that were read, with their vectors."""
        known = [row for row in rows if row in self._places]
        for batch in _batches(known, REPLACED_AT_ONCE):
            yield batch, self._vectors[[self._places[row] for row in batch]].astype(np.float32)

    def unread(self, rows: Iterable[bytes]) -> list[bytes]:
        return [row for row in rows if row not in self._places]

    def close(self) -> None:
        del self._vectors
        self._file.close()


def _read(engine: Engine, pending: Sequence[bytes], encoder: Encoder, work: Path, progress: Progress) -> _ReadVectors:
    """Read the units; the encoder's cache keeps each batch, whatever happens later."""
    vectors = _ReadVectors(work, len(pending), encoder.dimension)
    units, row_of = engine.info.functions, {row[:ID].hex(): row for row in pending}
    done = units - len(pending)
    for batch in _batches(pending, READ_AT_ONCE):
        functions = engine.fetch([row[:ID].hex() for row in batch])
        vectors.add([row_of[function.id] for function in functions], encoder.encode_functions(functions))
        done += len(batch)
        progress("refining", done, units)
    return vectors


def _swap(
    store: Store,
    name: str,
    encoder: str,
    work: Path,
    read: _ReadVectors,
    around: AbstractContextManager[Callable[[IndexInfo], None]],
) -> None:
    """Publish a generation with the vectors of the units that were read and are still there."""
    with around as tell, _writer(store, name, work, encoder) as writer:
        try:
            info = _replace(store, name, encoder, read, writer)
        except BaseException:  # nobody resumes it, so it must not fill the disk
            writer.abandon()
            raise
        tell(info)


def _replace(store: Store, name: str, encoder: str, read: _ReadVectors, writer: Writer) -> IndexInfo:
    with closing(store.open(name)) as engine:
        static, before = _static(engine.info), Refined.load(engine.artifact(ARTIFACT))
        refined = set(before.rows) if before.encoder == encoder else set[bytes]()
        # Another machine may have refined some of them meanwhile.
        for batch, vectors in read.batches([row for row in _rows(engine) if row not in refined]):
            writer.replace_vectors(static, [row[:ID].hex() for row in batch], vectors)
            refined.update(batch)
    Refined(encoder, frozenset(refined)).put(writer)
    return writer.publish()


def _writer(store: Store, name: str, work: Path, encoder: str) -> Writer:
    """A writer of the next generation; waits for a load that runs, and leaves one that was interrupted alone."""
    end = time.monotonic() + PATIENCE
    while True:
        if has_unfinished_load(work, name, store.current(name)):
            unfinished = f"a load of the index {name!r} is not finished"
        else:
            try:
                return store.begin(name, store.info(name).encoders, f"refine {encoder}")
            except IndexMissing:
                raise
            except InputError as error:
                unfinished = error.message
        if time.monotonic() >= end:
            raise InputError(unfinished, "finish the load; the refinement then continues from the cache")
        time.sleep(PAUSE)


def _static(info: IndexInfo) -> str:
    """The name of the index's static encoder, of the version that is shipped."""
    name = next((spec.name for spec in info.encoders if is_light(spec.name)), None)
    if name is None:
        made = ", ".join(spec.name for spec in info.encoders) or "none"
        raise InputError(
            f"the index {info.name!r} was made with encoder {made}", "only an index with static vectors can be refined"
        )
    check_shipped([name])
    return name


def _pending(engine: Engine, encoder: Encoder) -> list[bytes]:
    refined = Refined.load(engine.artifact(ARTIFACT))
    known = refined.rows if refined.encoder == encoder.name else frozenset()
    return [row for row in _rows(engine) if row not in known]


def _rows(engine: Engine) -> list[bytes]:
    """One row for each unit of the index, in reading order; of two with the same id the first counts, as in a load."""
    with closing(State(engine.artifact(state.ARTIFACT) or b"")) as stored:
        entries = stored.manifest().entries.values()
    rows: dict[bytes, bytes] = {}
    for entry in entries:
        for row in split_rows(entry.records):
            rows.setdefault(row[:ID], row[:ROW])
    return list(rows.values())


def _batches(rows: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _nothing() -> AbstractContextManager[Callable[[IndexInfo], None]]:
    return nullcontext(lambda _: None)
