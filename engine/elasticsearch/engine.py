"""One generation of an index on Elasticsearch, for reading."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from elasticsearch import ConnectionTimeout, Elasticsearch, NotFoundError

from treeline.corpus.analysis import MARK, OF_FILE
from treeline.corpus.errors import EngineUnavailable
from treeline.corpus.function import Address, Function
from treeline.engine.elasticsearch.client import addresses, server_errors
from treeline.engine.elasticsearch.columns import Columns, FetchedColumns
from treeline.engine.elasticsearch.mapping import (
    ADDRESS_FIELDS,
    ARTIFACT,
    CHUNK_BYTES,
    ID,
    UNITS,
    address_of,
    clauses,
    function_of,
    info_of,
    too_long,
    words,
)
from treeline.engine.hits import Hit, Hits, Vectors, normalize
from treeline.engine.names import index_name
from treeline.engine.protocol import NO_FILTERS, Filters
from treeline.engine.text import MOST_NEIGHBOURS, MOST_TERMS, SHAPES, TERMS, WHOLE, WORDS, Matcher, casings

PAGE = 1_000
SCAN_PAGE = 200  # whole records
MOST_HITS = 10_000  # the server's own limit
FUZZINESS = "AUTO:3,99"  # one edit from three letters on, as in the embedded engine
# Candidates looked at beyond k: the int8 graph is approximate, and the best of them are scored again exactly. Of the
# true 300, .993 to .997 are found; 3 and 2.0 found .997 to .998 and took half as long again.
CANDIDATES_PER_RESULT = 2
FEWEST_CANDIDATES = 200
OVERSAMPLE = 1.5
MOST_FACETS = 10_000
BODIES_CACHED = 2_000  # units, some 17 MB; what is shown once is often shown again, and costs a round trip
TEXT_FIELDS = ("func_name", "docstring", "code")  # text as it is, by the `standard` analyser
EXACT_SECONDS = 2.0  # the server's time included
EXACT_PAGE = 100  # candidates read at once
SHORTEST_WILDCARD = 3  # letters; fewer are in most words
SEVERAL_WORDS = 3  # are looked for as a phrase, which needs no wildcard
FEW_CANDIDATES = 30  # are read at once where the words within a phrase stand in so few units
MOST_ENDINGS = 1_000  # of the last word of a phrase
PARTS_UP_TO = 50_000  # units: more have so many words that going through all of them takes a second
PLAIN_WORD = re.compile(r"[a-z0-9]+")
WILDCARDS = re.compile(r"[*?\\]")
TEXTS = ["original_string", "code", "docstring", "func_name"]
# The serial alone, from a column: unpacking a record takes longer than finding it.
SERIALS: dict[str, Any] = {"source": False, "stored_fields": "_none_", "docvalue_fields": ["serial"]}
ID_LENGTH = 32
# Documents by their ids come within milliseconds: a node that takes this long hangs, and another one is asked.
HANGING_SECONDS = 2.0
# Ids; a search asks for fewer. A page full of vectors is 3 MB, and a loader waits for it as long as it takes.
FEW = 500


class ElasticsearchEngine:
    """See `treeline.engine.protocol.Engine`. Bound to its generation's own index, not to the alias."""

    def __init__(self, client: Elasticsearch, name: str, generation: str, meta: Mapping[str, Any]) -> None:
        self._client = client
        self._hasty = client.options(request_timeout=HANGING_SECONDS)
        self._index = index_name(name, generation)
        self.info = info_of(name, generation, meta)
        self.damaged: tuple[str, ...] = ()  # the server checks its own files
        self._fields = [f"vector{number}" for _, _, number in meta["encoders"]]  # in the order of the encoders
        remote = FetchedColumns(self._entries_of)
        complete = bool(meta.get("complete")) and meta.get("generation") == generation
        identity = f"{addresses(client)} {self.info.identity}" if complete else ""
        self._columns = Columns(name, identity, remote, self._all_entries)
        self._bodies: dict[str, Function] | None = {} if complete else None  # a published generation never changes

    def keyword(self, terms: Sequence[str], k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        return self._hits(_term_matches(terms), k, filters) if terms else []

    def fuzzy(self, text: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        query = " ".join(words(text).split()[:MOST_TERMS])
        match = {"match": {WORDS: {"query": query, "fuzziness": FUZZINESS}}}
        return self._hits([match], k, filters) if query else []

    def as_written(self, text: str, k: int, filters: Filters = NO_FILTERS, *, fuzziness: int = 0) -> Sequence[Hit]:
        query = " ".join(text.split()[:MOST_TERMS])
        match: dict[str, Any] = {"query": query, "fields": list(TEXT_FIELDS), "type": "most_fields"}
        if fuzziness:
            match["fuzziness"] = FUZZINESS
        return self._hits([{"multi_match": match}], k, filters) if query else []

    def spellings(self, word: str) -> dict[str, int]:
        near = {"field": WORDS, "suggest_mode": "always", "max_edits": 1, "prefix_length": 1, "min_word_length": 3}
        suggest = {"near": {"text": word, "term": {**near, "size": MOST_NEIGHBOURS, "sort": "frequency"}}}
        own = {"term": {WORDS: word}}
        answer = self._answer(query=own, size=0, suggest=suggest)
        neighbours = {
            option["text"]: option["freq"] for part in answer["suggest"]["near"] for option in part["options"]
        }
        return {word: answer["hits"]["total"]["value"], **neighbours}

    def named(self, name: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        return self._hits([{"term": {field: name}} for field in ("func_name.keyword", "leaf")], k, filters)

    def phrase(self, text: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        """See the protocol. In a large index one or two words are looked for inside longer ones only where they are
        nowhere whole."""
        if not text.strip() or k <= 0:
            return []
        matcher = Matcher.phrase(text, EXACT_SECONDS)
        if self.info.functions > PARTS_UP_TO and len(text.split()) < SEVERAL_WORDS:
            whole = self._exact(matcher, k, filters, exact_stages(matcher, whole_words=True))
            if whole:
                return whole
        return self._exact(matcher, k, filters, exact_stages(matcher, whole_words=False))

    def regex(self, pattern: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        matcher = Matcher.regex(pattern, EXACT_SECONDS)
        stages = exact_stages(matcher, whole_words=False)
        return self._exact(matcher, k, filters, stages) if pattern and k > 0 else []

    def knn(self, vector: Vectors, k: int, filters: Filters = NO_FILTERS, encoder: str = "") -> Sequence[Hit]:
        number = self.info.encoder_number(encoder)
        query = np.asarray(vector, dtype=np.float32).ravel()
        self.info.check_query(query, number)
        query = normalize(query[None])[0]
        if k <= 0 or not query.any():
            return []
        k = min(k, MOST_HITS)
        rows = self._search(knn=self._knn(query, k, filters, number), size=k, **SERIALS)["hits"]
        # The server's score is (1 + cosine) / 2.
        return self._hits_of(rows, [2 * hit["_score"] - 1 for hit in rows])

    def raw(self, terms: Sequence[str], vector: Vectors, k: int) -> int:
        """Both lanes' searches in one `_msearch`, for how many hits: what a hybrid search costs at least."""
        lanes = [{"query": _any_of(_term_matches(terms), NO_FILTERS)}, {"knn": self._knn(vector, k, NO_FILTERS, 0)}]
        options = {"size": k, "_source": False, "stored_fields": "_none_", "docvalue_fields": ["serial"]}
        searches = [part for lane in lanes for part in ({}, {**lane, **options, "track_total_hits": False})]
        with self._errors():
            answer = self._client.msearch(index=self._index, searches=searches)
        return sum(len(one["hits"]["hits"]) for one in answer["responses"])

    @property
    def has_addresses(self) -> bool:
        """Whether this machine has read all addresses; searches are slower until then."""
        return self._columns.are_here

    def fetch(self, ids: Sequence[str]) -> list[Function]:
        cache = self._bodies or {}
        records = {id: cache[id] for id in ids if id in cache}
        if missing := [id for id in ids if id not in records]:
            read = {hit["_id"]: function_of(hit["_source"]) for hit in self._by_ids(missing, NO_FILTERS, source=True)}
            records |= read
            if self._bodies is not None and len(read) < FEW:
                full = len(cache) + len(read) > BODIES_CACHED
                self._bodies = read if full else {**cache, **read}
        return [records[id] for id in ids if id in records]

    def locate(self, ids: Sequence[str], filters: Filters = NO_FILTERS) -> list[Hit]:
        by_id = dict(entry for _, entry in map(entry_of, self._by_ids(ids, filters, **ENTRIES)))
        return [Hit(id, 0.0, by_id[id]) for id in ids if id in by_id]

    def vectors(self, ids: Sequence[str], encoder: str = "") -> Vectors:
        number = self.info.encoder_number(encoder)
        field = self._fields[number]
        rows = np.zeros((len(ids), self.info.encoders[number].dimension), dtype=np.float32)
        by_id = {
            id_of(hit): hit["fields"][field][0]
            for hit in self._by_ids(ids, NO_FILTERS, **columns(field))
            if field in hit["fields"]
        }
        for number, id in enumerate(ids):
            if id in by_id:
                rows[number] = by_id[id]
        return normalize(rows)

    def suggest(self, prefix: str, k: int) -> list[str]:
        if too_long(prefix):
            return []
        names: dict[str, Any] = {"names": {"terms": {"field": "leaf", "size": k}}}
        own: dict[str, Any] = {"prefix": {"leaf": prefix}} if prefix else UNITS
        # The server folds the case of ASCII alone.
        ways, length = casings(prefix, ascii_too=False)
        anyhow = [{"prefix": {"leaf": {"value": way + prefix[length:], "case_insensitive": True}}} for way in ways]
        query: dict[str, Any] = {"bool": {"should": anyhow}} if prefix else own
        aggs: dict[str, dict[str, Any]] = {"own": {"filter": own, "aggs": names}, **names}
        answer = self._answer(query=query, size=0, aggs=aggs)["aggregations"]
        buckets = [*answer["own"]["names"]["buckets"], *answer["names"]["buckets"]]
        return list(dict.fromkeys(bucket["key"] for bucket in buckets))[:k]

    def count(self, filters: Filters = NO_FILTERS) -> int:
        query = {"bool": {"filter": [UNITS, *clauses(filters)]}}
        return int(self._answer(query=query, size=0, track_total_hits=True)["hits"]["total"]["value"])

    def facets(self) -> dict[str, dict[str, int]]:
        fields = ("language", "repo", "partition", "kind")
        aggs = {field: {"terms": {"field": field, "size": MOST_FACETS}} for field in fields}
        answer = self._answer(query=UNITS, size=0, aggs=aggs)["aggregations"]
        return {field: {bucket["key"]: bucket["doc_count"] for bucket in answer[field]["buckets"]} for field in fields}

    def addresses(self, filters: Filters = NO_FILTERS) -> Iterator[tuple[str, Address]]:
        return (entry for _, entry in self._all_entries(filters))

    def scan(self) -> Iterator[Function]:
        return (function_of(hit["_source"]) for hit in self._all(SCAN_PAGE, source=True))

    def artifact(self, name: str) -> bytes | None:
        return read_artifact(self._client, self._index, name)

    def artifact_part(self, name: str, start: int, length: int) -> bytes | None:
        pieces: list[bytes] = []
        for number in range(start // CHUNK_BYTES, (start + max(length, 1) - 1) // CHUNK_BYTES + 1):
            piece = read_piece(self._client, self._index, name, number)
            if piece is None:
                return None
            pieces.append(piece[0])
        begin = start % CHUNK_BYTES
        return b"".join(pieces)[begin : begin + length]

    def close(self) -> None:
        """The client belongs to the store."""

    def _knn(self, query: Vectors, k: int, filters: Filters, number: int) -> dict[str, Any]:
        return {
            "field": self._fields[number],
            "query_vector": query.tolist(),
            "k": k,
            "num_candidates": min(max(CANDIDATES_PER_RESULT * k, FEWEST_CANDIDATES), MOST_HITS),
            "rescore_vector": {"oversample": OVERSAMPLE},
            "filter": clauses(filters),
        }

    def _hits(self, should: list[dict[str, Any]], k: int, filters: Filters) -> Sequence[Hit]:
        if k <= 0 or not should:
            return []
        rows = self._search(query=_any_of(should, filters), size=min(k, MOST_HITS), **SERIALS)["hits"]
        return self._hits_of(rows, [hit["_score"] for hit in rows])

    def _hits_of(self, hits: Sequence[Mapping[str, Any]], scores: Sequence[float]) -> Hits:
        serials = np.array([hit["fields"]["serial"][0] for hit in hits], dtype=np.int64)
        return Hits(*self._columns.table_and_rows(serials), np.array(scores, dtype=np.float64))

    def _entries_of(self, serials: Sequence[int]) -> dict[int, tuple[str, Address]]:
        """Ids and addresses by serial."""
        starts = range(0, len(serials), PAGE)
        pages = (list(serials[start : start + PAGE]) for start in starts)
        hits = (self._page([{"terms": {"serial": page}}], len(page), **ENTRIES) for page in pages)
        return dict(map(entry_of, chain.from_iterable(hits)))

    def _all_entries(self, filters: Filters = NO_FILTERS) -> Iterator[tuple[int, tuple[str, Address]]]:
        return map(entry_of, self._all(PAGE, filters, **ENTRIES))

    def _exact(self, matcher: Matcher, k: int, filters: Filters, stages: Sequence[Stage]) -> Sequence[Hit]:
        """The candidates of each stage by size; each is read until k match."""
        matches: dict[int, None] = {}
        for stage in stages:
            query = {"bool": {"filter": [UNITS, *stage.filters, *clauses(filters)]}}
            size, have_all = stage.first or EXACT_PAGE, True
            for page in self._pages(query, size, matcher):
                page.sort(key=lambda hit: (*matcher.rank(hit["_source"]["func_name"], hit["sort"][0]), hit["sort"][1]))
                new = [hit for hit in page if hit["sort"][1] not in matches]
                matches.update((hit["sort"][1], None) for hit in matcher.first(new, texts_of, k - len(matches)))
                have_all = len(page) < size
                if stage.first or len(matches) >= k or matcher.timed_out:
                    break
            if (stage.first and have_all) or len(matches) >= k or matcher.timed_out:
                break
        serials = np.array(list(matches), dtype=np.int64)
        scores = np.arange(len(serials), 0.0, -1.0)
        return Hits(*self._columns.table_and_rows(serials), scores, complete=not matcher.timed_out)

    def _pages(self, query: Mapping[str, Any], size: int, matcher: Matcher) -> Iterator[list[dict[str, Any]]]:
        """Candidates with their texts, short ones first."""
        after: dict[str, Any] = {}
        while not matcher.out_of_time:
            page = self._search(
                query=query, size=size, sort=[{"size": "asc"}, {"serial": "asc"}], source_includes=TEXTS, **after
            )["hits"]
            yield page
            if len(page) < size:
                return
            after = {"search_after": page[-1]["sort"]}

    def _by_ids(self, ids: Sequence[str], filters: Filters, **options: Any) -> Iterator[dict[str, Any]]:
        distinct = [id for id in dict.fromkeys(ids) if len(id) == ID_LENGTH]
        for start in range(0, len(distinct), PAGE):
            page = distinct[start : start + PAGE]
            yield from self._page([{"ids": {"values": page}}, UNITS, *clauses(filters)], len(page), **options)

    def _page(self, filters: list[dict[str, Any]], size: int, **options: Any) -> list[dict[str, Any]]:
        search = self._search_soon if size < FEW else self._search
        hits: list[dict[str, Any]] = search(query={"bool": {"filter": filters}}, size=size, **options)["hits"]
        return hits

    def _all(self, page: int, filters: Filters = NO_FILTERS, **options: Any) -> Iterator[dict[str, Any]]:
        """Functions that pass in order of writing; a published generation does not change, so pages fit together."""
        query = {"bool": {"filter": [UNITS, *clauses(filters)]}}
        after: dict[str, Any] = {}
        while True:
            rows = self._search(query=query, size=page, sort=[{"serial": "asc"}], **options, **after)["hits"]
            yield from rows
            if len(rows) < page:
                return
            after = {"search_after": rows[-1]["sort"]}

    def _search_soon(self, **request: Any) -> Any:
        """Another node is asked where one hangs, and given its time: the cluster may be no more than busy."""
        with self._errors(), suppress(ConnectionTimeout):
            return whole_answer(self._hasty, self._index, track_total_hits=False, **request)["hits"]
        return self._search(**request)

    def _search(self, **request: Any) -> Any:
        return self._answer(track_total_hits=False, **request)["hits"]

    def _answer(self, **request: Any) -> Any:
        with self._errors():
            return whole_answer(self._client, self._index, **request)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with server_errors(self._client, missing=False):
                yield
        except NotFoundError as error:
            raise EngineUnavailable(
                f"generation {self.info.generation} of the index {self.info.name!r} is no longer there",
                "open the current one",
            ) from error


def _term_matches(terms: Sequence[str]) -> list[dict[str, Any]]:
    """A clause for each field that has some of the terms."""
    by_field: dict[str, list[str]] = {}
    for term in terms[:MOST_TERMS]:
        field = {MARK: SHAPES, OF_FILE: WHOLE}.get(term[:1], TERMS)
        by_field.setdefault(field, []).append(term.removeprefix(OF_FILE))
    return [{"match": {field: " ".join(some)}} for field, some in by_field.items()]


def _any_of(should: list[dict[str, Any]], filters: Filters) -> dict[str, Any]:
    return {"bool": {"should": should, "minimum_should_match": 1, "filter": clauses(filters)}}


def whole_answer(client: Elasticsearch, index: str, **request: Any) -> Any:
    """Of every shard: where one is on no node, the server would answer with the others' as if that were all."""
    return client.search(index=index, allow_partial_search_results=False, **request)


def columns(*fields: str) -> dict[str, Any]:
    """Asks for the id and these columns of each hit; unpacking its record would take longer than finding it."""
    return {"source": False, "stored_fields": "_none_", "docvalue_fields": [ID, *fields]}


def texts_of(hit: Mapping[str, Any]) -> tuple[str, str]:
    """A unit as written, and its docstring."""
    source = hit["_source"]
    return source.get("original_string", source["code"]), source.get("docstring", "")


class Stage(NamedTuple):
    """Filters for the candidates of an exact search. With `first` they let every match pass, and only so many are read:
    if there are no more, the search ends."""

    filters: list[dict[str, Any]]
    first: int = 0


def exact_stages(matcher: Matcher, *, whole_words: bool) -> list[Stage]:
    """Stage by stage: the best candidates come first.

    The first and the last word of the text may be parts of longer ones, unless `whole_words`. Looking for parts goes
    through the whole dictionary of words, which takes most of the time; few units have the words between in order.
    """
    filters: list[dict[str, Any]] = []
    inner: list[dict[str, Any]] = []
    for literal in matcher.literals:
        parts = literal.split()
        several = len(parts) >= SEVERAL_WORDS
        middle = [_in_order(parts[1:-1], "phrase")] if len(parts) > SEVERAL_WORDS else []
        if several and len(parts[-1]) >= SHORTEST_WILDCARD:
            filters.append(_in_order(parts[1:], "phrase_prefix", max_expansions=MOST_ENDINGS))
            inner += middle
            if middle and PLAIN_WORD.fullmatch(parts[-1]):  # what the analyser does not cut
                inner.append({"prefix": {WORDS: parts[-1]}})
        else:
            filters += middle
        tokens = words(literal).split()
        for at, word in enumerate(tokens):
            edge = (at == 0 and literal.startswith(word)) or (at == len(tokens) - 1 and literal.endswith(word))
            if whole_words or not edge:
                filters.append({"term": {WORDS: word}})
            elif not several and len(word) >= SHORTEST_WILDCARD:
                filters.append({"wildcard": {WORDS: f"*{word}*"}})
    if not matcher.name:
        return [Stage(inner, FEW_CANDIDATES), Stage(filters)] if inner else [Stage(filters)]
    own = {"term": {"leaf": {"value": matcher.name, "case_insensitive": True}}}
    if whole_words:
        return [Stage([own]), Stage(filters)]
    name = WILDCARDS.sub(r"\\\g<0>", matcher.name)
    longer = {"wildcard": {"func_name.keyword": {"value": f"*{name}*", "case_insensitive": True}}}
    return [Stage([own]), Stage([longer]), Stage(filters)]


def _in_order(parts: Sequence[str], kind: str, **options: Any) -> dict[str, Any]:
    return {"multi_match": {"query": " ".join(parts), "type": kind, "fields": ["code", "docstring"], **options}}


ENTRIES = columns("serial", *ADDRESS_FIELDS)


def id_of(hit: Mapping[str, Any]) -> str:
    return str(hit["fields"][ID][0])


def entry_of(hit: Mapping[str, Any]) -> tuple[int, tuple[str, Address]]:
    """The serial of a unit, its id and its address."""
    return hit["fields"]["serial"][0], (id_of(hit), address_of(hit["fields"]))


def read_artifact(client: Elasticsearch, index: str, name: str) -> bytes | None:
    """A side product that was stored with a generation, put together from its pieces."""
    pieces: list[bytes] = []
    while True:
        piece = read_piece(client, index, name, len(pieces))
        if piece is None:
            return None
        pieces.append(piece[0])
        if len(pieces) == piece[1]:
            return b"".join(pieces)


def read_piece(client: Elasticsearch, index: str, name: str, number: int) -> tuple[bytes, int] | None:
    """One piece of a side product, and how many there are."""
    try:
        with server_errors(client, missing=False):
            id = f"{ARTIFACT}:{name}:{number:06d}"
            answer: Any = client.get(index=index, id=id, source_includes=["data", "pieces"])
    except NotFoundError:
        return None
    return b64decode(answer["_source"]["data"]), int(answer["_source"]["pieces"])
