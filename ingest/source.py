"""The interface between readers and the pipeline: a source yields units, a unit yields chunks, a chunk parses itself.
Units and chunks are made in the parent process and cost little more than reading bytes. A chunk is picklable and
`parse` does the heavy part, so several workers can share one big shard. The same bytes are always divided into the same
chunks, so a load can resume at a chunk.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.graph.references import FileFacts

# Raise it when parsers or readers change their output, so that unchanged files are read again.
READER_VERSION = "17"

# A byte of a path that is not valid UTF-8, in `readable` text.
ESCAPE = re.compile(rb"\\x([89a-f][0-9a-f])")
# Why a file with a private key or a token is skipped.
SENSITIVE = "secret"
# A longer record is data, not code; the longest hand-written functions in CodeSearchNet have 200 kB.
MAX_FUNCTION_BYTES = 1_000_000
# Larger files are generated or minified.
MAX_FILE_BYTES = 2_000_000
# The largest repositories (LLVM, Linux) unpack to 2 GB in 170,000 files.
MAX_SOURCE_BYTES = 4_000_000_000
MAX_SOURCE_FILES = 250_000
# The newest commit alone: LLVM is 250 MB.
MAX_PACK_BYTES = 2_000_000_000
# Source code compresses 3 to 10 times; beyond this it is a decompression bomb.
MAX_RATIO = 200


class Problem(NamedTuple):
    """Something that was rejected: where and why. `line` is 0 for a whole file."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


class SourceText(NamedTuple):
    """The text of a file, stored with the index."""

    repo: str
    path: str
    language: str
    content: bytes


@frozen
class Parsed:
    """The result of parsing one chunk. A file's facts may be spread over several chunks."""

    functions: tuple[Function, ...] = ()
    facts: tuple[FileFacts, ...] = ()
    problems: tuple[Problem, ...] = ()
    texts: tuple[SourceText, ...] = ()
    shapes: Mapping[str, str] = field(default_factory=dict)
    """The shape terms of functions that have any, by id."""


class Chunk(Protocol):
    """A piece of a unit, picklable; `size` is its share of the unit's bytes, for progress."""

    @property
    def size(self) -> int: ...

    def parse(self) -> Parsed:
        """Parse the chunk; bad input becomes problems, never an exception."""


class Unit(Protocol):
    """One file or shard. An unchanged `digest` means unchanged content, so it is not read again."""

    @property
    def key(self) -> str:
        """Unique within the source, and stable."""

    @property
    def digest(self) -> str: ...

    @property
    def size(self) -> int: ...

    def chunks(self) -> Iterator[Chunk]:
        """The chunks in order; unreadable parts become a chunk of problems."""


class Source(Protocol):
    """An opened SOURCE of the command line."""

    @property
    def name(self) -> str:
        """The canonical spec, which is the namespace of its units' keys."""

    @property
    def size(self) -> int:
        """Bytes of all units together (an estimate), for progress."""

    @property
    def left_out(self) -> Mapping[str, int]:
        """Files skipped on purpose (tests, vendored, ignored …), counted by reason; complete after the last unit."""

    def units(self) -> Iterator[Unit]: ...


class Unreadable(NamedTuple):
    """A unit that cannot be opened: one problem."""

    key: str
    reason: str
    digest: str = "unreadable"
    size: int = 0

    def chunks(self) -> Iterator[Chunk]:
        yield Rejected((Problem(self.key, 0, self.reason),))


class Rejected(NamedTuple):
    """A chunk of problems only."""

    problems: tuple[Problem, ...]
    size: int = 0

    def parse(self) -> Parsed:
        return Parsed(problems=self.problems)


@frozen
class UnitList:
    """A source whose units are known in advance."""

    name: str
    every: tuple[Unit, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(unit.size for unit in self.every)

    def units(self) -> Iterator[Unit]:
        """Yields copies, because a unit holds what it has read."""
        return map(copy, self.every)


class Stamp(NamedTuple):
    """A file's size, times and inode; while they are unchanged, so is the content."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@dataclass(slots=True)
class Listing:
    """The result of a walk: source files, folders entered (with their times), ignore files, and the number of files and
    folders skipped, by reason."""

    files: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    rules: dict[str, Stamp] = field(default_factory=dict)
    skips: Counter[str] = field(default_factory=Counter)


def readable(path: str) -> str:
    """A path as text. Bytes that are not valid UTF-8 are escaped (`caf\\xe9.py`)."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def on_disk(root: Path, path: str) -> Path:
    """The file below a folder that a `readable` path names."""
    file = root / path
    if "\\x" not in path or os.path.lexists(file):
        return file
    return root / os.fsdecode(ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), os.fsencode(path)))


def read_plain(path: str | Path, limit: int, *, follow: bool = False, top: str = "") -> bytes | str:
    """The content of a plain file (`follow`: or of one that a link leads to), or the reason why not.

    With `top` it is below that folder also if a folder on the way has just been swapped for a link.
    """
    try:
        # Neither a link nor a pipe that nobody writes to may hold us up.
        handle = os.open(path, os.O_RDONLY | (0 if follow else os.O_NOFOLLOW) | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return "not a plain file"
            if top and not _real_path(handle, path).startswith(f"{top.rstrip('/')}/"):
                return f"not below {readable(top)} any more"
            content = file.read(limit + 1)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return content if len(content) <= limit else f"file is over the limit of {limit:,} bytes"


def _real_path(handle: int, path: str | Path) -> str:
    """The path of an open file without links; without Linux's `/proc` that of its name."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - for each file, and a path takes twice as long
    except OSError:
        return os.path.realpath(path)


def is_own(*paths: Path) -> bool:
    """Whether files belong to the caller; for root, also to the user behind sudo. Git trusts the same repositories."""
    user, sudo = os.geteuid(), os.environ.get("SUDO_UID", "")
    owners = {user, int(sudo)} if user == 0 and sudo.isdecimal() else {user}
    try:
        return all(path.stat().st_uid in owners for path in paths)
    except OSError:
        return False


def skip_reason(digest: str) -> str:
    """The reason why the file of this digest is skipped, or ''."""
    return digest.partition(" ")[2]


def without_user(url: str) -> str:
    """A URL without its user, which may be a token; ssh needs the user's name."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return url if scheme.lower() == "ssh" or not mark else f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def leads_out(member: PurePosixPath) -> bool:
    """Whether a member of an archive would be written outside its folder."""
    return member.is_absolute() or ".." in member.parts


# Label, bytes so far, bytes in total (0 if unknown).
Progress = Callable[[str, int, int], None]


def no_progress(_what: str, _position: int, _total: int) -> None:
    """Report nothing."""


def default_cache() -> Path:
    return Path("~/.cache/treeline").expanduser()


@frozen(kw_only=True)
class ReadOptions:
    """Options for opening and reading sources."""

    languages: frozenset[str] = frozenset()
    """Only these languages; empty: all."""
    kinds: frozenset[str] = frozenset()
    """Only units of these kinds (`corpus.function.KINDS`); empty: all."""
    partitions: frozenset[str] = frozenset()
    """Only these partitions of CodeSearchNet (train, valid, test, pool); empty: train, valid and test."""
    include_tests: bool | None = None
    """Test, vendored and generated files: all (True), none, or (None) those that people wrote for this source."""
    packages: frozenset[str] = frozenset()
    """`python-env`: also these distributions, however big; `*` for all that are installed."""
    ref: str = ""
    """Git: branch, tag or commit; empty: the remote's default."""
    download_base: str = ""
    """The folder or address that CodeSearchNet's archives come from; empty: the known places."""
    git_schemes: frozenset[str] = frozenset({"https", "ssh"})
    """Which schemes a git URL may have."""
    git_hosts: frozenset[str] = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
    """Which hosts a git URL may name; `*` for any."""
    cache: Path = field(default_factory=default_cache)
    """Where archives and clones are kept."""
    max_function_bytes: int = MAX_FUNCTION_BYTES
    max_file_bytes: int = MAX_FILE_BYTES
    max_source_bytes: int = MAX_SOURCE_BYTES
    """Of all files of an archive or a git repository together, unpacked."""
    max_source_files: int = MAX_SOURCE_FILES
    max_pack_bytes: int = MAX_PACK_BYTES
    """Of what git fetches, packed."""
    index_secrets: bool = False
    """Also files that hold private keys or tokens (`corpus.secrets`)."""
    keep_texts: bool = True
    """Whether the text of files is kept with the index."""
    history: bool = True
    """Whether git histories are read."""
    branches: int = 2
    """How many branches that were left keep their generation in a project."""
    progress: Progress = no_progress

    @property
    def fingerprint(self) -> str:
        """A digest of the options that affect what is read; part of every unit's digest."""
        tests = {True: "|tests", None: "|written", False: ""}[self.include_tests]
        kinds = "|" + ",".join(sorted(self.kinds)) if self.kinds else ""
        sizes = f"{self.max_function_bytes}|{self.max_file_bytes}"
        texts = "" if self.keep_texts else "|no texts"
        secrets = "|secrets" if self.index_secrets else ""
        return f"{READER_VERSION}|{sizes}|{','.join(sorted(self.languages))}{tests}{kinds}{texts}{secrets}"

    def for_workers(self) -> ReadOptions:
        """The options without the callback, so that they can be pickled."""
        return replace(self, progress=no_progress)
