"""A source archive (a zip from a forge, an sdist, a wheel), read like a folder and never unpacked to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import struct
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BufferedIOBase
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple
from urllib.parse import quote

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.ingest.ignore import (
    EXCLUDE_FILE,
    IGNORE_FILES,
    MAX_IGNORE_BYTES,
    IgnoreRules,
    file_reason,
    folder_reason,
    is_source,
)
from treeline.ingest.parsers.units import FileLocation
from treeline.ingest.source import MAX_RATIO, ReadOptions, Unit, Unreadable, leads_out, readable
from treeline.ingest.sources.folder import FileUnit, always
from treeline.ingest.sources.shards import BLOCK, DAMAGE

ZIP = (".zip", ".whl", ".jar")
TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
# Compression by first bytes: a browser may have unpacked a `.tar.gz` and kept its name.
COMPRESSIONS: dict[bytes, Callable[[Path], BufferedIOBase]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
ERRORS = (*DAMAGE, tarfile.TarError, lzma.LZMAError, struct.error, LookupError, OverflowError)
# tarfile reads a member's header, which has its name, in one piece; no real one is longer than this.
MAX_HEADER = 1 << 20
HINT = "it may be damaged or cut off: fetch it again, or unpack it and give the folder"


@frozen
class Member:
    """A member of an archive, a file or something else (`kind`). Readable until the next one is taken."""

    name: str
    size: int
    kind: str
    open: Callable[[], IO[bytes] | None]

    def read(self, limit: int) -> bytes | str:
        """Its content, or why it cannot be read."""
        content = bytearray()
        try:
            stream = self.open()
            if stream is None:
                return "not a plain file"
            with stream:
                while len(content) <= limit and (block := stream.read(BLOCK)):
                    content += block
        except ERRORS as error:
            return f"cannot be read: {error or type(error).__name__}"
        return bytes(content) if len(content) <= limit else f"file is over the limit of {limit:,} bytes"


def suffix_of_archive(name: str) -> str:
    """The archive suffix of a name, as written; '' if it has none."""
    suffix_ = max((suffix for suffix in ZIP + TAR if name.lower().endswith(suffix)), key=len, default="")
    return name[len(name) - len(suffix_) :]


def members(path: Path, options: ReadOptions) -> Iterator[Member]:
    """All members except folders, in the archive's order. Raises if the archive cannot be read to its end."""
    ceiling = min(options.max_source_bytes, path.stat().st_size * MAX_RATIO + options.max_file_bytes)
    inside = _in_zip(path, ceiling) if suffix_of_archive(path.name).lower() in ZIP else _in_tar(path, ceiling)
    try:
        for number, member in enumerate(inside, start=1):
            if number > options.max_source_files:
                raise _TooMuch(f"holds more than {options.max_source_files:,} files")
            yield member
    except _TooMuch as error:
        raise InputError(f"{path} {error}", "if that is intended, unpack it and give the folder") from error
    except PermissionError:
        raise
    except ERRORS as error:
        raise InputError(f"{path} cannot be read as an archive: {error or type(error).__name__}", HINT) from error


class _TooMuch(Exception):
    """The archive is too large for source code."""


def _over(ceiling: int) -> _TooMuch:
    return _TooMuch(f"unpacks to more than {ceiling / 1e6:,.0f} MB, which is not plausible for source code")


def _in_zip(path: Path, ceiling: int) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        entries = [info for info in archive.infolist() if not info.filename.endswith("/")]
        # The listed sizes can be trusted: no more than that is unpacked of a member.
        if sum(info.file_size for info in entries) > ceiling:
            raise _over(ceiling)
        if any(info.flag_bits & 1 for info in entries):
            raise InputError(f"{path} is encrypted", "unpack it with its password and give the folder")
        for info in entries:
            kind = "link" if stat.S_ISLNK(info.external_attr >> 16) else ""
            yield Member(info.filename.replace("\\", "/"), info.file_size, kind, partial(archive.open, info))


def _in_tar(path: Path, ceiling: int) -> Iterator[Member]:
    with path.open("rb") as file:
        first = file.read(max(map(len, COMPRESSIONS)))
    unpack = next((unpack for mark, unpack in COMPRESSIONS.items() if first.startswith(mark)), None)
    with unpack(path) if unpack else path.open("rb") as stream:
        tar = _LimitedStream(stream, ceiling)
        with tarfile.TarFile(fileobj=tar) as archive:  # type: ignore[arg-type]
            while (info := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # or tarfile keeps every one
                kind = "" if info.isreg() else "link" if info.issym() or info.islnk() else "device or pipe"
                if not info.isdir():
                    yield Member(info.name, info.size, kind, partial(archive.extractfile, info))
        if tar.last.strip(b"\0") or not tar.last:
            raise tarfile.ReadError("neither a file nor the end follows where one should")
        while tar.read(BLOCK):  # to the end, where the checksum is verified
            pass


class _LimitedStream:
    """The stream that a tar is read from; raises beyond `ceiling`.

    `last` is the block read last. tarfile takes any block that is not a header for the end; a real end is zeros.
    """

    def __init__(self, stream: BufferedIOBase, ceiling: int) -> None:
        self._stream, self._ceiling = stream, ceiling
        self.last = b""

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, position: int) -> int:
        if position > self._ceiling:
            raise _over(self._ceiling)
        return self._stream.seek(position)

    def read(self, size: int) -> bytes:
        if not 0 <= size <= MAX_HEADER:
            raise tarfile.ReadError("the header of a file is too long")
        if self.tell() > self._ceiling:
            raise _over(self._ceiling)
        self.last = self._stream.read(size)
        return self.last


# The longest path on Linux.
MAX_NAME = 4_096


@dataclass(frozen=True)
class MemberUnit(FileUnit):
    """A file in an archive."""

    member: Member = field(kw_only=True)

    def _read(self) -> bytes | str:
        return self.member.read(self.options.max_file_bytes)


@dataclass(frozen=True)
class Archive:
    """The source files of an archive; `chosen` maps their numbers among all members to their paths."""

    path: Path
    repo: str
    top: str
    options: ReadOptions
    paths: Mapping[int, str]
    refusals: tuple[Unreadable, ...]
    size: int
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return str(self.path)

    def units(self) -> Iterator[Unit]:
        """The files, in one pass, because a tar has no random access."""
        yield from self.refusals
        for number, member in enumerate(members(self.path, self.options)):
            if (path := self.paths.get(number)) is None:
                continue
            if _inside(member.name) != self.top + path:
                raise InputError(f"{self.path} was changed while it was read", "run the command again")
            file, key = self.path / self.top / path, readable(path)
            location = FileLocation(self.repo, key, "", f"file://{quote(os.fsencode(file))}")
            yield MemberUnit(file, key, member.size, always(location), self.options, self.left_out, member=member)


def open_archive(path: Path, options: ReadOptions) -> Archive:
    """Open an archive. All members are listed first, so a damaged one is refused before anything is loaded."""
    path = path.resolve()
    options.progress(f"listing {path.name}", 0, 0)
    entries: list[_Entry] = []
    ignoring: dict[str, str] = {}
    refusals: list[Unreadable] = []
    room = MAX_IGNORE_BYTES
    for number, member in enumerate(members(path, options)):
        inside = _inside(member.name)
        if not inside:
            name = readable(f"{path}/{member.name[:MAX_NAME]}")
            refusals.append(Unreadable(name, "the name is not a path inside the archive: refused"))
            continue
        entries.append(_Entry(number, inside, member.size, member.kind))
        if inside.endswith((EXCLUDE_FILE, *IGNORE_FILES)) and not member.kind:
            content = member.read(room)
            if isinstance(content, bytes):
                room -= len(content)
                ignoring[inside] = content.decode("utf-8", "replace")
    top = _top(entries)
    choice = _Choice(lambda relative: ignoring.get(top + relative, ""), options)
    choices = [one for one in entries if choice.takes(one.path.removeprefix(top), one.kind)]
    return Archive(
        path=path,
        repo=readable(top.rstrip("/")) or name_of_content(path.name),
        top=top,
        options=options,
        paths={one.number: one.path.removeprefix(top) for one in choices},
        refusals=tuple(refusals),
        size=sum(one.size for one in choices),
        left_out=choice.left_out,
    )


def name_of_content(name: str) -> str:
    """The project name in an archive's or folder's name: `flask-3.0.0-py3-none-any.whl` → `flask-3.0.0`."""
    suffix = suffix_of_archive(name)
    stem = name.removesuffix(suffix)
    return "-".join(stem.split("-")[:2]) if suffix.lower() == ".whl" else stem


class _Entry(NamedTuple):
    number: int
    path: str
    size: int
    kind: str


def _inside(name: str) -> str:
    """A member's path inside the archive; '' if its name is empty or leads out of the archive."""
    path = PurePosixPath(name)
    return "" if leads_out(path) or not path.parts or len(name) > MAX_NAME else str(path)


def _top(entries: Sequence[_Entry]) -> str:
    """The folder that contains everything (`project-1.0/`), or ''."""
    tops = {one.path.partition("/")[0] + "/" if "/" in one.path else "" for one in entries}
    return tops.pop() if len(tops) == 1 else ""


@frozen
class _Choice:
    """Decides which members are read; counts the others by reason. `read` returns the text of an ignore file."""

    read: Callable[[str], str]
    options: ReadOptions
    left_out: Counter[str] = field(default_factory=Counter)
    rules: dict[str, IgnoreRules | None] = field(default_factory=dict)

    def takes(self, path: str, kind: str) -> bool:
        rules = self._enter(path)
        if rules is None or not (kind or is_source(path)):
            return False
        reason = kind or file_reason(path, rules.match(path, is_folder=False), self.options)
        if reason:
            self.left_out[reason] += 1
        return not reason

    def _enter(self, path: str) -> IgnoreRules | None:
        """The ignore rules that apply to a file; None if a folder above it is skipped."""
        rules: IgnoreRules | None = IgnoreRules()
        for folder in accumulate(["", *path.split("/")[:-1]], lambda parent, name: f"{parent}/{name}".lstrip("/")):
            if rules is not None and folder not in self.rules:
                reason = folder_reason(folder, rules.match(folder, is_folder=True), self.options)
                if reason:
                    self.left_out[reason] += 1
                self.rules[folder] = None if reason else rules.entering(folder, self.read)
            rules = self.rules[folder] if rules else None
        return rules
