"""Shards of records: JSON lines, plain or gzipped, on disk or inside a zip that is never unpacked to disk."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO

from treeline.corpus.errors import InputError
from treeline.ingest.lines import DAMAGE, line_chunks
from treeline.ingest.source import Chunk, ReadOptions, Unreadable, leads_out, readable

PARTITIONS = ("train", "valid", "test")
LINES = (".jsonl.gz", ".jsonl")


def partition_of(path: str) -> str:
    """The partition that a shard's folder or name speaks of, or ''."""
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
        """What it is called where something in it cannot be read."""
        return readable(str(self.path))

    @property
    def defaults(self) -> dict[str, str]:
        """What records that do not say it themselves have from their file."""
        return {"partition": partition_of(str(self.path))}


@dataclass(frozen=True)
class FileShard(StoredFile):
    """A `.jsonl` or `.jsonl.gz` on disk."""

    @property
    def stored(self) -> int:
        return self.size

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        with self.path.open("rb") as stream:
            yield stream

    def chunks(self) -> Iterator[Chunk]:
        return line_chunks(self, self.name, self.key.endswith(".gz"), self.defaults, self.options)


@dataclass(frozen=True)
class ZipEntry:
    """One member of a zip, read as a stream."""

    archive: Path
    member: str
    key: str
    size: int
    stored: int
    crc: int
    options: ReadOptions

    @property
    def name(self) -> str:
        return readable(f"{self.archive}/{self.member}")

    @property
    def digest(self) -> str:
        """The checksum and size that the archive lists; reading checks them."""
        listed = f"{self.options.fingerprint}|{self.member}|{self.crc}|{self.size}"
        return blake2b(listed.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(self.archive) as archive, archive.open(self.member) as stream:
            yield stream

    def chunks(self) -> Iterator[Chunk]:
        defaults = {"partition": partition_of(self.member)}
        packed = self.member.endswith(".gz")
        return line_chunks(self, self.name, packed, defaults, self.options)


def zip_entries(archive: Path, inside: str, options: ReadOptions) -> Iterator[ZipEntry | Unreadable]:
    """Every member in the order of its name; one that would leave the archive's folder is refused.

    `inside` goes before the members' keys, so that those of several archives are told apart.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            listed = sorted(opened.infolist(), key=lambda info: info.filename)
    except DAMAGE as error:
        raise InputError(f"{archive} is not a zip that can be read: {error}", "download it again") from error
    for info in listed:
        path = PurePosixPath(info.filename.replace("\\", "/"))
        if info.is_dir():
            continue
        if leads_out(path):
            yield Unreadable(readable(f"{archive}/{info.filename}"), "the name leads out of the archive: refused")
        else:
            key = f"{inside}{info.filename}"
            yield ZipEntry(archive, info.filename, key, info.file_size, info.compress_size, info.CRC, options)
