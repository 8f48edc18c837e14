"""A folder of source files, parsed with tree-sitter. Each file is a unit."""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import quote

from treeline.corpus.errors import InputError
from treeline.ingest.ignore import (
    EXCLUDE_FILE,
    IGNORE_FILES,
    IgnoreRules,
    content_reason,
    file_reason,
    folder_reason,
    ignore_text,
    is_source,
)
from treeline.ingest.parsers.registry import grammar_of
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import (
    Chunk,
    Listing,
    Parsed,
    Problem,
    ReadOptions,
    Rejected,
    SourceText,
    Stamp,
    Unit,
    UnitList,
    read_plain,
    readable,
    skip_reason,
)
from treeline.ingest.sources.checkout import Checkout, PublishedFiles, checkout_of, published_files, read_git_file

VIRTUAL_ENVIRONMENT = "pyvenv.cfg"  # Python's own mark, whatever the folder is called
NO_SOURCE = "data or binary by its name"
# A walk with a limit on files looks at this many entries per file of the limit.
MAX_ENTRIES_PER_FILE = 20


class FileChunk(NamedTuple):
    """The text of one file, parsed in a worker."""

    source: bytes
    location: FileLocation
    file: str
    max_function_bytes: int
    kinds: frozenset[str] = frozenset()
    keep_text: bool = False

    @property
    def size(self) -> int:
        return len(self.source)

    def parse(self) -> Parsed:
        grammar = grammar_of(self.location.path, self.source)
        if grammar is None:
            return Parsed()
        parsed = parse_file(grammar, self.source, self.location, self.file, self.max_function_bytes, self.kinds)
        if not self.keep_text:
            return parsed
        return replace(parsed, texts=(SourceText(self.location.repo, self.location.path, grammar.name, self.source),))


@dataclass(frozen=True)
class FileUnit:
    """One file, read once, when its digest or chunks are first needed."""

    file: str | Path
    key: str
    size: int
    location_of: Callable[[bytes], FileLocation]  # from the content: the remote's URL only if the remote has the same
    options: ReadOptions
    left_out: Counter[str]
    known_digest: str = ""
    """Set for a file whose stamp has not changed since it was last read."""
    top: str = ""
    """The folder that the file lies below, without links."""
    digest_of_copy: str = ""
    """That of the file in another copy of its repository."""

    @cached_property
    def _content(self) -> bytes | str:
        """Its bytes, or why it cannot be read."""
        return self._read()

    def _read(self) -> bytes | str:
        return read_plain(self.file, self.options.max_file_bytes, top=self.top)

    @cached_property
    def _reason(self) -> str:
        """Why the content is not indexed, or ''."""
        content = self._content
        return "" if isinstance(content, str) else content_reason(self.key, content, self.options)

    @property
    def reason(self) -> str:
        """Why the file is left out, or ''; it is read unless its digest says so."""
        is_plain = self.size <= self.options.max_file_bytes and os.access(self.file, os.R_OK)
        if self.known_digest and is_plain:
            return skip_reason(self.known_digest)
        return self._content if isinstance(self._content, str) else self._reason

    @cached_property
    def location(self) -> FileLocation:
        return self.location_of(self._content if isinstance(self._content, bytes) else b"")

    @cached_property
    def digest(self) -> str:
        """A hash of content and location without commit and root, so an unchanged file keeps its address, and copies of
        a folder have the same; then why the file is skipped, if it is. Counts files that are skipped."""
        digest_ = self.known_digest or self._hash()
        if reason := skip_reason(digest_):
            self.left_out[reason] += 1
        return digest_

    def _hash(self) -> str:
        content = self._content
        digest = blake2b(self.options.fingerprint.encode(), digest_size=16)
        url = "" if self.location.url.startswith("file:") else self.location.url.replace(self.location.sha, "", 1)
        for part in (self.location.repo, self.location.path, url):
            digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(content.encode() if isinstance(content, str) else content)
        hexdigest = digest.hexdigest()
        if self.digest_of_copy.partition(" ")[0] == hexdigest:  # to look for secrets takes longer than reading
            return self.digest_of_copy
        return f"{hexdigest} {self._reason}".rstrip()

    def chunks(self) -> Iterator[Chunk]:
        content = self._content
        if isinstance(content, str):
            yield Rejected((Problem(readable(str(self.file)), 0, content),), self.size)
        elif skip_reason(self.digest):
            yield Rejected((), self.size)
        else:
            limit, kinds = self.options.max_function_bytes, self.options.kinds
            keep = self.options.keep_texts
            yield FileChunk(content, self.location, readable(str(self.file)), limit, kinds, keep)


class UnreadUnit(NamedTuple):
    """A file whose stamp has not changed since it was read; a tenth of a `FileUnit`'s time to make."""

    folder: Folder
    relative: str
    stamp: Stamp
    key: str
    digest: str

    @property
    def size(self) -> int:
        return self.stamp.size

    def chunks(self) -> Iterator[Chunk]:
        return self.folder.unit(self.relative, self.stamp, Counter(), self.digest).chunks()


def always(location: FileLocation) -> Callable[[bytes], FileLocation]:
    """A `location_of` for a file whose location does not depend on its content."""
    return lambda _: location


@dataclass(frozen=True)
class Folder:
    """The source files below `root`, except those left out."""

    name: str
    root: Path
    repo: str
    options: ReadOptions
    checkout: Checkout | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    digests: dict[str, str] = field(default_factory=dict)
    """Digests of files whose stamps have not changed, which need not be read."""
    max_files: int = sys.maxsize
    known_listing: Listing | None = None
    """Set for a folder that need not be walked again."""
    digests_of_copy: Mapping[str, str] = field(default_factory=dict)
    """By unit, of another copy of the repository."""

    @cached_property
    def listing(self) -> Listing:
        listing = self.known_listing
        if listing is None:
            listing = Listing()
            self._walk(listing, lambda _, reason: listing.skips.update((reason,)))
            listing.files = dict(sorted(listing.files.items()))
        self.left_out.update(listing.skips)
        return listing

    @cached_property
    def size(self) -> int:
        return sum(stamp.size for stamp in self.listing.files.values())

    def units(self) -> Iterator[Unit]:
        for relative, stamp in self.listing.files.items():
            digest = self.digests.get(relative)
            if not digest:
                yield self.unit(relative, stamp, self.left_out)
                continue
            if reason := skip_reason(digest):
                self.left_out[reason] += 1
            yield UnreadUnit(self, relative, stamp, readable(relative), digest)

    def digest_of(self, relative: str) -> str:
        """The digest of a file's unit, from its current content."""
        return self.unit(relative, self.listing.files[relative], Counter()).digest

    def skips(self, toward: str = "", passes: Callable[[str], bool] = bool) -> Iterator[tuple[str, str]]:
        """The files and folders that are left out, each with the reason: those whose paths pass, and a folder around
        `toward`; nothing else than what begins with `toward` is looked at."""
        every: list[tuple[str, str]] = []
        self._walk(listing := Listing(), lambda path, reason: every.append((readable(path), reason)), toward)
        yield from (
            (path, reason) for path, reason in every if passes(path) or (path[-1:] == "/" and toward.startswith(path))
        )
        for relative, stamp in listing.files.items():
            unit = self.unit(relative, stamp, Counter(), self.digests.get(relative, ""))
            if passes(unit.key) and (reason := unit.reason):
                yield unit.key, reason

    def unit(self, relative: str, stamp: Stamp, left_out: Counter[str], known_digest: str = "") -> FileUnit:
        """One of the files of the folder."""
        where, top, key = partial(self._location, relative), str(self.root), readable(relative)
        copy = self.digests_of_copy.get(key, "")
        return FileUnit(f"{top}/{relative}", key, stamp.size, where, self.options, left_out, known_digest, top, copy)

    @cached_property
    def _top(self) -> Path:
        return self.checkout.top if self.checkout else self.root

    @cached_property
    def _prefix(self) -> str:
        """The path of `root` below the top of the checkout."""
        inner = self.root.relative_to(self._top).as_posix()
        return "" if inner == "." else f"{inner}/"

    @cached_property
    def _remote_files(self) -> PublishedFiles | None:
        return published_files(self._top)

    def _location(self, relative: str, content: bytes) -> FileLocation:
        """Its web address if the remote has the same content (or git cannot tell), otherwise its local path."""
        here = f"{url_of(self.root)}{quote(os.fsencode(relative))}"
        checkout = self.checkout
        if not checkout or not checkout.web:
            return FileLocation(self.repo, readable(relative), checkout.sha if checkout else "", here)
        path = readable(self._prefix + relative)
        known = self._remote_files
        sha = known.sha if known else checkout.sha
        if known and not known.has(self._prefix + relative, content):
            return FileLocation(self.repo, path, "", here)
        return FileLocation(self.repo, path, sha, checkout.url(path, sha))

    def _walk(self, listing: Listing, skip: Callable[[str, str], None], toward: str = "") -> None:
        """List the files breadth first, without following links; `skip` takes the path and reason of what is left out.
        With `toward`, only what lies on the way to paths that begin so."""
        read = partial(ignore_text, self._top)
        waiting = deque([("", ignored_above(self._top, self._prefix) or IgnoreRules())])
        count, top = 0, f"{self.root}/"
        exclude = f"{top}{EXCLUDE_FILE}"
        if os.path.lexists(exclude):
            listing.rules[EXCLUDE_FILE] = Stamp.of(os.lstat(exclude))
        while waiting:
            relative, rules = waiting.popleft()
            try:
                # Stamped before its entries are read: a file added meanwhile then changes the stamp.
                listing.folders[relative] = os.lstat(top + relative).st_mtime_ns
                with os.scandir(top + relative) as entries:
                    children = list(entries)
            except OSError:
                skip(relative, "unreadable folder")
                continue
            if relative and any(entry.name == VIRTUAL_ENVIRONMENT for entry in children):
                skip(relative, "virtual environment")
                continue
            count += len(children)
            if relative and any(entry.name in IGNORE_FILES for entry in children):
                rules = rules.entering(self._prefix + relative.rstrip("/"), read)
            if toward:
                children = [one for one in children if _leads(f"{relative}{one.name}", toward)]
            for entry in children:
                path = f"{relative}{entry.name}"
                if entry.is_symlink():
                    skip(path, "link")
                elif entry.is_dir(follow_symlinks=False):
                    is_ignored = rules.match(self._prefix + path, is_folder=True)
                    reason = folder_reason(path, is_ignored, self.options) or self._other_worktree(path)
                    if not reason and count > MAX_ENTRIES_PER_FILE * self.max_files:
                        reason = "folder beyond the limit"
                    if reason:
                        skip(f"{path}/", reason)
                    else:
                        waiting.append((f"{path}/", rules))
                elif entry.name in IGNORE_FILES:
                    listing.rules[path] = Stamp.of(entry.stat(follow_symlinks=False))
                elif not entry.is_file(follow_symlinks=False):
                    skip(path, "not a plain file")
                elif not is_source(path):
                    skip(path, NO_SOURCE)
                else:
                    is_ignored = rules.match(self._prefix + path, is_folder=False)
                    reason = file_reason(path, is_ignored, self.options)
                    if not reason and len(listing.files) >= self.max_files:
                        reason = "file beyond the limit"
                    if reason:
                        skip(path, reason)
                    else:
                        listing.files[path] = Stamp.of(entry.stat(follow_symlinks=False))

    def _other_worktree(self, path: str) -> str:
        """Whether this is another worktree of the repository, which has the same files again; a submodule is not."""
        if not os.access(f"{self.root}/{path}/.git", os.R_OK):
            return ""
        git = self.root / path / ".git"
        return "worktree" if git.is_file() and "/worktrees/" in read_git_file(git) else ""

    def alone(self, name: str) -> UnitList:
        """One file of this folder, read even if it is a test or ignored."""
        folder = replace(self, options=replace(self.options, include_tests=True))
        file = self.root / name
        if reason := file_reason(str(file), False, folder.options):
            return UnitList(readable(str(file)), (), {reason: 1})
        where = partial(folder._location, name)
        size = file.stat().st_size
        unit = FileUnit(file, readable(name), size, where, folder.options, folder.left_out)
        return UnitList(readable(str(file)), (unit,), folder.left_out)


def url_of(folder: Path) -> str:
    """The URL of a local folder."""
    return f"file://{quote(os.fsencode(folder))}".rstrip("/") + "/"


def _leads(path: str, toward: str) -> bool:
    """Whether a path begins so, or is of a folder on the way there."""
    return path.startswith(toward) or toward.startswith(f"{path}/")


def ignored_above(top: Path, inner: str) -> IgnoreRules | None:
    """The ignore rules from the top of a checkout down to a folder in it; None if the folder is ignored."""
    read = partial(ignore_text, top)
    rules, path = IgnoreRules().entering("", read), ""
    for part in PurePosixPath(inner).parts:
        path = f"{path}/{part}".lstrip("/")
        if rules.match(path, is_folder=True):
            return None
        rules = rules.entering(path, read)
    return rules


def open_folder(where: str, options: ReadOptions, name: str = "", repo: str = "") -> Folder:
    root = Path(where).expanduser().resolve()
    if not root.is_dir():
        raise InputError(f"{where} is not a folder")
    checkout = checkout_of(root)
    if checkout and ignored_above(checkout.top, root.relative_to(checkout.top).as_posix()) is None:
        # A folder that its checkout ignores is read as if it were outside.
        checkout = None
    known = checkout.repo if checkout and checkout.web else ""
    return Folder(name or str(root), root, repo or known or readable(root.name) or "root", options, checkout)
