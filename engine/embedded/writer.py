"""The next generation of an embedded index in the making: checkpointed, resumable, published by one rename."""

from __future__ import annotations

import shutil
from base64 import b64decode, b64encode
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from treeline.corpus.errors import DiskFull, InputError, TreelineError
from treeline.corpus.function import Function
from treeline.engine.durable import WriterLock, disk_errors, link_tree, remove, sync_folder, sync_tree, write_atomically
from treeline.engine.embedded import fulltext, words
from treeline.engine.embedded.engine import EmbeddedEngine
from treeline.engine.embedded.manifest import (
    CURRENT,
    FORMAT,
    next_generation,
    pointer_lock,
    read_info,
    read_pointer,
    write_info,
    write_manifest,
)
from treeline.engine.embedded.rows import BASE, PART, RowsBuilder
from treeline.engine.hits import Vectors, normalize
from treeline.engine.protocol import EncoderSpec, IndexInfo, new_token

BUILDING = "building"
CHECKPOINT = "checkpoint.json"
FROZEN_TEXT = "text-"
DEAD = "dead-"
# Bytes of new documents that tantivy holds before it writes a segment. One thread and much room make few segments,
# and each is looked through for every word or name that is asked for as it is written.
HEAP = 200_000_000
THREADS = 1
ARTIFACT_NAME_LENGTH = 100
FEW_WORDS = 100_000  # of new units, to look up one by one in .3 s; a vocabulary of 240,000 words takes 2 s to make


class EmbeddedWriter:
    """See `treeline.engine.protocol.Writer`."""

    def __init__(
        self, home: Path, base: str, encoders: Sequence[EncoderSpec], fingerprint: str, lock: WriterLock
    ) -> None:
        self._home = home
        self._base = base
        self._pointer = read_pointer(home)
        self._encoders = tuple(encoders)
        self._fingerprint = fingerprint
        self._lock: WriterLock | None = lock
        self._folder = home / BUILDING
        self._rows = RowsBuilder(self._folder, self._encoders)
        self.rejected: list[tuple[str, str]] = []
        self.resumed: bytes | None = None
        self._checkpoints = 0
        self._is_complete = False
        # Of the units added to a base; None where they are not known, or too many.
        self._new_words: set[str] | None = set() if base else None
        try:
            with disk_errors(home):
                if not self._resume():
                    self._start()
                self._index = fulltext.open_index(self._folder / "text")
                self._writer = self._index.writer(HEAP, THREADS)
        except DiskFull:  # what cannot be finished must not keep the disk full
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def write(self, functions: Sequence[Function], terms: Sequence[str], vectors: Mapping[str, Vectors]) -> int:
        self._is_complete = False
        batches = [_rows_of(encoder, vectors.get(encoder.name), len(functions)) for encoder in self._encoders]
        ids = [function.id for function in functions]
        alive = dict(zip(ids, self._rows.serials(ids), strict=True))
        numbers: list[int] = []
        new = 0
        with disk_errors(self._home):
            for number, (function, function_terms) in enumerate(zip(functions, terms, strict=True)):
                try:
                    document = fulltext.document(self._rows.next_serial, function, function_terms)
                    row = self._rows.row_of(function)
                except (UnicodeEncodeError, orjson.JSONEncodeError) as error:
                    self.rejected.append((function.id, f"not valid Unicode: {error}"))
                    continue
                before = alive[function.id]
                if before is None:
                    new += 1
                else:
                    self._delete_row(function.id, before)
                self._writer.add_document(document)
                alive[function.id] = row.serial
                self._rows.add(row, f"{function.original_string}\n{function.docstring}")
                if self._new_words is not None:
                    self._new_words |= fulltext.distinct_words(function)
                numbers.append(number)
            if self._new_words is not None and len(self._new_words) > FEW_WORDS:
                self._new_words = None
            self._rows.add_vectors([batch[numbers] for batch in batches])
        return new

    def delete(self, ids: Sequence[str]) -> int:
        self._is_complete = False
        distinct = list(dict.fromkeys(ids))
        serials = zip(distinct, self._rows.serials(distinct), strict=True)
        alive = {id: serial for id, serial in serials if serial is not None}
        with disk_errors(self._home):
            for id, serial in alive.items():
                self._delete_row(id, serial)
        return len(alive)

    def delete_repo(self, repo: str) -> int:
        self._is_complete = False
        with disk_errors(self._home):
            self._writer.delete_documents_by_term("repo", repo)
            return self._rows.delete_repo(repo)

    def put_artifact(self, name: str, data: bytes) -> None:
        if not name or "/" in name or name.startswith(".") or len(name) > ARTIFACT_NAME_LENGTH:
            raise InputError(f"{name!r} cannot be the name of an artifact", "use letters, digits, dots and dashes")
        with disk_errors(self._home):
            write_atomically(self._folder / "artifacts" / name, data)

    def checkpoint(self, state: bytes) -> None:
        with disk_errors(self._home):
            self._rows.flush()
            self._writer.commit()
            self._checkpoints += 1
            frozen = f"{FROZEN_TEXT}{self._checkpoints:06d}"
            fulltext.freeze(self._folder / "text", self._folder / frozen)
            dead = f"{DEAD}{self._checkpoints:06d}.npy"
            self._rows.save_dead(self._folder / dead)
            for path in (self._folder / dead, self._folder):
                sync_folder(path)
            record = {
                **self._plan(),
                "number": self._checkpoints,
                "text": frozen,
                "dead": dead,
                "parts": self._rows.parts,
                "next_serial": self._rows.next_serial,
                "rejected": self.rejected,
                "state": b64encode(state).decode(),
            }
            write_atomically(self._folder / CHECKPOINT, orjson.dumps(record))
            self._remove((FROZEN_TEXT, DEAD, PART), {frozen, dead, *self._rows.parts})

    def preview(self) -> EmbeddedEngine:
        with disk_errors(self._home):
            self._complete()
            return EmbeddedEngine(self._folder)

    def publish(self) -> IndexInfo:
        with disk_errors(self._home):
            self._complete()
            self._writer.wait_merging_threads()
            base = self._home / self._base if self._base else None
            fulltext.write_addresses(self._folder, base)
            self._rows.close()
            # First, and for good: a checkpoint must not outlive what it points to, or the next load could not begin.
            (self._folder / CHECKPOINT).unlink(missing_ok=True)
            sync_folder(self._folder)
            self._remove((FROZEN_TEXT, PART, BASE, DEAD))
            write_manifest(self._folder, base)
            sync_tree(self._folder)
            with pointer_lock(self._home):
                self._check_base()
                generation = next_generation(self._home)
                self._folder.rename(self._home / generation)
                sync_folder(self._home)
                write_atomically(self._home / CURRENT, generation.encode())
        self._release()
        return read_info(self._home / generation)

    def abandon(self) -> None:
        if self._lock is None:  # published: what is in the folder now is another writer's
            return
        self._close_writer()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lock is not None:
            self._close_writer()
            self._release()

    def _start(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        if not self._base:
            (self._folder / "artifacts").mkdir()
            return
        base = self._home / self._base
        link_tree(base / "artifacts", self._folder / "artifacts")
        link_tree(base / "text", self._folder / "text")
        self._rows.start_from(base)

    def _resume(self) -> bool:
        """Take up an interrupted build of the same plan from its last checkpoint, if there is one."""
        try:
            record = orjson.loads((self._folder / CHECKPOINT).read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return False
        if {key: record.get(key) for key in self._plan()} != self._plan():
            return False
        shutil.rmtree(self._folder / "text", ignore_errors=True)
        link_tree(self._folder / record["text"], self._folder / "text")
        self._remove((FROZEN_TEXT, DEAD, PART), {record["text"], record["dead"], *record["parts"]})
        self._rows.resume(record["parts"], self._folder / record["dead"], record["next_serial"])
        self._checkpoints = record["number"]
        self._new_words = None
        self.rejected = [(id, reason) for id, reason in record["rejected"]]
        self.resumed = b64decode(record["state"])
        return True

    def _plan(self) -> dict[str, Any]:
        """The parameters that must match for an interrupted build to be resumed."""
        encoders = [[encoder.name, encoder.dimension] for encoder in self._encoders]
        return {"format": FORMAT, "fingerprint": self._fingerprint, "encoders": encoders, "base": self._base}

    def _complete(self) -> None:
        """Bring the folder into the shape that readers open; nothing to do when nothing was written since."""
        if self._is_complete:
            return
        self._rows.flush()
        self._writer.commit()
        self._index.reload()
        searcher = self._index.searcher()
        functions = sum(map(len, self._rows.living_rows()))
        if searcher.num_docs != functions:
            raise TreelineError(
                f"the new generation of {self._home.name!r} does not add up: {functions} units written, "
                f"{searcher.num_docs} in the text index",
                "the old one stays; index again with a fresh start",
            )
        self._rows.merge(self._folder / "rows")
        base = self._home / self._base / "words"
        if self._new_words is not None and base.is_dir():
            words.extend(base, self._new_words, searcher, self._folder / "words")
        else:
            words.build(searcher, self._folder / "words")
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        info = IndexInfo(self._home.name, "embedded", BUILDING, functions, self._encoders, stamp, token=new_token())
        more = {"fingerprint": self._fingerprint, "next_serial": self._rows.next_serial}
        write_atomically(self._folder / "info.json", write_info(info, **more))
        self._is_complete = True

    def _delete_row(self, id: str, serial: int) -> None:
        self._rows.delete(id, serial)
        self._writer.delete_documents_by_term("id", id)

    def _check_base(self) -> None:
        """Refuse to publish what was built on a generation that is no longer current."""
        if self._base and read_pointer(self._home) != self._pointer:
            raise TreelineError(
                f"the index {self._home.name!r} was rolled back or replaced while it was being written",
                "nothing was published; run the command again",
            )

    def _remove(self, beginnings: tuple[str, ...], keep: Container[str] = ()) -> None:
        for path in self._folder.iterdir():
            if path.name.startswith(beginnings) and path.name not in keep:
                remove(path)

    def _close_writer(self) -> None:
        # A writer that a failing disk has killed (what it failed of was raised then), or that has finished and was
        # interrupted before the generation was published, cannot be closed any more.
        with suppress(ValueError, RuntimeError):
            self._writer.rollback()
            self._writer.wait_merging_threads()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _rows_of(encoder: EncoderSpec, rows: Vectors | None, count: int) -> NDArray[np.float16]:
    """An encoder's vectors as they are kept; zeros when it gave none."""
    if rows is None:
        return np.zeros((count, encoder.dimension), dtype=np.float16)
    encoder.check(rows, count)
    return normalize(rows).astype(np.float16)
