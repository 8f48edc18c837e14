"""The members of a zip or tar, one after the other, without a file on disk; a bomb is not read to its end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from typing import IO

from treeline.corpus.errors import InputError
from treeline.ingest.lines import BLOCK, DAMAGE, MAX_RATIO
from treeline.ingest.source import ReadOptions

ZIP = (".zip", ".whl", ".jar")
TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
# By its first bytes: a browser may have unpacked a `.tar.gz` and left its name as it was.
PACKED: dict[bytes, Callable[[Path], BufferedIOBase]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
BROKEN = (*DAMAGE, tarfile.TarError, lzma.LZMAError, struct.error, LookupError, OverflowError)
# What stands before a member of a tar, its name above all, is read in one piece: longer ones are no names.
MAX_HEADER = 1 << 20
HINT = "it may be damaged or cut off: fetch it again, or unpack it and give the folder"


@dataclass(frozen=True, slots=True)
class Member:
    """A file, or (`kind`) what is none; it can be read until the next one is asked for."""

    name: str
    size: int
    kind: str
    open: Callable[[], IO[bytes] | None]

    def read(self, limit: int) -> bytes | str:
        """Its content, or the reason why not."""
        content = bytearray()
        try:
            stream = self.open()
            if stream is None:
                return "not a plain file"
            with stream:
                while len(content) <= limit and (block := stream.read(BLOCK)):
                    content += block
        except BROKEN as error:
            return f"cannot be read: {error or type(error).__name__}"
        return bytes(content) if len(content) <= limit else f"file is over the limit of {limit:,} bytes"


def suffix_of_archive(name: str) -> str:
    """With which suffix a name is that of an archive, as it is written there; '' for another."""
    found = max((suffix for suffix in ZIP + TAR if name.lower().endswith(suffix)), key=len, default="")
    return name[len(name) - len(found) :]


def members(path: Path, options: ReadOptions) -> Iterator[Member]:
    """All that are no folders, in the archive's own order; one that cannot be read to its end is refused."""
    ceiling = min(options.max_archive_bytes, path.stat().st_size * MAX_RATIO + options.max_file_bytes)
    inside = _in_zip(path, ceiling) if suffix_of_archive(path.name).lower() in ZIP else _in_tar(path, ceiling)
    try:
        for number, member in enumerate(inside, start=1):
            if number > options.max_archive_files:
                raise _TooMuch(f"holds more than {options.max_archive_files:,} files")
            yield member
    except _TooMuch as error:
        raise InputError(f"{path} {error}", "where that is as it should be, unpack it and give the folder") from error
    except PermissionError:
        raise
    except BROKEN as error:
        raise InputError(f"{path} cannot be read as an archive: {error or type(error).__name__}", HINT) from error


class _TooMuch(Exception):
    """More than an archive of source code has."""


def _over(ceiling: int) -> _TooMuch:
    return _TooMuch(f"unpacks to more than {ceiling / 1e6:,.0f} MB, as no source code of its size does")


def _in_zip(path: Path, ceiling: int) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        listed = [info for info in archive.infolist() if not info.filename.endswith("/")]
        # The list can be believed: of a member no more is unpacked than the size that stands there.
        if sum(info.file_size for info in listed) > ceiling:
            raise _over(ceiling)
        if any(info.flag_bits & 1 for info in listed):
            raise InputError(f"{path} is encrypted", "unpack it with its password and give the folder")
        for info in listed:
            kind = "link" if stat.S_ISLNK(info.external_attr >> 16) else ""
            yield Member(info.filename.replace("\\", "/"), info.file_size, kind, partial(archive.open, info))


def _in_tar(path: Path, ceiling: int) -> Iterator[Member]:
    with path.open("rb") as file:
        first = file.read(max(map(len, PACKED)))
    unpack = next((unpack for mark, unpack in PACKED.items() if first.startswith(mark)), None)
    with unpack(path) if unpack else path.open("rb") as stream:
        unpacked = _Unpacked(stream, ceiling)
        with tarfile.TarFile(fileobj=unpacked) as archive:  # type: ignore[arg-type]
            while (info := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # it would keep every one
                kind = "" if info.isreg() else "link" if info.issym() or info.islnk() else "device or pipe"
                if not info.isdir():
                    yield Member(info.name, info.size, kind, partial(archive.extractfile, info))
        if unpacked.last.strip(b"\0") or not unpacked.last:
            raise tarfile.ReadError("where the next file or the end should be is neither")
        while unpacked.read(BLOCK):  # to the end, where the checksum is
            pass


class _Unpacked:
    """The stream that a tar is read from; it goes no farther than `ceiling`.

    `last` is what was read last: tarfile takes whatever is no header for the end, which is zeros.
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
            raise tarfile.ReadError("the header of a file has a size that none has")
        if self.tell() > self._ceiling:
            raise _over(self._ceiling)
        self.last = self._stream.read(size)
        return self.last
