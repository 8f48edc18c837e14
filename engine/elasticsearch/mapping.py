"""Functions as Elasticsearch documents, and the explicit mapping of their fields."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from treeline.corpus.analysis import split
from treeline.corpus.function import Address, Function
from treeline.corpus.roles import role_of
from treeline.engine.hits import Vectors
from treeline.engine.patterns import PATH_FIELDS, path_pattern
from treeline.engine.protocol import EncoderSpec, Filters, IndexInfo
from treeline.engine.text import NO_TERM, SHAPES, TERMS, WHOLE, WORDS, leaf

FORMAT = 9  # of mappings and documents; another one is refused instead of misread
ARTIFACT = "artifact"
UNITS: dict[str, Any] = {"exists": {"field": "kind"}}  # all but the artifacts, which have none
ROLLED_BACK = "rolled_back"  # in what a generation says of itself, once it was rejected
CHUNK_BYTES = 1 << 20  # of an artifact in one document
# `standard` keeps `self.name` together as one word; the embedded engine's words end at every sign that is no letter.
JOINING_SIGNS = re.compile(r"[^\w\s]")
# Cosine does not care for length, so a vector is sent as whole numbers: 1.4 KB instead of 3.1, and quicker to parse.
WHOLE_NUMBERS = 9_999
LONGEST_PREFIX = 1_000  # bytes that the server takes as a prefix; nothing here is called by a longer one
SURROGATE = re.compile(r"[\ud800-\udfff]")
# Half of the server's default: searching looks at enough candidates to make up for it.
EF_CONSTRUCTION = 50
GRAPH = {"type": "int8_hnsw", "m": 16, "ef_construction": EF_CONSTRUCTION}
# While an index is loaded its vectors have no graph: every merge would build it again. Searching them compares all.
NO_GRAPH = {"type": "int8_flat"}
ID = "id"  # `_id` again as a column: the server keeps `_id` with the whole record, which it unpacks to read it
ADDRESS_FIELDS = ("repo", "path", "func_name.keyword", "language", "url", "kind")

# Named one by one: with a wildcard among them the server unpacks each record into objects to filter it, which takes an
# eighth more of its time in loading.
NOT_IN_SOURCE = [ID, TERMS, SHAPES, WHOLE, WORDS, "leaf", "role", "size", *(f"vector{number}" for number in range(16))]

_source_only = {"type": "keyword", "index": False, "doc_values": False}

# The fields of a record that a document has under the same name.
RECORD = (
    *("repo", "path", "func_name", "language", "code", "code_tokens", "docstring_tokens"),
    *("sha", "partition", "url", "kind"),
)

# Of every index, whatever its encoders.
PROPERTIES: dict[str, Any] = {
    ID: {"type": "keyword", "index": False},
    "kind": {"type": "keyword"},
    "serial": {"type": "long"},
    "repo": {"type": "keyword"},
    "path": {"type": "keyword"},
    # As in the paper, for its own query and for Kibana: match, fuzziness, phrase and exists.
    "func_name": {"type": "text", "analyzer": "standard", "fields": {"keyword": {"type": "keyword"}}},
    "docstring": {"type": "text", "analyzer": "standard"},
    "code": {"type": "text", "analyzer": "standard"},
    "leaf": {"type": "keyword"},
    "language": {"type": "keyword"},
    "partition": {"type": "keyword"},
    "role": {"type": "keyword"},
    "url": {"type": "keyword", "index": False},
    "sha": _source_only,
    "original_string": _source_only,
    "size": {"type": "integer", "index": False},
    "code_tokens": _source_only,
    "docstring_tokens": _source_only,
    TERMS: {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
    SHAPES: {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
    WHOLE: {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
    WORDS: {"type": "text", "analyzer": "standard", "index_options": "freqs"},
    "artifact": {"type": "keyword"},
    "chunk": {"type": "integer"},
    "pieces": {"type": "integer"},
    "data": {"type": "binary"},
}


def vector_fields(encoders: Sequence[tuple[EncoderSpec, int]], *, graph: bool = True) -> dict[str, Any]:
    """The field of each encoder's vectors."""
    options = {"type": "dense_vector", "index": True, "similarity": "cosine"}
    options |= {"index_options": GRAPH if graph else NO_GRAPH}
    return {f"vector{number}": {**options, "dims": encoder.dimension} for encoder, number in encoders}


def mapping(encoders: Sequence[tuple[EncoderSpec, int]], meta: Mapping[str, Any]) -> dict[str, Any]:
    """For a new index. Nothing is guessed: an unknown field is refused. What can be had from elsewhere is not kept in
    the source."""
    return {
        "dynamic": "strict",
        "_meta": {"treeline": dict(meta)},
        "_source": {"excludes": NOT_IN_SOURCE},
        "properties": PROPERTIES | vector_fields(encoders, graph=False),
    }


def document(
    serial: int, function: Function, terms: str, vectors: Mapping[int, NDArray[np.int32] | None]
) -> dict[str, Any]:
    """A function as Elasticsearch takes it."""
    plain, shapes, whole = split(terms)
    fields: dict[str, Any] = {name: getattr(function, name) for name in RECORD}
    fields |= {
        ID: function.id,
        "serial": serial,
        "leaf": leaf(function.func_name),
        "role": role_of(function.path),
        "size": len(function.original_string),
        TERMS: plain or NO_TERM,
        SHAPES: shapes or NO_TERM,
        WHOLE: whole or NO_TERM,
        WORDS: words(f"{function.func_name}\n{function.docstring}\n{function.code}"),
    }
    if function.docstring:  # so that `exists` tells
        fields["docstring"] = function.docstring
    if function.original_string != function.code:
        fields["original_string"] = function.original_string
    fields.update({f"vector{number}": row for number, row in vectors.items() if row is not None})
    return fields


def function_of(source: Mapping[str, Any]) -> Function:
    """The whole record from a stored document."""
    fields = {name: source[name] for name in RECORD}
    fields |= {name: tuple(source[name]) for name in ("code_tokens", "docstring_tokens")}
    original = source.get("original_string", source["code"])
    return Function(**fields, original_string=original, docstring=source.get("docstring", ""))


def address_of(fields: Mapping[str, Sequence[str]]) -> Address:
    """The address from a hit's column values; an empty string has none."""
    return Address(*(fields.get(field, ("",))[0] for field in ADDRESS_FIELDS))


def words(text: str) -> str:
    """A text for the `standard` analyser, cut at the same places as in the embedded engine."""
    return JOINING_SIGNS.sub(" ", text)


def whole_numbers(rows: Vectors) -> list[NDArray[np.int32] | None]:
    """Each row as whole numbers, nothing for a row of zeros (the server refuses cosine without a length)."""
    clean = np.nan_to_num(np.asarray(rows, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    largest = np.abs(clean).max(axis=1, initial=0.0)
    integers = np.rint(clean * (WHOLE_NUMBERS / np.where(largest > 0, largest, 1))[:, None]).astype(np.int32)
    return [row if most > 0 else None for row, most in zip(integers, largest, strict=True)]


def chunks(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """(id, document) of each piece of an artifact; an empty one has one empty piece."""
    starts = range(0, max(len(data), 1), CHUNK_BYTES)
    for number, start in enumerate(starts):
        piece = b64encode(data[start : start + CHUNK_BYTES]).decode()
        body = {"artifact": name, "chunk": number, "pieces": len(starts), "data": piece}
        yield f"{ARTIFACT}:{name}:{number:06d}", orjson.dumps(body)


def clauses(filters: Filters) -> list[dict[str, Any]]:
    """The filters as the server takes them."""
    result: list[dict[str, Any]] = []
    for field in ("language", "repo", "partition", "kind", *PATH_FIELDS, "role") if filters else ():
        include, exclude = ([_clause(field, value) for value in some] for some in filters.values(field))
        result += [{"bool": {"should": include}}] if include else []
        result += [{"bool": {"must_not": exclude}}] if exclude else []
    return result


def _clause(field: str, value: str) -> dict[str, Any]:
    if field not in PATH_FIELDS:
        return {"term": {field: value}}
    pattern = path_pattern(field, value)
    if too_long(pattern.prefix) or too_long(pattern.regex):
        return {"match_none": {}}
    if not pattern.regex:
        return {"prefix": {"path": pattern.prefix}}
    return {"regexp": {"path": {"value": pattern.regex, "flags": "NONE"}}}


def too_long(prefix: str) -> bool:
    """Whether the server would refuse to look for what begins so; what is no text it refuses too."""
    return len(prefix.encode("utf-8", "surrogatepass")) > LONGEST_PREFIX or SURROGATE.search(prefix) is not None


def info_of(name: str, generation: str, meta: Mapping[str, Any]) -> IndexInfo:
    """The description of a generation, from its metadata."""
    encoders = tuple(EncoderSpec(encoder, dimension) for encoder, dimension, _ in meta["encoders"])
    functions, created = meta.get("functions", 0), meta.get("created", "")
    return IndexInfo(
        name,
        "elasticsearch",
        generation,
        functions,
        encoders,
        created,
        rolled_back=bool(meta.get(ROLLED_BACK)),
        token=meta.get("token", ""),
    )
