"""The manifest of an index: for every unit its digest, its functions, and what was left out of it.

With it a later load tells what has not changed. It is stored with the generation as an artifact.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from treeline.corpus.errors import IndexOutdated
from treeline.corpus.function import Function
from treeline.ingest.source import Problem

# Raise it when indexed documents change for the same input, so that old indexes are made anew.
VERSION = 3
ARTIFACT = "manifest"

# A function in a manifest: its id, a hash of its text, a hash of the rest (place, commit, partition).
ID, TEXT, REST = 16, 8, 8
RECORD = ID + TEXT + REST


def record(function: Function) -> bytes:
    """The function's row. The same text keeps its vector; the same rest need not be written again."""
    words = f"{function.code}\0{function.docstring}"
    text = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=TEXT)
    rest = blake2b(
        "\0".join((function.language, function.sha, function.partition, function.url)).encode(), digest_size=REST
    )
    return bytes.fromhex(function.id) + text.digest() + rest.digest()


def key(source: str, unit: str) -> str:
    """Under which an entry is kept: two folders may have a file at the same path."""
    return f"{source}\0{unit}"


def ids(records: bytes) -> list[bytes]:
    return [records[start : start + ID] for start in range(0, len(records), RECORD)]


def without(records: bytes, gone: set[bytes]) -> bytes:
    """The same rows less those of some ids."""
    rows = (records[start : start + RECORD] for start in range(0, len(records), RECORD))
    return b"".join(row for row in rows if row[:ID] not in gone)


@dataclass(slots=True)
class Entry:
    """One unit: which source it came from, its digest, its functions' rows, what was left out of it."""

    source: str
    digest: str
    records: bytes = b""
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Manifest:
    """All units of an index by key, in the order they were read."""

    entries: dict[str, Entry] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(entry.source for entry in self.entries.values()))

    def all_ids(self) -> set[bytes]:
        return {id_ for entry in self.entries.values() for id_ in ids(entry.records)}

    def dump(self) -> bytes:
        """A line of JSON for the units, then the rows of all of them; compressed."""
        sources = self.sources
        number = {source: position for position, source in enumerate(sources)}
        units = [
            [
                # Without its source, which is told by its number.
                name.partition("\0")[2],
                number[entry.source],
                entry.digest,
                len(entry.records) // RECORD,
                [(problem.file, problem.line, problem.reason) for problem in entry.problems],
            ]
            for name, entry in self.entries.items()
        ]
        head = orjson.dumps({"version": VERSION, "sources": sources, "units": units})
        # Ids are hashes and do not compress: only the head is packed.
        packed = zlib.compress(head, 6)
        return len(packed).to_bytes(8, "little") + packed + b"".join(entry.records for entry in self.entries.values())


def sources_in(data: bytes) -> list[str]:
    """What an index was made of, also one of another version; nothing where there is no manifest."""
    return list(_head(data)[0]["sources"]) if data else []


def load(data: bytes) -> Manifest:
    head, start = _head(data)
    if head["version"] != VERSION:
        raise IndexOutdated("the index's manifest", head["version"], VERSION)
    entries: dict[str, Entry] = {}
    for unit, number, digest, count, problems in head["units"]:
        end = start + count * RECORD
        left_out = tuple(Problem(*problem) for problem in problems)
        source = head["sources"][number]
        entries[key(source, unit)] = Entry(source, digest, data[start:end], left_out)
        start = end
    return Manifest(entries)


def _head(data: bytes) -> tuple[dict[str, Any], int]:
    """The line of JSON, and where it ends."""
    end = 8 + int.from_bytes(data[:8], "little")
    return orjson.loads(zlib.decompress(data[8:end])), end


def rows_by_id(records: bytes) -> Mapping[bytes, bytes]:
    rows: Iterable[bytes] = (records[start : start + RECORD] for start in range(0, len(records), RECORD))
    return {row[:ID]: row[ID:] for row in rows}


def problems_of(entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        yield from entry.problems
