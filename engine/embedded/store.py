"""The default store: a folder that holds named indexes, each a row of generations and a pointer to the current one."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from treeline.corpus.errors import IndexMissing, IndexOutdated, TreelineError
from treeline.engine.durable import WriterLock, disk_errors, write_atomically
from treeline.engine.embedded.engine import EmbeddedEngine, read_info
from treeline.engine.embedded.writer import CURRENT, EmbeddedWriter
from treeline.engine.names import check_name, newest_before, prunable
from treeline.engine.protocol import EncoderSpec, IndexInfo

log = logging.getLogger(__name__)

Value = TypeVar("Value")

UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError)  # what damaged files come to when they are read
ROLLED_BACK = "rolled-back"  # an empty file in a generation that was rejected


class EmbeddedStore:
    """See `treeline.engine.protocol.Store`."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def names(self) -> list[str]:
        return sorted(path.parent.name for path in self._home.glob(f"*/{CURRENT}"))

    def open(self, name: str) -> EmbeddedEngine:
        return self._of_current(name, EmbeddedEngine)

    def begin(
        self, name: str, encoders: Sequence[EncoderSpec], fingerprint: str, *, fresh: bool = False
    ) -> EmbeddedWriter:
        home = self._home / check_name(name)
        with disk_errors(home):
            home.mkdir(parents=True, exist_ok=True)
            lock = WriterLock(home / "lock")
        try:
            base = "" if fresh or not (home / CURRENT).exists() else self.current(name)
            return EmbeddedWriter(home, base, encoders, fingerprint, lock)
        except BaseException:
            lock.release()
            raise

    def generations(self, name: str) -> list[IndexInfo]:
        self.current(name)
        return self._readable(name)

    def current(self, name: str) -> str:
        try:
            return (self._home / check_name(name) / CURRENT).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            others = ", ".join(self.names())
            raise IndexMissing(
                f"there is no index {name!r} in {self._home}",
                f"make one with `treeline index SOURCE --name {name}`"
                + (f", or choose one of: {others}" if others else ""),
            ) from None

    def info(self, name: str) -> IndexInfo:
        return self._of_current(name, read_info)

    def artifact(self, name: str, artifact: str) -> bytes | None:
        file = self._home / name / self.current(name) / "artifacts" / artifact
        return file.read_bytes() if file.exists() else None

    def roll_back(self, name: str) -> IndexInfo:
        current = self.current(name)
        before = newest_before(name, current, self._readable(name))
        with disk_errors(self._home / name):
            # First, so that it is rejected also when this ends before the pointer is moved.
            write_atomically(self._home / name / current / ROLLED_BACK, b"")
            write_atomically(self._home / name / CURRENT, before.generation.encode())
        return before

    def prune(self, name: str, keep: int = 2) -> list[str]:
        current, complete = self.current(name), self._complete(name)
        removed = prunable(complete, current, filter(partial(self._rolled_back, name), complete), keep)
        with disk_errors(self._home / name):
            for generation in removed:
                self._remove(name, generation)
        return removed

    def drop(self, name: str) -> None:
        self.current(name)
        with disk_errors(self._home / name):
            lock = WriterLock(self._home / name / "lock")
            try:
                (self._home / name / CURRENT).unlink()
                shutil.rmtree(self._home / name)
            finally:
                lock.release()

    def _of_current(self, name: str, read: Callable[[Path], Value]) -> Value:
        """What `read` makes of the current generation's folder."""
        for _ in range(3):  # it may be pruned between being named and being read
            generation = self.current(name)
            try:
                return read(self._home / name / generation)
            except FileNotFoundError as error:
                if self.current(name) == generation:
                    raise self._damaged(name, generation, error) from error
            except UNREADABLE as error:
                raise self._damaged(name, generation, error) from error
        raise IndexMissing(f"the index {name!r} changes faster than it can be opened", "try again")

    def _damaged(self, name: str, generation: str, error: Exception) -> TreelineError:
        return TreelineError(
            f"generation {generation} of the index {name!r} in {self._home} cannot be opened: {error}",
            "go back to the generation before it, or index again with a fresh start",
        )

    def _complete(self, name: str) -> list[str]:
        """Newest first."""
        folders = (path.name for path in (self._home / name).iterdir() if path.name.isdigit())
        return sorted(folders, reverse=True)

    def _readable(self, name: str) -> list[IndexInfo]:
        """Of those, the ones that this version reads; a damaged one is neither shown as whole nor gone back to."""
        found = []
        for generation in self._complete(name):
            try:
                info = read_info(self._home / name / generation)
            except IndexOutdated:
                continue
            except UNREADABLE as error:
                log.warning("left out: %s", self._damaged(name, generation, error).message)
                continue
            found.append(replace(info, rolled_back=self._rolled_back(name, generation)))
        return found

    def _rolled_back(self, name: str, generation: str) -> bool:
        return (self._home / name / generation / ROLLED_BACK).exists()

    def _remove(self, name: str, generation: str) -> None:
        # Renamed first: a half-removed generation must not look like a complete one.
        doomed = self._home / name / f"removing-{generation}"
        (self._home / name / generation).rename(doomed)
        shutil.rmtree(doomed)
