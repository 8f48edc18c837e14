"""The reading side of a load: which units are to be read, cut into batches that make a worker's trip worth while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from treeline.ingest import manifest
from treeline.ingest.generation import Generation
from treeline.ingest.manifest import Manifest
from treeline.ingest.preparing import Clock, Item
from treeline.ingest.source import Problem, Source, Unit, Unreadable

# A trip to a worker: large enough for the journey and the matrix products to pay, small enough for flat memory.
BATCH_BYTES = 400_000
BATCH_CHUNKS = 64


@dataclass(slots=True)
class Reading:
    """Goes through the sources' units; what has not changed is noted in the manifest at once and not read."""

    sources: Sequence[Source]
    before: Manifest
    after: Manifest
    generation: Generation
    clock: Clock
    advance: Callable[[int], None]
    notice: Callable[[Sequence[Problem]], None]
    """Told of the problems of units that are not read now."""
    units: Counter[str] = field(default_factory=Counter)
    _repeated: Counter[str] = field(default_factory=Counter)

    def batches(self) -> Iterator[list[Item]]:
        items: list[Item] = []
        size = 0
        for source in self.sources:
            for unit in source.units():
                for item in self._items(source.name, unit):
                    items.append(item)
                    size += item.chunk.size if item.chunk else 0
                    if size >= BATCH_BYTES or len(items) >= BATCH_CHUNKS:
                        yield items
                        items, size = [], 0
        if items:
            yield items

    def _items(self, source: str, unit: Unit) -> Iterator[Item]:
        """The chunks of a unit that are still to be done, and its end; nothing when it has not changed."""
        key = manifest.key(source, unit.key)
        if key in self.after.entries:
            # Two members of a zip may have one name; the second is told, as everything that is left out is.
            self._repeated[key] += 1
            again = f"{unit.key} ({self._repeated[key] + 1})"
            key, unit = manifest.key(source, again), Unreadable(again, "another one of the source has the same name")
        with self.clock("read"):
            digest = unit.digest
        known = self.generation.knows(self.before.entries.get(key), key, digest)
        if known is not None and known.digest == digest:
            self.units["unchanged"] += 1
            self.advance(unit.size)
            self.generation.ledger.keep(known)
            self.notice(known.problems)
            self.after.entries[key] = known
            return
        self.units["read"] += 1
        entry, number, complete = self.generation.resume(source, key, digest)
        self.after.entries[key] = entry
        self.notice(entry.problems)
        if complete:
            self.advance(unit.size)
            return
        chunks = islice(unit.chunks(), number, None)
        while True:
            with self.clock("read"):
                chunk = next(chunks, None)
            yield Item(source, key, digest, number, chunk, known.records if known else b"")
            if chunk is None:
                return
            number += 1
