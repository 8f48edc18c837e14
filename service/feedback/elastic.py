"""Feedback in an Elasticsearch index, for services on more than one machine."""

from __future__ import annotations

import logging
import secrets
from hashlib import blake2b
from random import random
from time import sleep
from typing import Any

from elasticsearch import ApiError, ConflictError, Elasticsearch, NotFoundError, TransportError

from treeline.corpus.errors import EngineUnavailable
from treeline.engine.elasticsearch.client import connect
from treeline.engine.names import internal_name
from treeline.search.feedback import COLUMNS, SIMILAR_FROM, Signal, Votes, question_terms, similarity
from treeline.search.settings import Settings, cluster
from treeline.service.feedback import SALT_BYTES, pseudonym

log = logging.getLogger(__name__)

ATTEMPTS = 12  # for a count that several clients change at once
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.5  # seconds between the attempts, doubling
MOST_VOTES = 500  # rows looked at for one search
READ_SECONDS = 0.3  # a search waits no longer for feedback
WRITE_SECONDS = 5.0
NOT_YET = "no_shard_available"  # the error of an index that another client is just creating
MAPPINGS: dict[str, Any] = {
    "dynamic": "strict",
    "properties": {
        "terms": {"type": "keyword"},
        "size": {"type": "integer"},
        "function": {"type": "keyword"},
        "ups": {"type": "integer"},
        "downs": {"type": "integer"},
        "opens": {"type": "integer"},
        "voters": {"type": "object", "enabled": False},  # pseudonym and signal → count
    },
}
STRICT = "strict_dynamic_mapping"  # the error of an index made before it had a field
SALT = "salt"  # the id of the salt's document


class ElasticsearchFeedback:
    """One document per (query, unit), counted by compare-and-set, so no scripting module is needed."""

    def __init__(self, client: Elasticsearch, index: str, read_seconds: float = READ_SECONDS) -> None:
        self._client = client
        self._index = index
        self._read_seconds = read_seconds
        self._known_salt = b""

    @classmethod
    def from_settings(cls, settings: Settings) -> ElasticsearchFeedback:
        client = connect(**cluster(settings))
        return cls(client, internal_name(f"feedback-{settings.index}"))

    def record(
        self, question: str, function: str, signal: Signal, amount: int = 1, voter: str = "", most: int = 0
    ) -> None:
        words = list(question_terms(question))
        key = blake2b("\0".join([*words, "", function]).encode(), digest_size=16).hexdigest()
        try:
            who = f"{pseudonym(self._salt(), voter, words, function)} {signal}" if voter else ""
            for attempt in range(ATTEMPTS):
                if self._count(key, words, function, COLUMNS[signal], amount, who, most):
                    return
                sleep(random() * min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE))  # random, or all clients retry in step
        except (ApiError, TransportError) as error:
            raise EngineUnavailable(f"feedback could not be kept: {error}", "try again") from error
        raise EngineUnavailable("feedback could not be kept: too many at once", "try again")

    def _salt(self) -> bytes:
        """The salt of the pseudonyms, made with the first vote."""
        if not self._known_salt:
            client = self._client.options(request_timeout=WRITE_SECONDS)
            fresh = {"terms": [secrets.token_hex(SALT_BYTES)], "size": 0, "function": SALT}
            try:
                client.index(index=self._index, id=SALT, document=fresh, op_type="create", refresh="wait_for")
            except ConflictError:
                pass
            except NotFoundError:
                self._create()
                return self._salt()
            reply = client.get(index=self._index, id=SALT)
            self._known_salt = bytes.fromhex(reply["_source"]["terms"][0])
        return self._known_salt

    def _count(self, key: str, words: list[str], function: str, column: str, amount: int, who: str, most: int) -> bool:
        """Read, change, and write if unchanged in between; returns whether it was written."""
        # No retry after a time-out: the write may have succeeded, and would be counted twice.
        client = self._client.options(request_timeout=WRITE_SECONDS, retry_on_timeout=False)
        fresh = {"terms": words, "size": len(words), "function": function, "ups": 0, "downs": 0, "opens": 0}
        try:
            current = client.get(index=self._index, id=key)
            row = dict(current["_source"])
            guard: dict[str, Any] = {"if_seq_no": current["_seq_no"], "if_primary_term": current["_primary_term"]}
        except NotFoundError as error:
            if "index_not_found" in str(error):
                self._create()
            row, guard = fresh, {"op_type": "create"}
        except ApiError as error:
            if NOT_YET in str(error):
                return False
            raise
        if who:
            own = row.setdefault("voters", {})
            before = own.get(who, 0)
            own[who] = max(0, min(most, before + amount))
            amount = own[who] - before
        row[column] = max(0, row[column] + amount)
        try:
            client.index(index=self._index, id=key, document=row, refresh="wait_for", **guard)
        except ConflictError:
            return False
        except ApiError as error:
            if STRICT not in str(error):
                raise
            client.indices.put_mapping(index=self._index, properties=MAPPINGS["properties"])
            return False
        return True

    def _create(self) -> None:
        settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": True}
        self._client.options(ignore_status=400).indices.create(index=self._index, mappings=MAPPINGS, settings=settings)

    def votes(self, question: str) -> list[Votes]:
        words = question_terms(question)
        if not words:
            return []
        ours = frozenset(words)
        query = {
            "bool": {
                "should": [{"term": {"terms": word}} for word in words],
                "minimum_should_match": max(1, int(len(words) * SIMILAR_FROM)),
                "filter": [{"range": {"size": {"lte": int(len(words) / SIMILAR_FROM)}}}],
            }
        }
        client = self._client.options(request_timeout=self._read_seconds, max_retries=0)
        try:
            answer = client.search(index=self._index, query=query, size=MOST_VOTES, ignore_unavailable=True)
        except (ApiError, TransportError) as error:
            log.warning("searching without feedback: %s", error)
            return []
        rows: list[Votes] = []
        for hit in answer["hits"]["hits"]:
            row = hit["_source"]
            jaccard = similarity(ours, frozenset(row["terms"]))
            if jaccard >= SIMILAR_FROM:
                rows.append(Votes(row["function"], row["ups"], row["downs"], row["opens"], jaccard))
        return sorted(rows, key=lambda votes: (-votes.similarity, votes.function))
