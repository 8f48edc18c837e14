"""The next generation of an embedded index in the making: checkpointed, resumable, published by one rename."""

from __future__ import annotations

import shutil
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
import tantivy
from numpy.typing import NDArray

from corpus.analysis import Terms
from corpus.errors import EncoderMismatch, InputError, TreelineError
from corpus.function import Function
from engine import fulltext, graph_search, snapshot, vectors, vocabulary
from engine.columns import Positions, Row, Table, merge_tables, write_rows
from engine.durable import WriterLock, disk_errors, link_tree, sync_folder, sync_tree, write_atomically
from engine.embedded_engine import EmbeddedEngine, read_info, write_info
from engine.protocol import EncoderSpec, Filters, IndexInfo, Vectors

BUILDING = "building"
CURRENT = "current"
CHECKPOINT = "checkpoint.json"
HEAP = 200_000_000  # bytes of new documents that tantivy holds before it writes a segment
THREADS = 2
ROWS_IN_MEMORY = 20_000
ARTIFACT_NAME_LENGTH = 100


class EmbeddedWriter:
    """See `engine.protocol.Writer`."""

    def __init__(
        self, home: Path, base: str, encoders: Sequence[EncoderSpec], fingerprint: str, lock: WriterLock
    ) -> None:
        self._home = home
        self._base_name = base
        self._encoders = tuple(encoders)
        self._fingerprint = fingerprint
        self._lock: WriterLock | None = lock
        self._folder = home / BUILDING
        self._rows: list[Row] = []
        self._row_vectors: list[list[NDArray[np.float16]]] = [[] for _ in encoders]
        self._serial_of: dict[bytes, int] = {}
        self._dead: set[int] = set()
        self._parts: list[tuple[str, Table]] = []
        self._rejected: list[tuple[str, str]] = []
        self._next_serial = 0
        self._checkpoints = 0
        self._resumed: bytes | None = None
        self._is_complete = False
        with disk_errors(home):
            if not self._resume():
                self._start()
            self._index = fulltext.open_text(self._folder / "text")
            self._open_writer()

    @property
    def resumed(self) -> bytes | None:
        return self._resumed

    @property
    def rejected(self) -> list[tuple[str, str]]:
        return self._rejected

    def write(self, functions: Sequence[Function], terms: Sequence[Terms], vectors: Mapping[str, Vectors]) -> int:
        self._is_complete = False
        rows = [self._rows_of(encoder, vectors.get(encoder.name), len(functions)) for encoder in self._encoders]
        in_base = self._base_serials([bytes.fromhex(function.id) for function in functions])
        kept: list[int] = []
        new = 0
        with disk_errors(self._home):
            for number, (function, function_terms) in enumerate(zip(functions, terms, strict=True)):
                try:
                    document = fulltext.document(self._next_serial, function, function_terms)
                    row = Row.of(self._next_serial, function)
                except (UnicodeEncodeError, orjson.JSONEncodeError) as error:
                    self._rejected.append((function.id, f"not valid Unicode: {error}"))
                    continue
                replaced = self._serial_of.get(row.id, in_base[number])
                if replaced is not None and replaced not in self._dead:
                    self._dead.add(replaced)
                    self._writer.delete_documents_by_term("id", function.id)
                else:
                    new += 1
                self._writer.add_document(document)
                self._serial_of[row.id] = self._next_serial
                self._rows.append(row)
                self._next_serial += 1
                kept.append(number)
            for collected, batch in zip(self._row_vectors, rows, strict=True):
                collected.append(batch[kept])
            if len(self._rows) >= ROWS_IN_MEMORY:
                self._flush()
        return new

    def delete(self, ids: Sequence[str]) -> int:
        self._is_complete = False
        deleted = 0
        keys = [bytes.fromhex(id) for id in ids]
        with disk_errors(self._home):
            for id, key, in_base in zip(ids, keys, self._base_serials(keys), strict=True):
                serial = self._serial_of.pop(key, in_base)
                if serial is not None and serial not in self._dead:
                    self._dead.add(serial)
                    self._writer.delete_documents_by_term("id", id)
                    deleted += 1
        return deleted

    def delete_repo(self, repo: str) -> int:
        self._is_complete = False
        before = len(self._dead)
        with disk_errors(self._home):
            self._flush()
            self._writer.delete_documents_by_term("repo", repo)
        for _, table in self._parts:
            mask = table.mask(Filters(repo=repo))
            if mask is not None and mask.any():
                self._dead.update(table.serials[mask].tolist())
                for key in table.ids[mask].tolist():
                    self._serial_of.pop(key.ljust(16, b"\0"), None)
        return len(self._dead) - before

    def put_artifact(self, name: str, data: bytes) -> None:
        if not name or "/" in name or name.startswith(".") or len(name) > ARTIFACT_NAME_LENGTH:
            raise InputError(f"{name!r} cannot be the name of an artifact", "use letters, digits, dots and dashes")
        with disk_errors(self._home):
            write_atomically(self._folder / "artifacts" / name, data)

    def checkpoint(self, state: bytes) -> None:
        with disk_errors(self._home):
            self._flush()
            self._writer.commit()
            self._checkpoints += 1
            frozen = f"text-{self._checkpoints:06d}"
            snapshot.freeze(self._folder / "text", self._folder / frozen)
            dead = f"dead-{self._checkpoints:06d}.npy"
            np.save(self._folder / dead, np.array(sorted(self._dead), dtype=np.int64))
            for path in (self._folder / dead, self._folder):
                sync_folder(path)
            record = {
                **self._plan(),
                "number": self._checkpoints,
                "text": frozen,
                "dead": dead,
                "parts": [name for name, _ in self._parts if name != "base"],
                "next_serial": self._next_serial,
                "rejected": self._rejected,
                "state": b64encode(state).decode(),
            }
            write_atomically(self._folder / CHECKPOINT, orjson.dumps(record))
            self._remove_other_checkpoints(record)

    def preview(self) -> EmbeddedEngine:
        with disk_errors(self._home):
            self._complete()
            return EmbeddedEngine(self._folder)

    def publish(self) -> IndexInfo:
        with disk_errors(self._home):
            self._complete()
            self._writer.wait_merging_threads()
            self._remove_scaffolding()
            sync_tree(self._folder)
            generation = _next_generation(self._home)
            self._folder.rename(self._home / generation)
            sync_folder(self._home)
            write_atomically(self._home / CURRENT, generation.encode())
        self._release()
        return read_info(self._home / generation)

    def abandon(self) -> None:
        self._close_writer()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lock is not None:
            self._close_writer()
            self._release()

    def _complete(self) -> None:
        """Bring the folder into the shape that readers open; nothing to do when nothing was written since."""
        if self._is_complete:
            return
        self._flush()
        self._writer.commit()
        self._index.reload()
        searcher = self._index.searcher()
        kept = [self._kept(table) for _, table in self._parts]
        functions = sum(map(len, kept))
        if searcher.num_docs != functions:
            raise TreelineError(
                f"the new generation of {self._home.name!r} does not add up: {functions} functions written, "
                f"{searcher.num_docs} in the text index",
                "the old one stays; index again with a fresh start",
            )
        self._write_rows(kept)
        vocabulary.build(searcher, self._folder / "words")
        created = datetime.now(UTC).isoformat(timespec="seconds")
        info = IndexInfo(self._home.name, "embedded", BUILDING, functions, self._encoders, created)
        more = {"fingerprint": self._fingerprint, "next_serial": self._next_serial}
        write_atomically(self._folder / "info.json", write_info(info, **more))
        self._is_complete = True

    def _start(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        if not self._base_name:
            (self._folder / "artifacts").mkdir()
            return
        base = self._home / self._base_name
        link_tree(base / "artifacts", self._folder / "artifacts")
        link_tree(base / "rows", self._folder / "base")
        link_tree(base / "text", self._folder / "text")
        self._open_parts([])
        self._next_serial = orjson.loads((base / "info.json").read_bytes())["next_serial"]

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
        self._remove_other_checkpoints(record)
        self._open_parts(record["parts"])
        self._dead = set(np.load(self._folder / record["dead"]).tolist())
        for name, table in self._parts:
            if name != "base":
                for key, serial in zip(table.ids.tolist(), table.serials.tolist(), strict=True):
                    if serial not in self._dead:
                        self._serial_of[key.ljust(16, b"\0")] = serial
        self._next_serial = record["next_serial"]
        self._checkpoints = record["number"]
        self._rejected = [(id, reason) for id, reason in record["rejected"]]
        self._resumed = b64decode(record["state"])
        return True

    def _plan(self) -> dict[str, Any]:
        """What must be the same for an interrupted build to be taken up."""
        encoders = [[encoder.name, encoder.dimension] for encoder in self._encoders]
        return {"fingerprint": self._fingerprint, "encoders": encoders, "base": self._base_name}

    def _open_parts(self, names: Sequence[str]) -> None:
        if (self._folder / "base").exists():
            self._parts.append(("base", Table(self._folder / "base")))
        self._parts.extend((name, Table(self._folder / name)) for name in names)

    def _flush(self) -> None:
        """Put the rows held in memory into a part of their own."""
        if not self._rows:
            return
        name = f"part-{self._rows[0].serial:012d}"
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_rows(folder, self._rows)
        for number, collected in enumerate(self._row_vectors):
            vectors.write_part(folder, number, np.concatenate(collected))
            collected.clear()
        sync_tree(folder)
        self._rows.clear()
        self._parts.append((name, Table(folder)))

    def _base_serials(self, keys: Sequence[bytes]) -> list[int | None]:
        if not self._parts or self._parts[0][0] != "base":
            return [None] * len(keys)
        table = self._parts[0][1]
        return [None if at < 0 else int(table.serials[at]) for at in table.positions_of_ids(keys).tolist()]

    def _rows_of(self, encoder: EncoderSpec, given: Vectors | None, count: int) -> NDArray[np.float16]:
        if given is None:
            return np.zeros((count, encoder.dimension), dtype=np.float16)
        if given.shape != (count, encoder.dimension):
            raise EncoderMismatch(
                f"{encoder.name} gave vectors of shape {given.shape}, the index takes {(count, encoder.dimension)}",
                "index with a fresh start",
            )
        return vectors.normalised(given).astype(np.float16)

    def _kept(self, table: Table) -> Positions:
        if not self._dead:
            return np.arange(len(table))
        return np.flatnonzero(~np.isin(table.serials, np.fromiter(self._dead, np.int64, len(self._dead))))

    def _write_rows(self, kept: Sequence[Positions]) -> None:
        """Merge base and parts into the one table that readers open."""
        folder = self._folder / "rows"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        merge_tables(folder, [table for _, table in self._parts], kept)
        for number, encoder in enumerate(self._encoders):
            parts = [self._part_vectors(name, number, encoder) for name, _ in self._parts]
            vectors.merge_parts(folder, number, encoder.dimension, parts, kept)
            matrix = vectors.Matrix(folder, number)
            if len(matrix) > graph_search.SCAN_UP_TO:
                graph_search.build(folder, number, matrix, Table(folder).serials)

    def _part_vectors(self, name: str, number: int, encoder: EncoderSpec) -> NDArray[np.float16] | None:
        if name != "base":
            return vectors.part(self._folder / name, number)
        made = orjson.loads((self._home / self._base_name / "info.json").read_bytes())["encoders"]
        wanted = [encoder.name, encoder.dimension]
        return vectors.part(self._folder / name, made.index(wanted)) if wanted in made else None

    def _remove_other_checkpoints(self, record: Mapping[str, Any]) -> None:
        keep = {record["text"], record["dead"], *record["parts"]}
        for path in self._folder.iterdir():
            if path.name.startswith(("text-", "dead-", "part-")) and path.name not in keep:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _remove_scaffolding(self) -> None:
        self._parts.clear()
        for path in self._folder.iterdir():
            if path.name.startswith(("text-", "part-", "base")):
                shutil.rmtree(path)
            elif path.name.startswith(("dead-", CHECKPOINT)):
                path.unlink()

    def _open_writer(self) -> None:
        self._writer: tantivy.IndexWriter = self._index.writer(HEAP, THREADS)

    def _close_writer(self) -> None:
        self._writer.rollback()
        self._writer.wait_merging_threads()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _next_generation(home: Path) -> str:
    taken = [int(path.name) for path in home.iterdir() if path.name.isdigit()]
    return f"{max(taken, default=0) + 1:06d}"
