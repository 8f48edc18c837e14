"""A folder of source files, parsed with tree-sitter. Each file is a unit."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from treeline.corpus.errors import InputError
from treeline.ingest.ignore import (
    IgnoreRules,
    file_reason,
    folder_reason,
    ignore_text,
    is_generated,
    is_source,
    suffix_of,
)
from treeline.ingest.parsers.file import Place, parse_file
from treeline.ingest.parsers.registry import by_suffix
from treeline.ingest.source import Chunk, Listed, Parsed, Problem, ReadOptions, Rejected, Unit, readable
from treeline.ingest.sources.checkout import Checkout, PublishedFiles, checkout_of, published_files


@dataclass(frozen=True, slots=True)
class FileChunk:
    """The text of one file, to be parsed in a worker."""

    source: bytes
    place: Place
    file: str
    max_function_bytes: int

    @property
    def size(self) -> int:
        return len(self.source)

    def parse(self) -> Parsed:
        grammar = by_suffix()[suffix_of(self.place.path)]
        return parse_file(grammar, self.source, self.place, self.file, self.max_function_bytes)


@dataclass(frozen=True)
class FileUnit:
    """One file; it is read once, when its digest or its chunks are first asked for."""

    file: Path
    key: str
    size: int
    place_of: Callable[[bytes], Place]  # by its content: a remote may have another
    options: ReadOptions
    left_out: Counter[str]

    @cached_property
    def _content(self) -> bytes | str:
        """Its bytes, or why there are none. A generated file is counted now: one that is as it was is not parsed."""
        content = self._read()
        if self._is_passed_over(content):
            self.left_out["generated"] += 1
        return content

    def _read(self) -> bytes | str:
        return read_plain(self.file, self.options.max_file_bytes)

    def _is_passed_over(self, content: bytes | str) -> bool:
        return not self.options.include_tests and isinstance(content, bytes) and is_generated(content)

    @cached_property
    def place(self) -> Place:
        return self.place_of(self._content if isinstance(self._content, bytes) else b"")

    @cached_property
    def digest(self) -> str:
        """Of the content and the place, not of the commit: an unchanged file keeps the address it had."""
        content = self._content
        digest = blake2b(self.options.fingerprint.encode(), digest_size=16)
        for part in (self.place.repo, self.place.path, self.place.url.replace(self.place.sha, "", 1)):
            digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(content.encode() if isinstance(content, str) else content)
        return digest.hexdigest()

    def chunks(self) -> Iterator[Chunk]:
        content = self._content
        if isinstance(content, str):
            yield Rejected((Problem(readable(str(self.file)), 0, content),), self.size)
        elif self._is_passed_over(content):
            yield Rejected((), self.size)
        else:
            yield FileChunk(content, self.place, readable(str(self.file)), self.options.max_function_bytes)


def always(place: Place) -> Callable[[bytes], Place]:
    """The place of a file that is there whatever its content."""
    return lambda _: place


def read_plain(path: Path, limit: int) -> bytes | str:
    """The content of a plain file that is not a link, or the reason why not."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return "not a plain file"
            content = file.read(limit + 1)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return content if len(content) <= limit else f"file is over the limit of {limit:,} bytes"


@dataclass(frozen=True)
class Folder:
    """Every source file below `root` that is not left out."""

    name: str
    root: Path
    repo: str
    options: ReadOptions
    checkout: Checkout | None = None
    left_out: Counter[str] = field(default_factory=Counter)

    @cached_property
    def files(self) -> list[tuple[str, int]]:
        self.left_out.clear()
        return sorted(self._walk())

    @cached_property
    def size(self) -> int:
        return sum(size for _, size in self.files)

    def units(self) -> Iterator[Unit]:
        for relative, size in self.files:
            where = partial(self._place, relative)
            yield FileUnit(self.root / relative, readable(relative), size, where, self.options, self.left_out)

    @cached_property
    def _top(self) -> Path:
        return self.checkout.top if self.checkout else self.root

    @cached_property
    def _prefix(self) -> str:
        """Where `root` lies below the top of the checkout."""
        inner = self.root.relative_to(self._top).as_posix()
        return "" if inner == "." else f"{inner}/"

    @cached_property
    def _published(self) -> PublishedFiles | None:
        return published_files(self._top)

    def _place(self, relative: str, content: bytes) -> Place:
        """On the web where the remote has it as it is here or nobody can say, otherwise on this machine."""
        here = f"file://{quote(os.fsencode(self.root / relative))}"
        checkout = self.checkout
        if not checkout or not checkout.web:
            return Place(self.repo, readable(relative), checkout.sha if checkout else "", here)
        path = self._prefix + readable(relative)
        known = self._published
        sha = known.sha if known else checkout.sha
        if known and not known.has(self._prefix + relative, content):
            return Place(self.repo, path, "", here)
        return Place(self.repo, path, sha, checkout.url(path, sha))

    def _walk(self) -> Iterator[tuple[str, int]]:
        """Paths and sizes, folder by folder; links are never followed."""
        read = partial(ignore_text, self._top)
        waiting = [("", ignored_above(self._top, self._prefix) or IgnoreRules())]
        while waiting:
            relative, ignored = waiting.pop()
            try:
                with os.scandir(self.root / relative) as entries:
                    listed = list(entries)
            except OSError:
                self.left_out["unreadable folder"] += 1
                continue
            for entry in listed:
                path = f"{relative}{entry.name}"
                if entry.is_symlink():
                    self.left_out["link"] += 1
                elif entry.is_dir(follow_symlinks=False):
                    is_ignored = ignored.match(self._prefix + path, is_folder=True)
                    reason = folder_reason(path, is_ignored, self.options)
                    if reason:
                        self.left_out[reason] += 1
                    else:
                        deeper = ignored.entering(self._prefix + path, read)
                        waiting.append((f"{path}/", deeper))
                elif is_source(path) and entry.is_file(follow_symlinks=False):
                    is_ignored = ignored.match(self._prefix + path, is_folder=False)
                    reason = file_reason(path, is_ignored, self.options)
                    if reason:
                        self.left_out[reason] += 1
                    else:
                        yield path, entry.stat(follow_symlinks=False).st_size

    def alone(self, name: str) -> Listed:
        """One file of this folder; whoever names it wants it, be it a test or ignored."""
        wanted = replace(self, options=replace(self.options, include_tests=True))
        file = self.root / name
        if reason := file_reason(name, False, wanted.options):
            return Listed(str(file), (), {reason: 1})
        where = partial(wanted._place, name)
        size = file.stat().st_size
        return Listed(str(file), (FileUnit(file, readable(name), size, where, wanted.options, wanted.left_out),))


def ignored_above(top: Path, inner: str) -> IgnoreRules | None:
    """The ignore files from the top of a checkout down to a folder in it; None when it is itself ignored."""
    read = partial(ignore_text, top)
    ignored, below = IgnoreRules().entering("", read), ""
    for part in PurePosixPath(inner).parts:
        below = f"{below}/{part}".lstrip("/")
        if ignored.match(below, is_folder=True):
            return None
        ignored = ignored.entering(below, read)
    return ignored


def open_folder(where: str, options: ReadOptions, name: str = "", repo: str = "") -> Folder:
    root = Path(where).expanduser().resolve()
    if not root.is_dir():
        raise InputError(f"{where} is not a folder")
    checkout = checkout_of(root)
    if checkout and ignored_above(checkout.top, root.relative_to(checkout.top).as_posix()) is None:
        # A folder that its checkout ignores is no part of it; whoever names it wants what is in it.
        checkout = None
    known = checkout.repo if checkout and checkout.web else ""
    return Folder(name or str(root), root, repo or known or root.name or "root", options, checkout)
