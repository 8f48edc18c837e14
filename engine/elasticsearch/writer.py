"""The next generation of an index on Elasticsearch in the making: a versioned index that the alias is flipped to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Self

import orjson
from elasticsearch import ApiError, BadRequestError, Elasticsearch, TransportError

from treeline.corpus.errors import TreelineError
from treeline.corpus.function import Function
from treeline.engine.elasticsearch.bulk import Action, Bulk
from treeline.engine.elasticsearch.client import (
    ADMIN_SECONDS,
    await_copies,
    await_shards,
    patiently,
    reason,
    server_errors,
)
from treeline.engine.elasticsearch.engine import PAGE, ElasticsearchEngine, whole_answer
from treeline.engine.elasticsearch.lease import Lease
from treeline.engine.elasticsearch.mapping import (
    UNITS,
    chunks,
    document,
    info_of,
    mapping,
    vector_fields,
    whole_numbers,
)
from treeline.engine.elasticsearch.preview import Preview, Row, WriteLog
from treeline.engine.hits import Vectors
from treeline.engine.names import ALL_CURRENT, alias_name, index_name, parse_index_name
from treeline.engine.protocol import EncoderSpec, IndexInfo, new_token

CHECKPOINT = "checkpoint"
NEVER = "-1"
ALREADY_THERE = "resource_already_exists_exception"
MOST_SEGMENTS = 4  # a load of 360,000 functions leaves forty


class ElasticsearchWriter:
    """See `treeline.engine.protocol.Writer`."""

    def __init__(
        self,
        client: Elasticsearch,
        name: str,
        generation: str,
        base: tuple[str, Mapping[str, Any]] | None,
        partial: Mapping[str, Any] | None,
        plan: Mapping[str, Any],
        lease: Lease,
        shards: int = 1,
    ) -> None:
        self._client = client.options(request_timeout=ADMIN_SECONDS)
        self._name = name
        self._generation = generation
        self._index = index_name(name, generation)
        self._lease: Lease | None = lease
        self._shards = shards
        self._bulk = Bulk(client, self._index)
        self.rejected: list[tuple[str, str]] = []
        self.resumed: bytes | None = None
        self._ids: set[bytes] = set()
        self._log = WriteLog()
        with server_errors(self._client):
            if partial is None:
                self._meta = self._start(base, plan)
            else:
                self._meta = dict(partial)
                self._resume()
        self._encoders = [(EncoderSpec(encoder, size), number) for encoder, size, number in self._meta["encoders"]]
        self._next_serial: int = self._meta["next_serial"]
        self._functions: int = self._meta["functions"]
        self._has_more_than_written = self._functions > 0

    def write(self, functions: Sequence[Function], terms: Sequence[str], vectors: Mapping[str, Vectors]) -> int:
        self._check_lease()
        rows = {number: self._rows_of(encoder, vectors, len(functions)) for encoder, number in self._encoders}
        there = self._there([function.id for function in functions])
        actions: dict[str, Action] = {}
        entries: dict[str, tuple[Function, Row]] = {}
        first = self._encoders[0][1] if self._encoders else -1
        for at, (function, function_terms) in enumerate(zip(functions, terms, strict=True)):
            vector = {number: vector_rows[at] for number, vector_rows in rows.items()}
            try:
                fields = document(self._next_serial, function, function_terms, vector)
                body = orjson.dumps(fields, option=orjson.OPT_SERIALIZE_NUMPY)
            except orjson.JSONEncodeError as error:
                self.rejected.append((function.id, f"not valid Unicode: {error}"))
                continue
            actions[function.id] = Action(function.id, body)  # the last of two with one id wins
            entries[function.id] = (function, vector.get(first))
            self._next_serial += 1
        rejections = self._do(list(actions.values()))
        self.rejected.extend(rejections)
        ids = actions.keys() - {id for id, _ in rejections}
        new = len(ids - there)
        self._ids.update(bytes.fromhex(id) for id in ids)
        for id, (function, row) in entries.items():
            if id in ids:
                self._log.add(function, row)
        self._functions += new
        return new

    def delete(self, ids: Sequence[str]) -> int:
        self._check_lease()
        there = self._there(ids)
        rejections = self._do([Action(id, None) for id in there])
        if rejections:
            raise TreelineError(f"Elasticsearch does not delete {rejections[0][0]}: {rejections[0][1]}", "see its log")
        self._ids.difference_update(bytes.fromhex(id) for id in there)
        for id in there:
            self._log.discard(id)
        self._functions -= len(there)
        return len(there)

    def delete_repo(self, repo: str) -> int:
        query = {"bool": {"filter": [{"term": {"repo": repo}}, UNITS]}}
        return sum(map(self.delete, self._pages(query)))

    def preview(self) -> ElasticsearchEngine:
        with server_errors(self._client):
            patiently(lambda: self._client.indices.refresh(index=self._index))
        meta = {**self._meta, "functions": self._functions}
        return Preview(self._client, self._name, self._generation, meta, self._log)

    def put_artifact(self, name: str, data: bytes) -> None:
        self._check_lease()
        rejections = self._do([Action(id, body) for id, body in chunks(name, data)])
        if rejections:
            raise TreelineError(f"Elasticsearch does not take the artifact {name!r}: {rejections[0][1]}", "see its log")

    def checkpoint(self, state: bytes) -> None:
        # Two places in turn: the one that the mapping points to stays whole while the other is written.
        slot = f"{CHECKPOINT}-{'b' if self._meta.get('checkpoint', '').endswith('-a') else 'a'}"
        self.put_artifact(slot, state)
        self._meta |= {
            "checkpoint": slot,
            "next_serial": self._next_serial,
            "functions": self._functions,
            "rejected": self.rejected,
        }
        with server_errors(self._client):
            patiently(lambda: self._client.indices.put_mapping(index=self._index, meta={"treeline": self._meta}))

    def publish(self) -> IndexInfo:
        self._check_lease()
        with server_errors(self._client):
            patiently(self._publish)
        self._tidy_up()
        self._close()
        return info_of(self._name, self._generation, self._meta)

    def abandon(self) -> None:
        with server_errors(self._client):
            self._client.indices.delete(index=self._index, ignore_unavailable=True)
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()

    def _start(self, base: tuple[str, Mapping[str, Any]] | None, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Make the index, empty or as a clone of the base; its metadata. Fails if there is one of this number."""
        generation, before = base or ("", {})
        encoders = _with_fields(plan["encoders"], before.get("encoders", ()))
        meta: dict[str, Any] = {
            **plan,
            "generation": self._generation,
            "complete": False,
            "functions": before.get("functions", 0),
            "next_serial": before.get("next_serial", 0),
            "encoders": [(encoder.name, encoder.dimension, number) for encoder, number in encoders],
        }
        if generation:
            patiently(lambda: self._clone(index_name(self._name, generation)))
            fields, document = vector_fields(encoders), {"treeline": meta}
            patiently(lambda: self._client.indices.put_mapping(index=self._index, properties=fields, meta=document))
        else:
            settings = {"number_of_shards": self._shards, "auto_expand_replicas": "0-1", "refresh_interval": NEVER}
            self._client.indices.create(
                index=self._index, settings=settings, mappings=mapping(encoders, meta), wait_for_active_shards=0
            )
            await_shards(self._client, self._index, self._shards)
        return meta

    def _clone(self, base: str) -> None:
        settings = {"index.blocks.write": None, "index.refresh_interval": NEVER}
        try:
            self._client.indices.clone(index=base, target=self._index, settings=settings, wait_for_active_shards=0)
        except BadRequestError as error:
            # An answer was lost, and this is the second time: only the holder of the lease makes this generation.
            if ALREADY_THERE not in reason(error):
                raise
        await_shards(self._client, self._index, self._client.cluster.health(index=base)["active_primary_shards"])
        await_copies(self._client, self._index)

    def _publish(self) -> None:
        """Check the count and move the alias; all of it may be done twice."""
        self._client.indices.refresh(index=self._index)
        count = self._count()
        if count != self._functions:
            raise TreelineError(
                f"the new generation of {self._name!r} does not add up: {self._functions} units written, "
                f"{count} in {self._index}",
                "the alias stays where it was; index again with a fresh start",
            )
        self._meta |= {
            "complete": True,
            "functions": count,
            "next_serial": self._next_serial,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "token": new_token(),
            "checkpoint": "",
            "rejected": [],
        }
        graphs, document = vector_fields(self._encoders), {"treeline": self._meta}
        self._client.indices.put_mapping(index=self._index, properties=graphs, meta=document)
        # A published generation never changes; this is also what lets the next one begin as its clone.
        self._client.indices.put_settings(index=self._index, settings={"refresh_interval": None, "blocks.write": True})
        self._check_base()
        flip_alias(self._client, self._name, self._index)

    def _count(self) -> int:
        query = {"bool": {"filter": [UNITS]}}
        answer = whole_answer(self._client, self._index, query=query, size=0, track_total_hits=True)
        return int(answer["hits"]["total"]["value"])

    def _resume(self) -> None:
        """Back to the last checkpoint: what was written after it is taken out again."""
        engine = ElasticsearchEngine(self._client, self._name, self._generation, self._meta)
        self.resumed = engine.artifact(self._meta["checkpoint"])
        self.rejected = [(id, reason) for id, reason in self._meta["rejected"]]
        for ids in self._pages({"range": {"serial": {"gte": self._meta["next_serial"]}}}):
            self._do([Action(id, None) for id in ids])
        # Replacing a function after the checkpoint took away its older version; it is counted as it now stands.
        self._meta["functions"] = engine.count()

    def _pages(self, query: Mapping[str, Any]) -> Iterator[list[str]]:
        """The ids of what matches, page by page; the caller deletes each, so that the next one comes first."""
        while True:
            with server_errors(self._client):
                self._client.indices.refresh(index=self._index)
                answer = whole_answer(self._client, self._index, query=query, size=PAGE, source=False)
            ids = [hit["_id"] for hit in answer["hits"]["hits"]]
            if not ids:
                return
            yield ids

    def _check_base(self) -> None:
        """Refuse to publish what was built on a generation that is no longer current."""
        base = self._meta.get("base")
        if not base:
            return
        current = self._client.indices.get_alias(name=alias_name(self._name))
        if index_name(self._name, base) not in current and self._index not in current:
            raise TreelineError(
                f"the index {self._name!r} was rolled back or replaced while it was being written",
                "nothing was published; run the command again",
            )

    def _tidy_up(self) -> None:
        """Leave the server to merge in its own time what it never would by itself: a search asks every segment.

        A new index gets one segment, so that all its vectors get into a graph: they have none before.
        """
        merges: list[dict[str, Any]] = [{"max_num_segments": 1}]
        if self._meta.get("base"):  # deleted units count in BM25 until their segment is merged
            merges = [{"only_expunge_deletes": True}, {"max_num_segments": MOST_SEGMENTS}]
        with suppress(ApiError, TransportError):  # the index is complete without it
            for one in merges:
                self._client.indices.forcemerge(index=self._index, wait_for_completion=False, **one)

    def _rows_of(self, encoder: EncoderSpec, vectors: Mapping[str, Vectors], count: int) -> Sequence[Any]:
        rows = vectors.get(encoder.name)
        if rows is None:
            return [None] * count
        encoder.check(rows, count)
        return whole_numbers(rows)

    def _there(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that this generation has already.

        Asked before writing: after a repeated request the server cannot tell whether a document was new.
        """
        there = {id for id in ids if bytes.fromhex(id) in self._ids}
        unknown = [id for id in dict.fromkeys(ids) if id not in there]
        if not self._has_more_than_written or not unknown:
            return there
        with server_errors(self._client):
            rows = patiently(lambda: self._rows_by_id(unknown))
        return there | {row["_id"] for row in rows if row["found"]}

    def _rows_by_id(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """A row for each id. Raises if a shard is on no node: its rows do not say whether they were found."""
        answer = self._client.mget(index=self._index, ids=ids, source=False)
        rows: list[dict[str, Any]] = answer["docs"]
        if errors := [row["error"] for row in rows if "error" in row]:
            raise TransportError(f"a shard is on no node: {errors[0].get('reason')}")
        return rows

    def _do(self, actions: Sequence[Action]) -> list[tuple[str, str]]:
        with server_errors(self._client):
            return self._bulk(actions)

    def _check_lease(self) -> None:
        if self._lease is not None:
            self._lease.check()

    def _close(self) -> None:
        if self._lease is not None:
            self._bulk.close()
            self._log.close()
            self._lease.release()
            self._lease = None


def flip_alias(client: Elasticsearch, name: str, index: str) -> None:
    """Point the alias to this index and to no other, in one step; the alias of all current ones follows."""
    alias = alias_name(name)
    together = client.options(ignore_status=404).indices.get_alias(name=ALL_CURRENT)
    before = [one for one in together if (parse_index_name(one) or ("",))[0] == name]
    actions: list[dict[str, Any]] = [
        {"remove": {"index": f"{alias}-*", "alias": alias, "must_exist": False}},
        *({"remove": {"index": one, "alias": ALL_CURRENT, "must_exist": False}} for one in before),
        {"add": {"index": index, "alias": alias}},
        {"add": {"index": index, "alias": ALL_CURRENT}},
    ]
    client.indices.update_aliases(actions=actions)


def _with_fields(specs: Sequence[Sequence[Any]], base: Sequence[Sequence[Any]]) -> list[tuple[EncoderSpec, int]]:
    """Each encoder with the field it has in the base, or with a new one."""
    numbers = {(name, size): number for name, size, number in base}
    for name, size in specs:
        numbers.setdefault((name, size), max(numbers.values(), default=-1) + 1)
    return [(EncoderSpec(name, size), numbers[name, size]) for name, size in specs]
