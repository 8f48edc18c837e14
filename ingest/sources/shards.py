"""Shards of records: JSON lines, plain or gzipped, on disk or in a zip, and parquet files.

A shard is read as a stream in numbered batches. Memory stays flat, and damage is reported with its line.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

import numpy as np
import orjson

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.ingest.source import (
    MAX_RATIO,
    Chunk,
    Parsed,
    Problem,
    ReadOptions,
    Rejected,
    Unreadable,
    leads_out,
    readable,
)
from treeline.ingest.sources.records import KNOWN, parse_records

# Large enough that sending it to a worker costs little next to parsing, small enough to share a shard evenly.
LINES_A_CHUNK = 512
BYTES_A_CHUNK = 4_000_000
BLOCK = 1 << 18
# A JSON line (with tokens and escapes) is at most about this many times as long as its function.
LINE_PER_FUNCTION = 8
DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, ValueError, RuntimeError)


class Shard(Protocol):
    """A file on disk or in a zip that can be opened more than once."""

    @property
    def key(self) -> str: ...

    @property
    def name(self) -> str:
        """Its name in problem reports."""

    @property
    def size(self) -> int: ...

    @property
    def packed_size(self) -> int:
        """The bytes that it takes up on disk."""

    @property
    def defaults(self) -> dict[str, str]:
        """Field values for records that lack them, from the file's path."""

    @property
    def options(self) -> ReadOptions: ...

    def open(self) -> AbstractContextManager[IO[bytes]]: ...


@frozen
class Lines:
    """Raw JSON lines, parsed in a worker."""

    file: str
    lines: tuple[tuple[int, bytes], ...]
    size: int
    defaults: dict[str, str]
    options: ReadOptions
    problems: tuple[Problem, ...] = ()

    def parse(self) -> Parsed:
        parsed = parse_records(map(_decode, self.lines), self.file, self.defaults, self.options)
        if not self.problems:
            return parsed
        return replace(parsed, problems=(*parsed.problems, *self.problems))


def _decode(number_and_line: tuple[int, bytes]) -> tuple[int, dict[str, object] | str]:
    line, raw = number_and_line
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as wrong:
            return line, f"not UTF-8: {wrong.reason} at byte {wrong.start}"
        return line, f"broken JSON: {error}"
    except RecursionError:
        return line, "broken JSON: nested too deep"
    return line, record if isinstance(record, dict) else f"a JSON {type(record).__name__}, not an object"


def line_chunks(shard: Shard) -> Iterator[Chunk]:
    """Cut a shard into chunks of lines, leaving out lines that are too long."""
    options = shard.options.for_workers()
    lines: list[tuple[int, bytes]] = []
    problems: list[Problem] = []
    number = size = position = start = 0

    def chunk() -> Lines:
        nonlocal lines, problems, size, start
        share, start = max(0, position - start), max(start, position)
        result = Lines(shard.name, tuple(lines), share, shard.defaults, options, tuple(problems))
        lines, problems, size = [], [], 0
        return result

    try:
        with shard.open() as raw:
            stream = io.BufferedReader(gzip.GzipFile(fileobj=raw), BLOCK) if shard.key.endswith(".gz") else raw
            limit = options.max_function_bytes * LINE_PER_FUNCTION
            for number, line in _number_lines(stream, limit, shard.packed_size * MAX_RATIO + limit):
                if isinstance(line, str):
                    problems.append(Problem(shard.name, number, line))
                elif line.strip():
                    lines.append((number, line))
                    size += len(line)
                if len(lines) + len(problems) >= LINES_A_CHUNK or size >= BYTES_A_CHUNK:
                    position = position_of(raw)
                    yield chunk()
    except DAMAGE as error:
        reason = f"cannot be read further: {error or type(error).__name__}"
        problems.append(Problem(shard.name, number + 1, reason))
    position = shard.size
    if lines or problems:
        yield chunk()
    elif start < position:
        yield Rejected((), position - start)


def position_of(raw: IO[bytes]) -> int:
    try:
        return raw.tell()
    except (OSError, ValueError):
        return 0


def _number_lines(stream: IO[bytes] | io.BufferedReader, limit: int, ceiling: int) -> Iterator[tuple[int, bytes | str]]:
    """Numbered lines. Never holds more than `limit` bytes of a line, nor unpacks more than `ceiling`."""
    number, size = 0, 0
    while line := stream.readline(limit + 1):
        number += 1
        size += len(line)
        if len(line) > limit and not line.endswith(b"\n"):
            length = len(line)
            while (rest := stream.readline(BLOCK)) and size <= ceiling:
                length += len(rest)
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield number, f"line of {length:,} bytes is over the limit of {limit:,}"
        else:
            yield number, line
        if size > ceiling:
            yield number + 1, f"unpacks to more than {MAX_RATIO} times its size: not read further"
            return


PARTITIONS = ("train", "valid", "test")
LINES = (".jsonl.gz", ".jsonl")


def partition_of(path: str) -> str:
    """The partition in a shard's folder or file name, or ''."""
    parts = PurePosixPath(path)
    for partition in PARTITIONS:
        if parts.parent.name == partition or f"_{partition}_" in parts.name or parts.name.startswith(f"{partition}-"):
            return partition
    return ""


def file_digest(path: Path, options: ReadOptions) -> str:
    digest = blake2b(options.fingerprint.encode(), digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        digest.update(str(error).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class StoredFile:
    """A file on disk that is a unit."""

    path: Path
    key: str
    options: ReadOptions

    @cached_property
    def size(self) -> int:
        return self.path.stat().st_size

    @cached_property
    def digest(self) -> str:
        return file_digest(self.path, self.options)

    @property
    def name(self) -> str:
        return readable(str(self.path))

    @property
    def defaults(self) -> dict[str, str]:
        return {"partition": partition_of(str(self.path))}


@dataclass(frozen=True)
class FileShard(StoredFile):
    """A file on disk that is cut into chunks by `cut`."""

    cut: Callable[[Shard], Iterator[Chunk]] = line_chunks

    @property
    def packed_size(self) -> int:
        return self.size

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        with self.path.open("rb") as stream:
            yield stream

    def chunks(self) -> Iterator[Chunk]:
        return self.cut(self)


@dataclass(frozen=True)
class ZipEntry:
    """One member of a zip, read as a stream."""

    archive: Path
    member: str
    key: str
    size: int
    packed_size: int
    crc: int
    options: ReadOptions
    cut: Callable[[Shard], Iterator[Chunk]] = line_chunks

    @property
    def name(self) -> str:
        return readable(f"{self.archive}/{self.member}")

    @property
    def digest(self) -> str:
        """A hash of the checksum and size in the archive's list, which reading verifies."""
        entry = f"{self.options.fingerprint}|{self.member}|{self.crc}|{self.size}"
        return blake2b(entry.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @property
    def defaults(self) -> dict[str, str]:
        return {"partition": partition_of(self.member)}

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(self.archive) as archive, archive.open(self.member) as stream:
            yield stream

    def chunks(self) -> Iterator[Chunk]:
        return self.cut(self)


def zip_entries(archive: Path, inside: str, options: ReadOptions) -> Iterator[ZipEntry | Unreadable]:
    """The members sorted by name. A name that leads out of the archive is refused.

    `inside` is a prefix of the members' keys, to keep several archives apart in reports.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            entries = sorted(file.infolist(), key=lambda info: info.filename)
    except DAMAGE as error:
        raise InputError(f"{archive} is not a zip that can be read: {error}", "download it again") from error
    for info in entries:
        path = PurePosixPath(info.filename.replace("\\", "/"))
        if info.is_dir():
            continue
        if leads_out(path):
            yield Unreadable(readable(f"{archive}/{info.filename}"), "the name leads out of the archive: refused")
        else:
            key = f"{inside}{info.filename}"
            yield ZipEntry(archive, info.filename, key, info.file_size, info.compress_size, info.CRC, options)


PARQUET = ".parquet"
ROWS_A_CHUNK = 512
# A row group that unpacks to more than this is not a dataset of functions.
MAX_GROUP_BYTES = 4_000_000_000
# Small files may exceed `MAX_RATIO`: dictionaries, repeated names.
SLACK_BYTES = 64_000_000
# Average per row; CodeSearchNet's functions have 150 tokens.
MAX_VALUES = 1_000
SLACK_VALUES = 1_000_000
# A value stored once in the file may be repeated in every row of a batch.
MAX_BATCH_BYTES = 16_000_000


@frozen
class Rows:
    """Some rows, still in columns. Problems give the number of their row."""

    file: str
    first: int
    batch: Any  # a pyarrow.RecordBatch
    size: int
    defaults: dict[str, str]
    options: ReadOptions

    def parse(self) -> Parsed:
        return parse_records(self._rows(), self.file, self.defaults, self.options)

    def _rows(self) -> Iterator[tuple[int, dict[str, Any] | str]]:
        try:
            rows = self.batch.to_pylist()
        except UnicodeDecodeError:
            rows = [self._row(index) for index in range(self.batch.num_rows)]
        yield from enumerate(rows, self.first)

    def _row(self, index: int) -> dict[str, Any] | str:
        try:
            row: dict[str, Any] = self.batch.slice(index, 1).to_pylist()[0]
        except UnicodeDecodeError as wrong:
            return f"not UTF-8: {wrong.reason} at byte {wrong.start}"
        return row


@dataclass(frozen=True)
class ParquetShard(StoredFile):
    """One parquet file."""

    def chunks(self) -> Iterator[Chunk]:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet

        options, row, reported = self.options.for_workers(), 1, 0
        try:
            texts = [field.name for field in parquet.read_schema(self.path) if pyarrow.types.is_string(field.type)]
            # Repeated texts stay shared until the batch is cut to size.
            with parquet.ParquetFile(self.path, read_dictionary=texts) as file:
                meta = file.metadata
                columns = [name for name in file.schema_arrow.names if name in KNOWN]
                for group in range(meta.num_row_groups):
                    _check_group(group, meta.row_group(group))
                for read in file.iter_batches(ROWS_A_CHUNK, columns=columns):
                    for batch in _small_batches(read):
                        share = self.size * batch.num_rows // max(1, meta.num_rows)
                        yield Rows(self.name, row, batch, share, self.defaults, options)
                        row, reported = row + batch.num_rows, reported + share
        except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
            reason = f"cannot be read further: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
            yield Rejected((Problem(self.name, row, reason),), self.size - reported)
            return
        yield Rejected((), self.size - reported)


def _check_group(number: int, group: Any) -> None:
    """Refuse a row group that would unpack to too much, before it is unpacked."""
    if group.total_byte_size > MAX_GROUP_BYTES:
        raise ValueError(f"row group {number} is over {MAX_GROUP_BYTES:,} bytes")
    for column in map(group.column, range(group.num_columns)):
        if column.total_uncompressed_size > MAX_RATIO * column.total_compressed_size + SLACK_BYTES:
            raise ValueError(f"row group {number} unpacks to more than {MAX_RATIO} times its size: not read")
        if column.num_values > MAX_VALUES * group.num_rows + SLACK_VALUES:
            raise ValueError(
                f"row group {number} has {column.num_values:,} values in {group.num_rows:,} rows: not read"
            )


def _small_batches(batch: Any) -> Iterator[Any]:
    """The rows of a batch with texts expanded, in batches of bounded size."""
    import pyarrow
    from pyarrow import compute

    sizes = np.zeros(batch.num_rows, dtype=np.int64)
    for column in batch.columns:
        if pyarrow.types.is_dictionary(column.type):
            lengths = compute.binary_length(column.dictionary).take(column.indices)
            sizes += lengths.fill_null(0).to_numpy(zero_copy_only=False)
    start, total = 0, 0
    for row, size in enumerate(sizes.tolist()):
        if row > start and total + size > MAX_BATCH_BYTES:
            yield _expand(batch.slice(start, row - start))
            start, total = row, 0
        total += size
    if start < batch.num_rows:
        yield _expand(batch.slice(start))


def _expand(batch: Any) -> Any:
    import pyarrow

    columns = [
        column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)
