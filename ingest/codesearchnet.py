"""CodeSearchNet: its folders and its per-language zip, shard by shard, without unpacking to disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO

from corpus.errors import InputError
from ingest.lines import line_chunks
from ingest.source import READER_VERSION, Chunk, ReadOptions, Unit

PARTITIONS = ("train", "valid", "test")
SHARD_SUFFIXES = (".jsonl.gz", ".jsonl")
HINT = "give the folder that holds LANGUAGE/final/jsonl, a LANGUAGE.zip, a .parquet or a _dedupe_definitions_v2.pkl"


def partition_of(path: str) -> str:
    """The partition that a shard's folder or name speaks of, or ''."""
    parts = PurePosixPath(path)
    for partition in PARTITIONS:
        if parts.parent.name == partition or f"_{partition}_" in parts.name or parts.name.startswith(f"{partition}-"):
            return partition
    return ""


@dataclass(frozen=True)
class FileShard:
    """A `.jsonl` or `.jsonl.gz` on disk."""

    path: Path
    key: str
    options: ReadOptions

    @cached_property
    def size(self) -> int:
        return self.path.stat().st_size

    @cached_property
    def digest(self) -> str:
        return file_digest(self.path)

    def open(self) -> IO[bytes]:
        return self.path.open("rb")

    def chunks(self) -> Iterator[Chunk]:
        defaults = {"partition": partition_of(self.key)}
        return line_chunks(self, str(self.path), self.path.name.endswith(".gz"), defaults, self.options)


def file_digest(path: Path) -> str:
    digest = blake2b(READER_VERSION.encode(), digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        digest.update(str(error).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class CodeSearchNet:
    """Every shard under a folder, or within a zip."""

    name: str
    root: Path
    options: ReadOptions

    @cached_property
    def _units(self) -> tuple[Unit, ...]:
        found = tuple(self._find())
        if not found:
            raise InputError(f"no CodeSearchNet shards in {self.root}", HINT)
        return found

    @cached_property
    def size(self) -> int:
        return sum(unit.size for unit in self._units)

    def units(self) -> Iterator[Unit]:
        return iter(self._units)

    def _find(self) -> Iterator[Unit]:
        if self.root.is_file():
            yield from shards(self.root, self.root.name, self.options)
            return
        for path in sorted(self.root.rglob("*")):
            key = path.relative_to(self.root).as_posix()
            wanted = self.options.partitions or PARTITIONS
            if path.is_file() and path.name.endswith(SHARD_SUFFIXES) and partition_of(str(path)) in wanted:
                yield from shards(path, key, self.options)


def shards(path: Path, key: str, options: ReadOptions) -> Iterator[Unit]:
    """The units of one file, by its suffix."""
    if path.name.endswith(SHARD_SUFFIXES):
        yield FileShard(path, key, options)
    else:
        raise InputError(f"{path} is not a form of CodeSearchNet that can be read", HINT)


def open_codesearchnet(where: str, options: ReadOptions) -> CodeSearchNet:
    root = Path(where).expanduser()
    if not root.exists():
        raise InputError(f"{where} does not exist", HINT)
    source = CodeSearchNet(f"codesearchnet:{root.resolve()}", root, options)
    source.units()
    return source
