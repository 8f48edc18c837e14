"""Decides which files of a folder are not indexed: ignored by git or `.treelineignore`, tests, vendored, generated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from treeline.ingest.parsers.registry import UNREAD, by_suffix
from treeline.ingest.source import ReadOptions

IGNORE_FILES = (".gitignore", ".treelineignore")
# Git's own, which only the top of a repository has.
EXCLUDED = ".git/info/exclude"
# An ignore file past this is not one.
MAX_IGNORE_BYTES = 1_000_000

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


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files from the top of a repository down to one folder, the deepest last."""

    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def entering(self, folder: str, read: Callable[[str], str]) -> IgnoreRules:
        """The same, with the ignore files of a folder; paths, also those that are read, begin at the top."""
        names = IGNORE_FILES if folder else (EXCLUDED, *IGNORE_FILES)
        lines = [line for name in names for line in read(f"{folder}/{name}".lstrip("/")).splitlines()]
        return IgnoreRules((*self.levels, (folder, _spec(lines)))) if lines else self

    def match(self, path: str, is_folder: bool) -> bool:
        """Is this path (relative to the top) ignored? The deepest ignore file that speaks of it decides."""
        for base, spec in reversed(self.levels):
            inner = path[len(base) + 1 :] if base else path
            verdict = spec.check_file(f"{inner}/" if is_folder else inner).include
            if verdict is not None:
                return verdict
        return False


def ignore_text(top: Path, relative: str) -> str:
    """What an ignore file on disk says; nothing where there is none."""
    path = top / relative
    try:
        if path.is_symlink() or path.stat().st_size > MAX_IGNORE_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """Lines that are no patterns are passed over, as git does."""
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
