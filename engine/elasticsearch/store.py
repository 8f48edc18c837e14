"""Indexes on an Elasticsearch cluster: one versioned index a generation, an alias on the current one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from elasticsearch import Elasticsearch, NotFoundError

from treeline.corpus.errors import IndexMissing, IndexOutdated
from treeline.engine.elasticsearch.client import ADMIN_SECONDS, addresses, await_shards, connect, server_errors
from treeline.engine.elasticsearch.engine import ElasticsearchEngine, read_artifact
from treeline.engine.elasticsearch.lease import Lease
from treeline.engine.elasticsearch.mapping import FORMAT, ROLLED_BACK, info_of
from treeline.engine.elasticsearch.writer import ElasticsearchWriter, flip_alias
from treeline.engine.names import alias_name, check_name, index_name, newest_before, parse_index_name, prunable
from treeline.engine.protocol import EncoderSpec, IndexInfo

log = logging.getLogger(__name__)


class ElasticsearchStore:
    """See `treeline.engine.protocol.Store`. Nothing is sent before something is asked for."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        user: str = "",
        password: str = "",
        api_key: str = "",
        ca: str = "",
        shards: int = 1,
    ) -> None:
        self._client = connect(urls, user=user, password=password, api_key=api_key, ca=ca)
        self._shards = shards
        self._admin = self._client.options(request_timeout=ADMIN_SECONDS)

    @property
    def client(self) -> Elasticsearch:
        """For what an operator asks of a cluster and a store does not: its health and version."""
        return self._client

    def close(self) -> None:
        self._client.close()

    def names(self) -> list[str]:
        with server_errors(self._client):
            aliases = self._client.indices.get_alias(name=f"{alias_name('*')}")
        current = filter(None, (parse_index_name(index) for index, entry in aliases.items() if entry["aliases"]))
        return sorted({name for name, _ in current})

    def open(self, name: str, generation: str = "") -> ElasticsearchEngine:
        where = (generation, self._metas(name)[generation]) if generation else self._current(name)
        return ElasticsearchEngine(self._client, name, *where)

    def begin(
        self, name: str, encoders: Sequence[EncoderSpec], fingerprint: str, *, fresh: bool = False, base: str = ""
    ) -> ElasticsearchWriter:
        lease = Lease(self._client, check_name(name))
        try:
            return self._begin(name, encoders, fingerprint, fresh, base, lease)
        except BaseException:
            lease.release()
            raise

    def generations(self, name: str) -> list[IndexInfo]:
        self.current(name)
        complete = self._complete(name).items()
        return [info_of(name, generation, meta) for generation, meta in complete if meta["format"] == FORMAT]

    def info(self, name: str) -> IndexInfo:
        return info_of(name, *self._current(name))

    def current(self, name: str) -> str:
        with self._missing(name):
            aliases = self._client.indices.get_alias(name=alias_name(check_name(name)))
        return max(generation for _, generation in filter(None, map(parse_index_name, aliases)))

    def artifact(self, name: str, artifact: str, generation: str = "") -> bytes | None:
        return read_artifact(self._client, index_name(name, generation or self.current(name)), artifact)

    def verify(self, name: str) -> dict[str, tuple[str, ...]]:
        """Nothing: the server checks its own files."""
        return dict.fromkeys(self._complete(name), ())

    def roll_back(self, name: str) -> IndexInfo:
        current = self.current(name)
        before = newest_before(name, current, self.generations(name))
        reject = {**self._metas(name)[current], ROLLED_BACK: True}
        with server_errors(self._client):
            # First, so that it is rejected also when this ends before the alias is moved.
            self._admin.indices.put_mapping(index=index_name(name, current), meta={"treeline": reject})
            flip_alias(self._admin, name, index_name(name, before.generation))
        return before

    def prune(self, name: str, keep: int = 2, spare: Collection[str] = ()) -> list[str]:
        complete = self._complete(name)
        rejects = [generation for generation, meta in complete.items() if meta.get(ROLLED_BACK)]
        surplus = prunable(list(complete), {self.current(name), *spare}, rejects, keep)
        for generation in surplus:
            self._delete(name, generation)
        return surplus

    def drop(self, name: str) -> None:
        self.current(name)
        lease = Lease(self._client, name)
        try:
            for generation in self._metas(name):
                self._delete(name, generation)
        finally:
            lease.release()

    def _begin(
        self, name: str, encoders: Sequence[EncoderSpec], fingerprint: str, fresh: bool, base_name: str, lease: Lease
    ) -> ElasticsearchWriter:
        metas = self._metas(name)
        live = self._current_or_none(name)
        current = "" if fresh else base_name or live
        specs = [[encoder.name, encoder.dimension] for encoder in encoders]
        plan: dict[str, Any] = {"format": FORMAT, "fingerprint": fingerprint, "base": current, "wanted": specs}
        partial = ""
        for generation, meta in metas.items():
            if _is_complete(generation, meta):
                # A load that died before it moved the alias leaves a generation that was never current.
                is_waste = live and generation > live and not meta.get(ROLLED_BACK)
            else:
                is_same = meta.get("checkpoint") and all(meta.get(key) == value for key, value in plan.items())
                is_waste = not (is_same and self._has_all_shards(name, generation))
                partial = partial if is_waste else generation
            if is_waste:
                self._delete(name, generation)
        generation = partial or f"{max(map(int, metas), default=0) + 1:06d}"
        base = (current, metas[current]) if current and not partial else None
        plan["encoders"] = specs
        return ElasticsearchWriter(self._client, name, generation, base, metas.get(partial), plan, lease, self._shards)

    def _has_all_shards(self, name: str, generation: str) -> bool:
        index = index_name(name, generation)
        with server_errors(self._client):
            settings = self._admin.indices.get_settings(index=index)[index]["settings"]
            has_all = await_shards(self._admin, index, int(settings["index"]["number_of_shards"]))
        if not has_all:
            log.warning("generation %s of %s is begun again: nodes with parts of it are gone", generation, name)
        return has_all

    def _delete(self, name: str, generation: str) -> None:
        with server_errors(self._client):
            self._admin.indices.delete(index=index_name(name, generation))

    def _current_or_none(self, name: str) -> str:
        try:
            return self.current(name)
        except IndexMissing:
            return ""

    def _current(self, name: str) -> tuple[str, Mapping[str, Any]]:
        """The current generation and what it says of itself, in one request."""
        with self._missing(name):
            mappings = self._client.indices.get_mapping(index=alias_name(check_name(name)))
        index = max(mappings)
        parts, meta = parse_index_name(index), mappings[index]["mappings"].get("_meta", {}).get("treeline")
        if parts is None or meta is None:
            raise IndexMissing(f"{index} was not made by Treeline", "index under another name")
        if meta["format"] != FORMAT:
            raise IndexOutdated(index, meta["format"], FORMAT)
        return parts[1], meta

    @contextmanager
    def _missing(self, name: str) -> Iterator[None]:
        """Turns a missing alias into `IndexMissing`."""
        try:
            with server_errors(self._client, missing=False):
                yield
        except NotFoundError:
            raise IndexMissing(
                f"there is no index {name!r} on {addresses(self._client)}",
                f"make one with `treeline index SOURCE --engine elasticsearch --name {name}`",
            ) from None

    def _metas(self, name: str) -> dict[str, Mapping[str, Any]]:
        """The metadata of every generation of an index, newest first."""
        with server_errors(self._client):
            mappings = self._client.indices.get_mapping(
                index=index_name(check_name(name), "*"), expand_wildcards="open"
            )
        metas = {}
        for index, entry in mappings.items():
            owner, generation = parse_index_name(index) or ("", "")
            meta = entry["mappings"].get("_meta", {}).get("treeline")
            if owner == name and meta is not None:
                metas[generation] = meta
        return dict(sorted(metas.items(), reverse=True))

    def _complete(self, name: str) -> dict[str, Mapping[str, Any]]:
        return {generation: meta for generation, meta in self._metas(name).items() if _is_complete(generation, meta)}


def _is_complete(generation: str, meta: Mapping[str, Any]) -> bool:
    """A clone begins with its original's word of being complete; only its own counts."""
    return bool(meta.get("complete")) and meta.get("generation") == generation
