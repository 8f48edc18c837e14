"""Lines of a plain or gzipped file in numbered batches: flat memory, and damage comes back with its line."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Protocol

import orjson

from treeline.ingest.record import parse_records
from treeline.ingest.source import Chunk, Parsed, Problem, ReadOptions, Rejected

# Large enough that a trip to a worker is nothing beside the parsing, small enough to share a shard evenly.
LINES_A_CHUNK = 512
BYTES_A_CHUNK = 4_000_000
BLOCK = 1 << 18
# JSON around a function (tokens, escapes) is at most about this many times the function.
LINE_PER_FUNCTION = 8
# Source code packs 3 to 10 times; beyond this it is a bomb.
MAX_RATIO = 200
DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, ValueError, RuntimeError)


class Opened(Protocol):
    """How the bytes of a shard are opened: their number, and how many they take up on disk."""

    @property
    def size(self) -> int: ...

    @property
    def stored(self) -> int: ...

    def open(self) -> AbstractContextManager[IO[bytes]]: ...


@dataclass(frozen=True, slots=True)
class Lines:
    """Raw JSON lines that a worker turns into functions."""

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
        return Parsed(parsed.functions, parsed.facts, (*parsed.problems, *self.problems))


def _decode(numbered: tuple[int, bytes]) -> tuple[int, dict[str, object] | str]:
    line, raw = numbered
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


@dataclass(slots=True)
class _Batch:
    lines: list[tuple[int, bytes]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    bytes: int = 0


def line_chunks(
    opened: Opened, file: str, packed: bool, defaults: dict[str, str], options: ReadOptions
) -> Iterator[Chunk]:
    """Cut a shard into chunks of lines; a line that is too long is left out, the rest of it goes in."""
    batch = _Batch()
    options = options.for_workers()
    told = 0

    def finish(position: int) -> Lines:
        nonlocal batch, told
        done, batch = batch, _Batch()
        share, told = max(0, position - told), max(told, position)
        return Lines(file, tuple(done.lines), share, defaults, options, tuple(done.problems))

    number = position = 0
    try:
        with opened.open() as raw:
            stream = io.BufferedReader(gzip.GzipFile(fileobj=raw), BLOCK) if packed else raw
            limit = options.max_function_bytes * LINE_PER_FUNCTION
            ceiling = opened.stored * MAX_RATIO + limit
            for number, line in _numbered(stream, limit, ceiling):
                if isinstance(line, str):
                    batch.problems.append(Problem(file, number, line))
                elif line.strip():
                    batch.lines.append((number, line))
                    batch.bytes += len(line)
                if len(batch.lines) + len(batch.problems) >= LINES_A_CHUNK or batch.bytes >= BYTES_A_CHUNK:
                    position = position_of(raw)
                    yield finish(position)
    except DAMAGE as error:
        batch.problems.append(Problem(file, number + 1, f"cannot be read further: {error or type(error).__name__}"))
    if batch.lines or batch.problems:
        yield finish(opened.size)
    elif told < opened.size:
        yield Rejected((), opened.size - told)


def position_of(raw: IO[bytes]) -> int:
    try:
        return raw.tell()
    except (OSError, ValueError):
        return 0


def _numbered(stream: IO[bytes] | io.BufferedReader, limit: int, ceiling: int) -> Iterator[tuple[int, bytes | str]]:
    """Lines with their numbers; never holds more than `limit` bytes of one, nor unpacks more than `ceiling`."""
    number, seen = 0, 0
    while line := stream.readline(limit + 1):
        number += 1
        seen += len(line)
        if len(line) > limit and not line.endswith(b"\n"):
            length = len(line)
            while (rest := stream.readline(BLOCK)) and seen <= ceiling:
                length += len(rest)
                seen += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield number, f"line of {length:,} bytes is over the limit of {limit:,}"
        else:
            yield number, line
        if seen > ceiling:
            yield number + 1, f"unpacks to more than {MAX_RATIO} times its size: not read further"
            return
