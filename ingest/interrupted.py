"""What a load that was broken off had done: its journal says, as far as the engine's last checkpoint reaches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import orjson

from treeline.corpus.errors import TreelineError
from treeline.ingest import journal, manifest
from treeline.ingest.journal import Journal, JournalEntry
from treeline.ingest.source import Problem


@dataclass(slots=True)
class Done:
    """What the journal says of one unit; chunks are counted up to the first that is still to be done."""

    digest: str
    records: bytes = b""
    problems: list[Problem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    chunks: int = 0
    complete: bool = False

    def add(self, entry: JournalEntry) -> None:
        self.records += entry.records
        self.problems += entry.problems
        self.counts.update(entry.counts)
        self.chunks = entry.chunk if entry.end else entry.chunk + 1
        self.complete = entry.end


@dataclass(slots=True)
class Interrupted:
    """Units that are done, what the engine refused of them, and functions that may be in the engine by mistake."""

    units: dict[str, Done] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)
    # Written after the checkpoint, or of a unit that has changed since.
    doubtful: set[bytes] = field(default_factory=set)
    # Units that have changed since: the engine may have a function otherwise than the index before and the unit now.
    stale: set[str] = field(default_factory=set)

    def take(self, unit: str, digest: str) -> Done | None:
        """What is done of a unit that is as it was then; one that is not becomes stale."""
        done = self.units.get(unit)
        if done is not None and done.digest != digest:
            self._doubt(unit)
            return None
        return done

    def written(self) -> set[bytes]:
        """Every function that the load may have given to the engine; its unit may have vanished since."""
        return self.doubtful.union(*(manifest.ids(done.records) for done in self.units.values()))

    def note(self, entry: JournalEntry) -> None:
        done = self.units.get(entry.unit)
        if done is None or done.digest != entry.digest:  # changed between two loads that were broken off
            self._doubt(entry.unit)
            done = self.units[entry.unit] = Done(entry.digest)
        done.add(entry)

    def _doubt(self, unit: str) -> None:
        done = self.units.pop(unit, None)
        if done is not None:
            self.doubtful.update(manifest.ids(done.records))
            self.stale.add(unit)


def take_up(book: Journal, state: bytes | None) -> Interrupted:
    """Read the journal up to the checkpoint whose `state` this is, and cut off the rest: that is done again."""
    found = Interrupted()
    valid = 0
    if state is not None:
        checkpoint = orjson.loads(state)
        valid = checkpoint["journal"]
        if valid > book.length:
            raise TreelineError(f"the journal {book.path} is damaged", "make the index anew with --fresh")
        found.refused = [(id_, reason) for id_, reason in checkpoint["refused"]]
    for end, entry in journal.read(book.path):
        if end > valid:
            found.doubtful.update(manifest.ids(entry.records))
        else:
            found.note(entry)
    book.truncate(valid)
    return found


def state_of(length: int, refused: list[tuple[str, str]]) -> bytes:
    """What a checkpoint keeps for `take_up`."""
    return orjson.dumps({"journal": length, "refused": refused})
