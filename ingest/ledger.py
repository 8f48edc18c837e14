"""Accounts for every function of a load: which ids have been seen, and what became of each."""

from __future__ import annotations

from collections import Counter

from treeline.ingest import manifest
from treeline.ingest.interrupted import Done
from treeline.ingest.journal import JournalEntry
from treeline.ingest.manifest import Entry
from treeline.ingest.preparing import Prepared


class Ledger:
    """An id counts once; where it turns up again it is a duplicate."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(indexed=0, updated=0, unchanged=0, duplicate=0)
        self._seen: set[bytes] = set()

    def see(self, entry: Entry) -> None:
        """Functions of another source: not counted, but theirs."""
        self._seen.update(manifest.ids(entry.records))

    def keep(self, entry: Entry) -> None:
        """Functions of a unit that has not changed."""
        for id_ in manifest.ids(entry.records):
            self.counts["duplicate" if id_ in self._seen else "unchanged"] += 1
            self._seen.add(id_)

    def take_up(self, done: Done) -> None:
        """Functions that an interrupted load has accounted for."""
        self.counts.update(done.counts)
        self._seen.update(manifest.ids(done.records))

    def account(self, chunk: Prepared) -> tuple[JournalEntry, set[str]]:
        """The chunk's entry in the journal, and the ids that are to be written."""
        changed = {function.id for function in chunk.functions}
        fresh: set[str] = set()
        counts = Counter[str]()
        for id_ in manifest.ids(chunk.records):
            if id_ in self._seen:
                counts["duplicate"] += 1
                continue
            self._seen.add(id_)
            text_id = id_.hex()
            if text_id in changed:
                fresh.add(text_id)
                counts["updated" if text_id in chunk.kept else "indexed"] += 1
            else:
                counts["unchanged"] += 1
        self.counts.update(counts)
        item = chunk.item
        entry = JournalEntry(
            unit=item.unit,
            digest=item.digest,
            chunk=item.number,
            end=chunk.is_end,
            records=chunk.records,
            facts=chunk.facts,
            problems=chunk.problems,
            counts=dict(counts),
        )
        return entry, fresh
