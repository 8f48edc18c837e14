"""Several loaders that fill one generation together, each its own part; the last to finish publishes them all.

While the generation is loaded, an index of its own holds their notes: the progress and the checkpoint of every part
and, once the part is complete, its journal. Each part has a lease. The publisher holds those of all parts and of the
index, so that nobody changes what is being published.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import orjson
from elasticsearch import ApiError, Elasticsearch, TransportError

from treeline.corpus.errors import EngineUnavailable, InputError, TreelineError
from treeline.corpus.function import Address, Function
from treeline.engine.elasticsearch.bulk import Action, Bulk
from treeline.engine.elasticsearch.client import ADMIN_SECONDS, await_shards, patiently, server_errors
from treeline.engine.elasticsearch.engine import PAGE, ElasticsearchEngine, read_artifact, whole_answer
from treeline.engine.elasticsearch.lease import SETTINGS, Lease, is_held
from treeline.engine.elasticsearch.mapping import ROLLED_BACK, artifact_mapping, chunks, function_of, shapes_of
from treeline.engine.elasticsearch.preview import Written
from treeline.engine.elasticsearch.writer import ElasticsearchWriter
from treeline.engine.names import alias_name, loading_name, parse_index_name
from treeline.engine.protocol import IndexInfo, Part, Turn

PAUSE = 0.5  # seconds between two looks at whether another loader has published


class PartWriter(ElasticsearchWriter):
    """See `treeline.engine.protocol.PartWriter`.

    Serials are dealt out in turn, as files are: they stay small and no two parts have the same. What a killed loader
    wrote after its checkpoint is written again, or deleted by the publisher.
    """

    def __init__(
        self, client: Elasticsearch, name: str, generation: str, meta: Mapping[str, Any], part: Part, lease: Lease
    ) -> None:
        self._part = part
        self._notes = Notes(client, name, generation)
        self._progress: dict[str, Any] = {}
        self._addresses: list[tuple[str, Address]] | None = None
        super().__init__(client, name, generation, None, meta, {}, lease)
        self._kept = Written(keep=False)  # the side products need what the other loaders wrote as well
        self._step = part.of
        self._leases = [lease]

    def checkpoint(self, state: bytes) -> None:
        self._check_lease()
        place = "b" if self._progress.get("checkpoint") == "a" else "a"  # the other one stays whole
        self._notes.put(f"{self._part.number}-checkpoint-{place}", state)
        self._note(checkpoint=place, next_serial=self._next_serial)

    def complete(self, journal: Iterable[bytes]) -> None:
        self._check_lease()
        pieces = 0
        for piece in journal:
            self._notes.put(f"{self._part.number}-journal-{pieces}", piece)
            pieces += 1
        self._note(complete=True, pieces=pieces)

    def lead(self) -> Turn:
        self._release()  # the publisher needs this part's lease, too
        while True:
            missing = self._notes.missing(self._part.of)
            if self._is_over():  # asked after the notes were read: they are removed once it is
                return Turn(published=self._generation)
            if missing:
                return Turn(missing)
            try:
                self._hold_all()
            except InputError:  # another loader publishes, or has just finished its part
                self._release()
                time.sleep(PAUSE)
                continue
            # What was true a moment ago may not be so any more.
            if not self._is_over() and not self._notes.missing(self._part.of):
                break
            self._release()
        with server_errors(self._client):  # a publisher may have died at its last step
            self._client.indices.put_settings(index=self._index, settings={"blocks.write": None})
        progress = [self._notes.progress(number) for number in range(1, self._part.of + 1)]
        last = max(one["next_serial"] for one in progress)
        self._next_serial = last + (self._part.number - 1 - last) % self._part.of  # the next that is its own
        self._has_more_than_written = True
        return Turn()

    def other_parts(self) -> Iterator[tuple[int, bytes, Iterator[bytes]]]:
        for number in range(1, self._part.of + 1):
            if number != self._part.number:
                progress = self._notes.progress(number)
                state = self._notes.read(f"{number}-checkpoint-{progress['checkpoint']}")
                names = (f"{number}-journal-{piece}" for piece in range(progress["pieces"]))
                yield number, state, map(self._notes.read, names)

    def read(self, ids: Sequence[str]) -> Iterator[tuple[Function, str]]:
        with server_errors(self._client):
            patiently(lambda: self._client.indices.refresh(index=self._index))
        for start in range(0, len(ids), PAGE):
            page = list(ids[start : start + PAGE])
            query = {"ids": {"values": page}}
            ask = partial(whole_answer, self._client, self._index, query=query, size=len(page), source=True)
            with server_errors(self._client):
                found = patiently(ask)["hits"]["hits"]
            yield from ((function_of(hit["_source"]), shapes_of(hit["_source"])) for hit in found)

    def reconcile(self, ids: Sequence[str]) -> list[str]:
        self._check_lease()
        with server_errors(self._client):
            patiently(lambda: self._client.indices.refresh(index=self._index))
        found = dict(ElasticsearchEngine(self._client, self._name, self._generation, self._meta).addresses())
        wanted = set(ids)
        surplus = [id for id in found if id not in wanted]
        self._functions = len(found)
        self._written.clear()  # of it, others may have written a newer version
        for start in range(0, len(surplus), PAGE):
            self.delete(surplus[start : start + PAGE])
        self._addresses = [(id, found[id]) for id in ids if id in found]
        return [id for id in ids if id not in found]

    def preview(self) -> ElasticsearchEngine:
        with server_errors(self._client):
            patiently(lambda: self._client.indices.refresh(index=self._index))
        meta = {**self._meta, "functions": self._functions}
        return _Ordered(self._client, self._name, self._generation, meta, self._addresses or [])

    def publish(self) -> IndexInfo:
        info = super().publish()
        self._notes.remove()
        return info

    def abandon(self) -> None:
        self._close()

    def _resume(self) -> None:
        self._notes.make()
        self._progress = self._notes.progress(self._part.number)
        if place := self._progress.get("checkpoint"):
            self._resumed = self._notes.read(f"{self._part.number}-checkpoint-{place}")
        self._meta["next_serial"] = self._progress.get("next_serial", self._part.number - 1)
        if self._progress.get("complete"):
            self._note(complete=False)  # until it is again, nobody publishes

    def _note(self, **news: Any) -> None:
        self._progress |= news
        self._notes.put_progress(self._part.number, self._progress)

    def _current(self) -> str:
        """The current generation; empty when there is none."""
        with server_errors(self._client):
            found = self._client.options(ignore_status=404).indices.get_alias(name=alias_name(self._name))
        return max((parsed[1] for index in found if (parsed := parse_index_name(index))), default="")

    def _is_over(self) -> bool:
        """Whether this generation was published, even if it is not current any more."""
        if self._current() >= self._generation:
            return True
        with server_errors(self._client):
            found = self._client.options(ignore_status=404).indices.get_mapping(index=self._index)
        if self._index not in found:
            raise TreelineError(f"the load of {self._name!r} in parts was given up meanwhile", "nothing was published")
        return bool(found[self._index]["mappings"]["_meta"]["treeline"].get(ROLLED_BACK))

    def _hold_all(self) -> None:
        self._leases.append(Lease(self._client, self._name))
        for number in range(1, self._part.of + 1):
            self._leases.append(Lease(self._client, self._name, number))

    def _check_lease(self) -> None:
        for lease in self._leases:
            lease.check()

    def _release(self) -> None:
        for lease in self._leases:
            lease.release()
        self._leases = []

    def _close(self) -> None:
        if self._lease is not None:
            self._bulk.close()
            self._notes.close()
            self._release()
            self._lease = None


class Notes:
    """What the loaders of a generation leave for each other."""

    def __init__(self, client: Elasticsearch, name: str, generation: str) -> None:
        self._client = client
        self._index = loading_name(name, generation)
        self._bulk = Bulk(client, self._index)

    def make(self) -> None:
        """Create the index unless it is there: any loader may be the first."""
        patient = self._client.options(request_timeout=ADMIN_SECONDS)
        with server_errors(self._client):
            if not patient.indices.exists(index=self._index):
                create = patient.options(ignore_status=400).indices.create
                create(index=self._index, settings=SETTINGS, mappings=artifact_mapping(), wait_for_active_shards=0)
            await_shards(patient, self._index)  # another loader may have made it a moment ago

    def put(self, name: str, data: bytes) -> None:
        with server_errors(self._client):
            refused = self._bulk([Action(id, body) for id, body in chunks(name, data)])
        if refused:
            raise TreelineError(f"Elasticsearch does not take {name!r} of a load: {refused[0][1]}", "see its log")

    def read(self, name: str) -> bytes:
        found = read_artifact(self._client, self._index, name)
        if found is None:
            raise EngineUnavailable(f"{name!r} of a load in parts is not in {self._index}", "start that part again")
        return found

    def put_progress(self, part: int, progress: Mapping[str, Any]) -> None:
        self.put(str(part), orjson.dumps(progress))

    def progress(self, part: int) -> dict[str, Any]:
        """What is known of a part; empty when it has not got far enough to be resumed."""
        found = read_artifact(self._client, self._index, str(part))
        return orjson.loads(found) if found else {}

    def missing(self, parts: int) -> tuple[int, ...]:
        """The parts that are not complete."""
        return tuple(number for number in range(1, parts + 1) if not self.progress(number).get("complete"))

    def remove(self) -> None:
        """Delete the index once the generation is published; otherwise it is deleted with the generation."""
        with suppress(ApiError, TransportError):
            self._client.indices.delete(index=self._index, ignore_unavailable=True)

    def close(self) -> None:
        self._bulk.close()


class _Ordered(ElasticsearchEngine):
    """A generation whose addresses are known, in the order in which one loader alone would have written them."""

    def __init__(
        self,
        client: Elasticsearch,
        name: str,
        generation: str,
        meta: Mapping[str, Any],
        known: Sequence[tuple[str, Address]],
    ) -> None:
        super().__init__(client, name, generation, meta)
        self._known = known

    def addresses(self) -> Iterator[tuple[str, Address]]:
        return iter(self._known)


def describe(client: Elasticsearch, name: str, generation: str, parts: int) -> str:
    """How far the loaders of an unfinished generation are: `1 complete, 2 loading, 3 not running`."""
    notes = Notes(client, name, generation)
    states = []
    with server_errors(client):
        for number in range(1, parts + 1):
            done = notes.progress(number).get("complete")
            state = "complete" if done else "loading" if is_held(client, name, number) else "not running"
            states.append(f"{number} {state}")
    notes.close()
    return ", ".join(states)


def unfinished(metas: Mapping[str, Mapping[str, Any]], current: str) -> tuple[str, Mapping[str, Any]] | None:
    """The generation that several loaders have begun and not published, and what it says of itself."""
    for generation, meta in metas.items():
        own = meta.get("generation") == generation and meta.get("parts")
        if own and generation > current and not meta.get(ROLLED_BACK):
            return generation, meta
    return None


def refusal(name: str, generation: str, meta: Mapping[str, Any], states: str) -> InputError:
    """The error for a load of another plan."""
    return InputError(
        f"{meta['parts']} loaders of another plan fill generation {generation} of the index {name!r} ({states})",
        "finish them with the sources and options that they were started with, or give them up: "
        f"`treeline status --engine elasticsearch --name {name} --give-up`",
    )
