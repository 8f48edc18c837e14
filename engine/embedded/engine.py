"""One open generation of an embedded index: lists of terms, text by tantivy, vectors by scan or HNSW, and columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import ArrayLike
from tantivy import Query

from treeline.corpus.errors import IndexOutdated
from treeline.corpus.function import Address, Function
from treeline.engine.embedded import text as fulltext
from treeline.engine.embedded.columns import KIND, LANGUAGE, PARTITION, PATH, REPO, Positions, Table
from treeline.engine.embedded.documents import Documents
from treeline.engine.embedded.graph_search import Hnsw
from treeline.engine.embedded.postings import MOST_TERMS, Postings
from treeline.engine.embedded.vectors import Matrix, normalised
from treeline.engine.embedded.words import Vocabulary, weighted
from treeline.engine.hits import Hits
from treeline.engine.protocol import (
    NO_FILTERS,
    EncoderSpec,
    Filters,
    Hit,
    IndexInfo,
    Vectors,
)
from treeline.engine.suggest import suggested

SCANNED_AT_ONCE = 1_000
SUGGESTIONS_KEPT = 2_000
BODIES_KEPT = 2_000  # functions, some 17 MB; what is shown once is often shown again, and takes .04 ms to read
FORMAT = 4  # of a generation's files; another one is refused instead of misread


def read_info(folder: Path) -> IndexInfo:
    """What a complete generation says of itself."""
    found = orjson.loads((folder / "info.json").read_bytes())
    if found["format"] != FORMAT:
        raise IndexOutdated(str(folder), found["format"], FORMAT)
    encoders = tuple(EncoderSpec(name, dimension) for name, dimension in found["encoders"])
    name, functions, created = found["name"], found["functions"], found["created"]
    return IndexInfo(name, "embedded", folder.name, functions, encoders, created, token=found.get("token", ""))


def write_info(info: IndexInfo, **more: Any) -> bytes:
    """The content of a generation's `info.json`."""
    return orjson.dumps(
        {
            "format": FORMAT,
            "name": info.name,
            "functions": info.functions,
            "encoders": [(encoder.name, encoder.dimension) for encoder in info.encoders],
            "created": info.created,
            "token": info.token,
            **more,
        },
        option=orjson.OPT_INDENT_2,
    )


class EmbeddedEngine:
    """See `treeline.engine.protocol.Engine`. Opens every file at once, so that it outlives their pruning."""

    def __init__(self, folder: Path) -> None:
        self._info = read_info(folder)
        self._table = Table(folder / "rows")
        self._postings = Postings(folder / "rows")
        self._searcher = fulltext.open_searcher(folder / "text")
        self._documents = Documents(folder / "rows", self._table, self._searcher)
        self._vocabulary = Vocabulary(folder / "words")
        self._matrices = [Matrix(folder / "rows", number) for number in range(len(self._info.encoders))]
        self._graphs = [Hnsw.open(folder / "rows", number) for number in range(len(self._info.encoders))]
        self._suggested: dict[tuple[str, int], list[str]] = {}
        self._read: dict[int, Function] = {}
        self._artifacts = {path.name: path.open("rb") for path in (folder / "artifacts").iterdir()}

    @property
    def info(self) -> IndexInfo:
        return self._info

    def keyword(self, terms: Sequence[str], k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        return self._hits(*self._postings.nearest(terms, k, self._table.mask(filters)))

    def fuzzy(self, text: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        words = fulltext.words(text)[:MOST_TERMS]
        clauses = list(weighted(self._vocabulary, self._searcher, words))
        return self._search(fulltext.words_query(clauses), k, filters) if clauses else []

    def spellings(self, word: str) -> dict[str, int]:
        near = (other for other in self._vocabulary.neighbours(word) if other[:1] == word[:1])
        return {other: self._searcher.doc_freq(fulltext.WORDS, other) for other in near}

    def named(self, name: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        return self._search(fulltext.name_query(name), k, filters)

    def knn(self, vector: Vectors, k: int, filters: Filters = NO_FILTERS, encoder: str = "") -> Sequence[Hit]:
        number = self._info.encoder_number(encoder)
        matrix, graph = self._matrices[number], self._graphs[number]
        query = np.asarray(vector, dtype=np.float32).ravel()
        self._info.check_query(query, number)
        query = normalised(query[None])[0]
        if k <= 0 or not query.any() or not len(self._table):
            return []
        mask = self._table.mask(filters)
        if graph is not None and mask is None:
            candidates = self._table.positions_of_serials(graph.nearest(query, k))
            positions, scores = matrix.rescore(query, candidates, k)
        else:
            positions, scores = matrix.nearest(query, k, mask)
        return self._hits(positions, scores)

    def fetch(self, ids: Sequence[str]) -> list[Function]:
        if len(self._read) + len(ids) > BODIES_KEPT:
            self._read.clear()
        positions = self._table.positions_of(ids).tolist()
        return [self._kept(id, position) for id, position in zip(ids, positions, strict=True) if position >= 0]

    def locate(self, ids: Sequence[str], filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        positions = self._table.positions_of(ids)
        positions = positions[positions >= 0]
        mask = self._table.mask(filters)
        if mask is not None:
            positions = positions[mask[positions]]
        return self._hits(positions, np.zeros(len(positions)))

    def vectors(self, ids: Sequence[str], encoder: str = "") -> Vectors:
        matrix = self._matrices[self._info.encoder_number(encoder)]
        positions = self._table.positions_of(ids)
        missing = positions < 0
        if not missing.any():
            return matrix.rows(positions)
        rows = np.zeros((len(ids), matrix.dimension), dtype=np.float32)
        rows[~missing] = matrix.rows(positions[~missing])
        return rows

    def suggest(self, prefix: str, k: int) -> list[str]:
        # Short prefixes are asked again and again while somebody types, and go through most of the names.
        found = self._suggested.get((prefix, k))
        if found is None:
            lookup = partial(self._searcher.terms_with_prefix, "leaf")
            found = suggested(lookup, prefix, k)
            if len(self._suggested) >= SUGGESTIONS_KEPT:
                self._suggested.clear()
            self._suggested[prefix, k] = found
        return list(found)

    def count(self, filters: Filters = NO_FILTERS) -> int:
        mask = self._table.mask(filters)
        return len(self._table) if mask is None else int(mask.sum())

    @cached_property
    def _facets(self) -> dict[str, dict[str, int]]:
        columns = {"language": LANGUAGE, "repo": REPO, "partition": PARTITION, "kind": KIND}
        return {name: self._table.counts(column) for name, column in columns.items()}

    def facets(self) -> dict[str, dict[str, int]]:
        return {name: dict(counts) for name, counts in self._facets.items()}

    def addresses(self) -> Iterator[tuple[str, Address]]:
        for start in range(0, len(self._table), SCANNED_AT_ONCE):
            end = min(start + SCANNED_AT_ONCE, len(self._table))
            yield from self._table.read_entries(np.arange(start, end))

    def scan(self) -> Iterator[Function]:
        for start in range(0, len(self._table), SCANNED_AT_ONCE):
            end = min(start + SCANNED_AT_ONCE, len(self._table))
            yield from [self._function(self._table.id(at), at) for at in range(start, end)]

    def artifact(self, name: str) -> bytes | None:
        file = self._artifacts.get(name)
        return None if file is None else os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)

    def close(self) -> None:
        for file in self._artifacts.values():
            file.close()

    def __del__(self) -> None:
        """A generation that a search in flight was the last to hold goes without being closed by anyone."""
        for file in getattr(self, "_artifacts", {}).values():
            file.close()

    def _search(self, query: Query, k: int, filters: Filters) -> Sequence[Hit]:
        if k <= 0 or not len(self._table):
            return []
        narrowed = fulltext.filtered(query, filters, self._table.strings[PATH])
        hits = self._searcher.search(narrowed, k, count=False).hits
        if not hits:
            return []
        scores, addresses = zip(*hits, strict=True)
        serials = self._searcher.fast_field_values("serial", list(addresses))
        return self._hits(self._table.positions_of_serials(np.array(serials, dtype=np.int64)), scores)

    def _hits(self, positions: Positions, scores: ArrayLike) -> Sequence[Hit]:
        return Hits(self._table, positions, np.asarray(scores, dtype=np.float64))

    def _kept(self, id: str, position: int) -> Function:
        found = self._read.get(position)
        if found is None:
            found = self._function(id, position)
            if len(self._read) < BODIES_KEPT:  # more are asked for at once than are kept
                self._read[position] = found
        return found

    def _function(self, id: str, position: int) -> Function:
        return fulltext.function_of(id, self._table.values(position), self._documents.body(position))
