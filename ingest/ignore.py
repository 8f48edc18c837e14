"""Decides which files of a folder are not indexed: ignored by git or `.treelineignore`, tests, vendored, generated."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from treeline.ingest.parsers.registry import UNREAD, by_suffix
from treeline.ingest.source import ReadOptions

IGNORE_FILES = (".gitignore", ".treelineignore")
# Git's own, which only the top of a repository has.
EXCLUDED = ".git/info/exclude"
# An ignore file past this is not one.
MAX_IGNORE_BYTES = 1_000_000
# In effect in one folder. A path is compared with each, so their number and length bound the time.
MAX_PATTERNS = 2_000
MAX_PATTERN = 1_000  # characters
SUFFIX_PATTERN = re.compile(r"!?\*(\.[\w-]+)")

TEST_FOLDERS = frozenset("test tests __tests__ spec specs testdata test_data fixtures __mocks__ e2e".split())
VENDORED_FOLDERS = frozenset(
    """vendor vendored _vendor _vendored third_party thirdparty third-party node_modules bower_components
    jspm_packages site-packages dist-packages Godeps Pods virtualenv venv __pycache__""".split()
)
GENERATED_FOLDERS = frozenset("dist build generated _generated coverage htmlcov".split())
TEST_FILE = re.compile(
    r"(?:^test_.*|.*_tests?|^conftest)\.py$|.*_test\.go$|.*(?:Test|Tests|TestCase|IT)\.(?:java|php)$|.*_(?:spec|test)\.rb$"
    r"|.*[._-](?:test|tests|spec|e2e|stories)\.[cm]?[jt]sx?$"
)
GENERATED_FILE = re.compile(
    r".*_pb2(?:_grpc)?\.py$|.*\.pb(?:\.gw)?\.go$|.*_generated\.\w+$|.*\.(?:generated|gen|min|bundle|chunk)\.\w+$"
    r"|.*\.d\.[cm]?ts$|^(?:bindata|zz_generated.*)\.go$"
)
GENERATED_MARK = re.compile(rb"(?i)code generated .*do not edit|@generated\b|this file (?:is|was) (?:auto-?)?generated")
# Where the mark stands when there is one.
HEADER_BYTES = 1_024
# Nobody writes lines like this: minified or data.
MAX_MEAN_LINE = 300


def reason_by_name(path: PurePosixPath) -> str:
    """Why a file is left out by default, judged by its path, or ''."""
    folders = set(path.parts[:-1])
    if any(part.startswith(".") for part in path.parts):
        return "hidden"
    if folders & VENDORED_FOLDERS:
        return "vendored"
    if folders & TEST_FOLDERS or TEST_FILE.match(path.name):
        return "test"
    if folders & GENERATED_FOLDERS or GENERATED_FILE.match(path.name):
        return "generated"
    return ""


def suffix_of(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def is_source(path: str) -> bool:
    """Whether it is code, in a language that is read or not."""
    return suffix_of(path) in by_suffix() or suffix_of(path) in UNREAD


def folder_reason(path: str, is_ignored: bool, options: ReadOptions) -> str:
    """Why nothing below a folder is read, or ''."""
    if path.rpartition("/")[2] == ".git":
        return "git's own folder"
    if is_ignored:
        return "ignored folder"
    by_name = "" if options.include_tests else reason_by_name(PurePosixPath(path, "_"))
    return f"{by_name} folder" if by_name else ""


def file_reason(path: str, is_ignored: bool, options: ReadOptions) -> str:
    """Why a source file is not read, or ''."""
    grammar = by_suffix().get(suffix_of(path))
    if options.languages and (grammar is None or grammar.name not in options.languages):
        return "other language"
    if is_ignored:
        return "ignored"
    by_name = "" if options.include_tests else reason_by_name(PurePosixPath(path))
    return by_name or ("" if grammar else f"language not read ({suffix_of(path)})")


def is_generated(source: bytes) -> bool:
    """Does the text itself say so, or look so?"""
    if GENERATED_MARK.search(source[:HEADER_BYTES]):
        return True
    return len(source) > 20_000 and len(source) > MAX_MEAN_LINE * (source.count(b"\n") + 1)


class _Pattern:
    """One line of an ignore file."""

    __slots__ = ("anchored", "folders_only", "negated", "segments")

    def __init__(self, line: str) -> None:
        self.negated = line.startswith("!")
        line = line[1:] if self.negated else line
        self.folders_only = line.endswith("/")
        line = line.rstrip("/")
        self.anchored = "/" in line
        self.segments = tuple(map(_segment, line.lstrip("/").split("/")))

    def match(self, parts: Sequence[str]) -> bool:
        if not self.anchored:
            return _matches(self.segments[0], parts[-1])
        # `*` within a segment never backtracks (see `_segment`), and neither does `**` here: the last one that was
        # met takes one more folder when what follows it does not fit. So a match costs at most patterns × parts.
        segments, position, part = self.segments, 0, 0
        retry = retry_part = -1
        while part < len(parts):
            if position < len(segments) and segments[position] is None:
                retry, retry_part, position = position, part, position + 1
                if position == len(segments):  # `a/**` is everything inside `a`
                    return True
            elif position < len(segments) and _matches(segments[position], parts[part]):
                position, part = position + 1, part + 1
            elif retry >= 0:
                retry_part += 1
                position, part = retry + 1, retry_part
            else:
                return False
        return position == len(segments)


def _segment(glob: str) -> str | re.Pattern[str] | None:
    """A part of a pattern between slashes: itself when it has no wildcards, None for `**`."""
    if glob == "**":
        return None
    if not set(glob) & set("*?[\\"):
        return glob
    glob = re.sub(r"\\(.)", lambda found: found[1] if found[1] not in "*?[" else f"[{found[1]}]", glob)
    # Its regular expressions match each `*` atomically, so they take linear time.
    return re.compile(fnmatch.translate(re.sub(r"\*+", "*", glob).replace("[^", "[!")))


def _matches(segment: str | re.Pattern[str] | None, part: str) -> bool:
    if segment is None or isinstance(segment, str):
        return segment is None or segment == part
    return segment.match(part) is not None


class _Patterns:
    """The patterns of one folder's ignore files. The last that matches decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._literal: dict[str, int] = {}  # whole names: the number of the last pattern, for files and for folders
        self._literal_folder: dict[str, int] = {}
        self._suffix: dict[str, int] = {}  # `*.pyc`
        self._other: list[tuple[int, _Pattern]] = []
        self._negated: list[bool] = []
        for line in lines:
            if len(self._negated) == MAX_PATTERNS:
                break
            if (pattern := _parse(line)) is not None:
                self._add(pattern, line)
        self._other.reverse()

    def __len__(self) -> int:
        return len(self._negated)

    def _add(self, pattern: _Pattern, line: str) -> None:
        number = len(self._negated)
        self._negated.append(pattern.negated)
        name = pattern.segments[0]
        suffix = SUFFIX_PATTERN.fullmatch(line)
        if isinstance(name, str) and not pattern.anchored:
            self._literal_folder[name] = number
            if not pattern.folders_only:
                self._literal[name] = number
        elif suffix:
            self._suffix[suffix[1]] = number
        else:
            self._other.append((number, pattern))

    def check(self, path: str, is_folder: bool) -> bool | None:
        """Whether the path is ignored; None when no pattern matches it."""
        name = path.rpartition("/")[2]
        best = (self._literal_folder if is_folder else self._literal).get(name, -1)
        if self._suffix:
            best = max(best, self._suffix.get(f".{name.rpartition('.')[2]}" if "." in name else "", -1))
        if self._other:
            parts = path.split("/")
            for number, pattern in self._other:
                if number < best:
                    break
                if (is_folder or not pattern.folders_only) and pattern.match(parts):
                    best = number
                    break
        return None if best < 0 else not self._negated[best]


def _parse(line: str) -> _Pattern | None:
    """The pattern of a line, or None for a comment, an empty line, or one no path can match."""
    line = line.rstrip("\r\n")
    stripped = line.rstrip(" ")
    if stripped.endswith("\\") and stripped != line:  # an escaped space at the end
        stripped += " "
    if not stripped.strip("/!") or stripped.startswith("#") or len(stripped) > MAX_PATTERN:
        return None
    try:
        return _Pattern(stripped)
    except re.error:
        return None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files from the top of a repository down to one folder, the deepest last."""

    levels: tuple[tuple[str, _Patterns], ...] = ()

    def entering(self, folder: str, read: Callable[[str], str]) -> IgnoreRules:
        """The rules inside a folder. Paths, also those given to `read`, start at the top."""
        names = IGNORE_FILES if folder else (EXCLUDED, *IGNORE_FILES)
        lines = [line for name in names for line in read(f"{folder}/{name}".lstrip("/")).splitlines()]
        if not lines or sum(len(patterns) for _, patterns in self.levels) >= MAX_PATTERNS:
            return self
        return IgnoreRules((*self.levels, (folder, _Patterns(lines))))

    def match(self, path: str, is_folder: bool) -> bool:
        """Is this path (relative to the top) ignored? The deepest ignore file that matches it decides."""
        for base, patterns in reversed(self.levels):
            verdict = patterns.check(path[len(base) + 1 :] if base else path, is_folder)
            if verdict is not None:
                return verdict
        return False


def read_plain(path: Path, limit: int) -> bytes | str:
    """The content of a plain file that is not a link, or the reason why not."""
    try:
        # Neither a link nor a pipe that nobody writes to may hold us up.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return "not a plain file"
            content = file.read(limit + 1)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return content if len(content) <= limit else f"file is over the limit of {limit:,} bytes"


def ignore_text(top: Path, relative: str) -> str:
    """The text of an ignore file on disk; nothing when there is none."""
    content = read_plain(top / relative, MAX_IGNORE_BYTES)
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
