"""The default store: a folder of named indexes, each with numbered generations and a pointer to the current one."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from treeline.corpus.errors import IndexDamaged, IndexMissing, IndexOutdated
from treeline.engine.durable import WriterLock, disk_errors, link_tree, write_atomically
from treeline.engine.embedded.manifest import (
    ARTIFACTS,
    CURRENT,
    Manifest,
    next_generation,
    pointer_lock,
    read_info,
    read_pointer,
    write_manifest,
)
from treeline.engine.names import check_name, newest_before, prunable
from treeline.engine.protocol import EncoderSpec, IndexInfo

if TYPE_CHECKING:
    from treeline.engine.embedded.engine import EmbeddedEngine
    from treeline.engine.embedded.writer import EmbeddedWriter

log = logging.getLogger(__name__)

UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError)  # what damaged files raise
ROLLED_BACK = "rolled-back"  # an empty file in a rejected generation
COPY = "copy"  # a copy of another index's generation in the making
REOPENED_AT_MOST = 3  # a generation may be pruned between being named and being read


Result = TypeVar("Result")


class EmbeddedStore:
    """See `treeline.engine.protocol.Store`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        # Generations found damaged, by the inode of their folder: a number may be used again.
        self._unusable: dict[int, IndexDamaged] = {}

    def names(self) -> list[str]:
        return sorted(path.parent.name for path in self._home.glob(f"*/{CURRENT}"))

    def open(self, name: str, generation: str = "") -> EmbeddedEngine:
        """The current generation, or the last good one before it when that is damaged; or another one."""
        if not generation:
            return self._again(name, lambda _: self._open(name))
        from treeline.engine.embedded.engine import EmbeddedEngine

        folder = self._home / check_name(name) / generation
        try:
            return EmbeddedEngine(folder)
        except UNREADABLE as error:
            raise IndexDamaged(str(folder), str(error)) from error

    def adopt(self, name: str, other: str, old_folder: str, new_folder: str) -> str:
        """Make the current generation of another index a generation of an index that has none, by links; it is not
        current, and only `begin` takes it. A unit at a URL in `old_folder` is in `new_folder` here. '' for an index
        that has one."""
        from treeline.engine.embedded.columns import relocate  # numpy

        home, source = self._home / check_name(name), self._home / other / self.current(other)
        with disk_errors(home):
            home.mkdir(exist_ok=True)
            lock = WriterLock(home / "lock")
            try:
                if read_pointer(home):
                    return ""
                if complete := self._complete(name):  # a load was interrupted, and may go on from it
                    return complete[0]
                folder = home / COPY
                shutil.rmtree(folder, ignore_errors=True)
                link_tree(source, folder)
                relocate(folder / "rows", old_folder, new_folder)
                write_manifest(folder, source)
                generation = next_generation(home)
                folder.rename(home / generation)
            finally:
                lock.release()
        return generation

    def begin(
        self, name: str, encoders: Sequence[EncoderSpec], fingerprint: str, *, fresh: bool = False, base: str = ""
    ) -> EmbeddedWriter:
        from treeline.engine.embedded.writer import EmbeddedWriter

        home = self._home / check_name(name)
        with disk_errors(home):
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            home.mkdir(exist_ok=True)
            lock = WriterLock(home / "lock")
        try:
            if pointer := read_pointer(home):
                for generation in self._complete(name):
                    # A load that was killed before its pointer moved leaves a generation that never was current.
                    if pointer.isdigit() and generation > pointer and not self._rolled_back(name, generation):
                        self._remove(name, generation)
            if base:
                self._check_intact(name, base, artifacts=True)
            elif pointer and not fresh:
                base = self._intact_base(name)
            return EmbeddedWriter(home, base, encoders, fingerprint, lock)
        except BaseException:
            lock.release()
            raise

    def generations(self, name: str) -> list[IndexInfo]:
        """See the protocol; those that this version cannot read are left out, and the damaged ones reported."""
        self._pointer(name)
        infos = []
        for generation in self._complete(name):
            try:
                info = read_info(self._home / name / generation)
                infos.append(replace(info, rolled_back=self._rolled_back(name, generation)))
            except IndexOutdated:
                continue
            except UNREADABLE as error:
                log.warning("generation %s of %r cannot be read: %s", generation, name, error)
        return infos

    def current(self, name: str) -> str:
        """The generation that `open` opens, as far as is known."""
        return next(self._usable(name), self._pointer(name))

    def info(self, name: str) -> IndexInfo:
        return self._again(name, lambda generation: read_info(self._home / name / generation))

    def artifact(self, name: str, artifact: str, generation: str = "") -> bytes | None:
        """See the protocol; None also if it is damaged, which an open engine and `verify` name."""
        folder = self._home / name / (generation or self.current(name))
        try:
            data = (folder / ARTIFACTS / artifact).read_bytes()
        except OSError:
            return None
        try:
            return data if Manifest(folder).intact_artifact(artifact, data) else None
        except (IndexDamaged, *UNREADABLE):  # nothing says what it was, as in an old format
            return data

    def verify(self, name: str) -> dict[str, tuple[str, ...]]:
        self._pointer(name)
        return {generation: tuple(self._damaged_files(name, generation)) for generation in self._complete(name)}

    def roll_back(self, name: str) -> IndexInfo:
        home = self._home / name
        with disk_errors(home), pointer_lock(home):
            current = self._pointer(name)
            before = newest_before(name, current, self.generations(name))
            # First, so that it is rejected even if the process dies before the pointer moves.
            write_atomically(home / current / ROLLED_BACK, b"")
            write_atomically(home / CURRENT, before.generation.encode())
        return before

    def prune(self, name: str, keep: int = 2, spare: Collection[str] = ()) -> list[str]:
        current, complete = self.current(name), self._complete(name)
        surplus = prunable(complete, {current, *spare}, filter(partial(self._rolled_back, name), complete), keep)
        with disk_errors(self._home / name):
            for generation in surplus:
                self._remove(name, generation)
        return surplus

    def drop(self, name: str) -> None:
        self._pointer(name)
        with disk_errors(self._home / name):
            lock = WriterLock(self._home / name / "lock")
            try:
                (self._home / name / CURRENT).unlink()
                shutil.rmtree(self._home / name)
            finally:
                lock.release()

    def _pointer(self, name: str) -> str:
        pointer = read_pointer(self._home / check_name(name))
        if not pointer:
            others = ", ".join(self.names())
            raise IndexMissing(
                f"there is no index {name!r} in {self._home}",
                f"make one with `treeline index SOURCE --name {name}`"
                + (f", or choose one of: {others}" if others else ""),
            )
        return pointer

    def _again(self, name: str, read: Callable[[str], Result]) -> Result:
        """Read the current generation, and the new one when it was pruned meanwhile."""
        for _ in range(REOPENED_AT_MOST):
            generation = self.current(name)
            try:
                return read(generation)
            except UNREADABLE as error:
                if not isinstance(error, FileNotFoundError) or self.current(name) == generation:
                    raise IndexDamaged(str(self._home / name / generation), str(error)) from error
        raise IndexMissing(f"the index {name!r} changes faster than it can be opened", "try again")

    def _open(self, name: str) -> EmbeddedEngine:
        from treeline.engine.embedded.engine import EmbeddedEngine  # numpy and tantivy, which not all commands need

        first = self._unusable.get(self._inode(name, self._pointer(name)))
        for generation in self._usable(name):
            try:
                mark = partial(self._unusable.__setitem__, self._inode(name, generation))
                engine = EmbeddedEngine(self._home / name / generation, mark)
                if first is not None:
                    engine.notices = (first.message,)
                    log.warning("generation %s is served instead: %s", generation, first.message)
                return engine
            except IndexDamaged as error:
                damage = error
            except UNREADABLE as error:
                if not (self._home / name / generation).is_dir():  # pruned meanwhile
                    raise
                files = self._damaged_files(name, generation)
                damage = IndexDamaged(str(self._home / name / generation), files[0] if files else str(error))
            self._unusable[self._inode(name, generation)] = damage
            first = first or damage
        raise first or IndexDamaged(str(self._home / name), CURRENT)

    def _usable(self, name: str) -> Iterator[str]:
        """The current generation and those before it, without rejected ones and those known to be damaged."""
        pointer, complete = self._pointer(name), self._complete(name)
        is_complete = pointer in complete  # a damaged pointer names none
        for generation in complete:
            older = generation <= pointer if is_complete else True
            is_reject = generation != pointer and self._rolled_back(name, generation)
            if older and not is_reject and self._inode(name, generation) not in self._unusable:
                yield generation

    def _intact_base(self, name: str) -> str:
        """The newest generation that a load may build on: every file that it takes over is read first."""
        damage: IndexDamaged | None = None
        for generation in self._usable(name):
            try:
                self._check_intact(name, generation)
                return generation
            except IndexDamaged as error:
                damage = error
                self._unusable[self._inode(name, generation)] = damage
        raise damage or IndexDamaged(str(self._home / name), CURRENT)

    def _check_intact(self, name: str, generation: str, *, artifacts: bool = False) -> None:
        """Raise `IndexDamaged` unless every file of a generation that a load takes over is as it was written."""
        folder = self._home / name / generation
        read_info(folder)
        for file in self._damaged_files(name, generation):
            if artifacts or not file.startswith(ARTIFACTS):
                raise IndexDamaged(str(folder), file)

    def _damaged_files(self, name: str, generation: str) -> list[str]:
        try:
            return Manifest(self._home / name / generation).wrong_contents()
        except IndexDamaged as error:
            return [error.file]
        except UNREADABLE:
            return ["manifest.json"]

    def _inode(self, name: str, generation: str) -> int:
        try:
            return (self._home / name / generation).stat().st_ino
        except OSError:
            return -1

    def _complete(self, name: str) -> list[str]:
        """Newest first."""
        folders = (path.name for path in (self._home / name).iterdir() if path.name.isdigit())
        return sorted(folders, reverse=True)

    def _rolled_back(self, name: str, generation: str) -> bool:
        return (self._home / name / generation / ROLLED_BACK).exists()

    def _remove(self, name: str, generation: str) -> None:
        # Renamed first: a half-removed generation must not look like a complete one.
        trash = self._home / name / f"removing-{generation}"
        (self._home / name / generation).rename(trash)
        shutil.rmtree(trash)
