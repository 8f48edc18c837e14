"""A source archive as it is handed out (a forge's zip, an sdist, a wheel), read as its folder would be."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import quote

from treeline.corpus.errors import InputError
from treeline.ingest.folder import FileUnit, always
from treeline.ingest.ignoring import (
    EXCLUDED,
    IGNORE_FILES,
    MAX_IGNORE_BYTES,
    Ignored,
    file_reason,
    folder_reason,
    is_source,
)
from treeline.ingest.packed import Member, members, suffix_of_archive
from treeline.ingest.parsers.file import Place
from treeline.ingest.source import ReadOptions, Unit, Unreadable, leads_out, readable

# As long as a path can be on this machine.
MAX_NAME = 4_096


@dataclass(frozen=True)
class MemberUnit(FileUnit):
    """A file in an archive."""

    member: Member

    def _read(self) -> bytes | str:
        return self.member.read(self.options.max_file_bytes)


@dataclass(frozen=True)
class Archive:
    """Every source file in it that is not left out; `chosen` has their paths by their number among all members."""

    path: Path
    repo: str
    top: str
    options: ReadOptions
    chosen: Mapping[int, str]
    refused: tuple[Unreadable, ...]
    size: int
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return str(self.path)

    def units(self) -> Iterator[Unit]:
        """Opened once and gone through once: a tar cannot be entered in the middle."""
        yield from self.refused
        for number, member in enumerate(members(self.path, self.options)):
            if (path := self.chosen.get(number)) is None:
                continue
            if _inside(member.name) != self.top + path:
                raise InputError(f"{self.path} was changed while it was read", "run the command again")
            file, key = self.path / self.top / path, readable(path)
            place = Place(self.repo, key, "", f"file://{quote(os.fsencode(file))}")
            yield MemberUnit(file, key, member.size, always(place), self.options, self.left_out, member)


def open_archive(path: Path, options: ReadOptions) -> Archive:
    """List what is in it, so that one that cannot be read is refused before anything of it is loaded."""
    path = path.resolve()
    options.progress(f"listing {path.name}", 0, 0)
    listed: list[_Listed] = []
    ignoring: dict[str, str] = {}
    refused: list[Unreadable] = []
    room = MAX_IGNORE_BYTES
    for number, member in enumerate(members(path, options)):
        inside = _inside(member.name)
        if not inside:
            name = readable(f"{path}/{member.name[:MAX_NAME]}")
            refused.append(Unreadable(name, "the name is no path within the archive: refused"))
            continue
        listed.append(_Listed(number, inside, member.size, member.kind))
        if inside.endswith((EXCLUDED, *IGNORE_FILES)) and not member.kind:
            content = member.read(room)
            if isinstance(content, bytes):
                room -= len(content)
                ignoring[inside] = content.decode("utf-8", "replace")
    top = _top(listed)
    choice = _Choice(lambda relative: ignoring.get(top + relative, ""), options)
    kept = [one for one in listed if choice.takes(one.path.removeprefix(top), one.kind)]
    return Archive(
        path=path,
        repo=top.rstrip("/") or called(path.name),
        top=top,
        options=options,
        chosen={one.number: one.path.removeprefix(top) for one in kept},
        refused=tuple(refused),
        size=sum(one.size for one in kept),
        left_out=choice.left_out,
    )


def called(name: str) -> str:
    """What an archive (or a folder) of that name holds: `flask-3.0.0-py3-none-any.whl` → `flask-3.0.0`."""
    suffix = suffix_of_archive(name)
    stem = name.removesuffix(suffix)
    return "-".join(stem.split("-")[:2]) if suffix.lower() == ".whl" else stem


class _Listed(NamedTuple):
    number: int
    path: str
    size: int
    kind: str


def _inside(name: str) -> str:
    """The path that a member's name means, or '' for one that leads out of the archive or nowhere."""
    path = PurePosixPath(name)
    return "" if leads_out(path) or not path.parts or len(name) > MAX_NAME else str(path)


def _top(listed: Sequence[_Listed]) -> str:
    """The folder that all lies in (`project-1.0/`), or ''."""
    tops = {one.path.partition("/")[0] + "/" if "/" in one.path else "" for one in listed}
    return tops.pop() if len(tops) == 1 else ""


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which members are read; the others are counted by reason, as in a folder. `read` gives an ignore file's text."""

    read: Callable[[str], str]
    options: ReadOptions
    left_out: Counter[str] = field(default_factory=Counter)
    entered: dict[str, Ignored | None] = field(default_factory=dict)

    def takes(self, path: str, kind: str) -> bool:
        ignored = self._enter(path)
        if ignored is None or not (kind or is_source(path)):
            return False
        reason = kind or file_reason(path, ignored.match(path, is_folder=False), self.options)
        if reason:
            self.left_out[reason] += 1
        return not reason

    def _enter(self, path: str) -> Ignored | None:
        """The ignore files on the way to a file; None when a folder on it is passed over."""
        ignored: Ignored | None = Ignored()
        for folder in accumulate(["", *path.split("/")[:-1]], lambda above, name: f"{above}/{name}".lstrip("/")):
            if ignored is not None and folder not in self.entered:
                reason = folder_reason(folder, ignored.match(folder, is_folder=True), self.options)
                if reason:
                    self.left_out[reason] += 1
                self.entered[folder] = None if reason else ignored.entering(folder, self.read)
            ignored = self.entered[folder] if ignored else None
        return ignored
