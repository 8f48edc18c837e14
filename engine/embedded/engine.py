"""One open generation of an embedded index: text by tantivy, vectors by scan, addresses from columns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tantivy import Query

from treeline.corpus.errors import IndexDamaged
from treeline.corpus.function import Address, Function
from treeline.engine.embedded import fulltext
from treeline.engine.embedded.columns import KIND, LANGUAGE, NAME, PARTITION, PATH, REPO, Positions, Table
from treeline.engine.embedded.fulltext import Bodies
from treeline.engine.embedded.manifest import ARTIFACTS, Health, damage_check, read_info
from treeline.engine.embedded.scans import Grams, Matrix
from treeline.engine.embedded.words import Vocabulary, expand
from treeline.engine.hits import Hit, Hits, Vectors, normalize
from treeline.engine.patterns import only_prefixes
from treeline.engine.protocol import NO_FILTERS, Filters
from treeline.engine.text import MOST_TERMS, WORDS, Matcher, complete_name

SCANNED_AT_ONCE = 1_000
COMPLETIONS_CACHED = 2_000  # short prefixes come again and again while somebody types
BODIES_CACHED = 2_000  # units, some 17 MB; what is shown once is often shown again
NAMES_RANKED = 2_000  # of those that contain what is searched for
SHORTEST_PART = 3  # letters of a name; fewer are in most names
# Share of the rows in paths that pass a pattern: with more, taking more hits and leaving out those of other paths takes
# 5 ms where a list of the paths takes 70 (kubernetes' 26,546 paths, 212,368 units).
LEAST_SHARE, SPARE = 0.05, 1.5


class EmbeddedEngine:
    """See `treeline.engine.protocol.Engine`. Opens every file at once, so it outlives the pruning of its generation."""

    def __init__(self, folder: Path, on_damage: Callable[[IndexDamaged], None] = lambda _: None) -> None:
        """`on_damage` is told of a damaged file that answers depend on, also when it is found later."""
        self.info = read_info(folder)
        self.health = Health(folder, on_damage)
        self.notices: tuple[str, ...] = ()  # of damage outside this generation: a newer one that could not be opened
        self._open(folder)
        self.health.verify_in_background()

    @damage_check
    def _open(self, folder: Path) -> None:
        self._artifacts = {
            path.name: path.open("rb")
            for path in (folder / "artifacts").iterdir()
            if f"{ARTIFACTS}{path.name}" not in self.health.damaged
        }
        self._table = Table(folder / "rows", self.health)
        self._grams = Grams(folder / "rows", len(self._table))
        self._searcher = fulltext.open_searcher(folder / "text")
        self._bodies = Bodies(folder / "rows", self._table, self._searcher)
        self._vocabulary = Vocabulary(folder / "words")
        self._matrices = [Matrix(folder / "rows", number) for number in range(len(self.info.encoders))]
        self._function = lru_cache(BODIES_CACHED)(self._bodies.function)
        lookup = partial(self._searcher.terms_with_prefix, "leaf")
        self._complete_name = lru_cache(COMPLETIONS_CACHED)(partial(complete_name, lookup))

    @property
    def damaged(self) -> tuple[str, ...]:
        return (*self.notices, *self.health.damaged)

    @damage_check
    def keyword(self, terms: Sequence[str], k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        counts = Counter(terms[:MOST_TERMS])
        return self._search(fulltext.any_of(counts.items()), k, filters) if counts else []

    @damage_check
    def fuzzy(self, text: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        words = fulltext.words_of(text)[:MOST_TERMS]
        clauses = list(expand(self._vocabulary, self._searcher, words))
        return self._search(fulltext.any_of(clauses, WORDS), k, filters) if clauses else []

    @damage_check
    def as_written(self, text: str, k: int, filters: Filters = NO_FILTERS, *, fuzziness: int = 0) -> Sequence[Hit]:
        """Name, docstring and code are one text here, and words end at every sign."""
        if fuzziness:
            return self.fuzzy(text, k, filters)
        counts = Counter(fulltext.words_of(text)[:MOST_TERMS])
        return self._search(fulltext.any_of(counts.items(), WORDS), k, filters) if counts else []

    @damage_check
    def spellings(self, word: str) -> dict[str, int]:
        near = (other for other in self._vocabulary.neighbours(word) if other[:1] == word[:1])
        return {other: self._searcher.doc_freq(WORDS, other) for other in near}

    @damage_check
    def named(self, name: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        return self._search(fulltext.name_query(name), k, filters)

    def phrase(self, text: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        return self._exact(Matcher.phrase(text), k, filters) if text.strip() else []

    def regex(self, pattern: str, k: int, filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        return self._exact(Matcher.regex(pattern), k, filters) if pattern else []

    @damage_check
    def knn(self, vector: Vectors, k: int, filters: Filters = NO_FILTERS, encoder: str = "") -> Sequence[Hit]:
        number = self.info.encoder_number(encoder)
        query = np.asarray(vector, dtype=np.float32).ravel()
        self.info.check_query(query, number)
        query = normalize(query[None])[0]
        if k <= 0 or not query.any() or not len(self._table):
            return []
        return self._hits(*self._matrices[number].nearest(query, k, self._table.mask(filters)))

    @damage_check
    def fetch(self, ids: Sequence[str]) -> list[Function]:
        return [self._function(position) for position in self._table.positions_of(ids).tolist() if position >= 0]

    @damage_check
    def locate(self, ids: Sequence[str], filters: Filters = NO_FILTERS) -> Sequence[Hit]:
        positions = self._table.positions_of(ids)
        positions = positions[positions >= 0]
        mask = self._table.mask(filters)
        if mask is not None:
            positions = positions[mask[positions]]
        return self._hits(positions, np.zeros(len(positions)))

    @damage_check
    def vectors(self, ids: Sequence[str], encoder: str = "") -> Vectors:
        matrix = self._matrices[self.info.encoder_number(encoder)]
        positions = self._table.positions_of(ids)
        missing = positions < 0
        if not missing.any():
            return matrix.rows(positions)
        rows = np.zeros((len(ids), matrix.dimension), dtype=np.float32)
        rows[~missing] = matrix.rows(positions[~missing])
        return rows

    @damage_check
    def suggest(self, prefix: str, k: int) -> list[str]:
        return list(self._complete_name(prefix, k))

    @damage_check
    def count(self, filters: Filters = NO_FILTERS) -> int:
        mask = self._table.mask(filters)
        return len(self._table) if mask is None else int(mask.sum())

    @cached_property
    def _facets(self) -> dict[str, dict[str, int]]:
        columns = {"language": LANGUAGE, "repo": REPO, "partition": PARTITION, "kind": KIND}
        return {name: self._table.counts(column) for name, column in columns.items()}

    @damage_check
    def facets(self) -> dict[str, dict[str, int]]:
        return {name: dict(counts) for name, counts in self._facets.items()}

    def addresses(self, filters: Filters = NO_FILTERS) -> Iterator[tuple[str, Address]]:
        mask = self._table.mask(filters)
        for positions in self._batches() if mask is None else [np.flatnonzero(mask)]:
            yield from self._entries(positions)

    def scan(self) -> Iterator[Function]:
        for positions in self._batches():
            yield from self._functions(positions)

    @damage_check
    def artifact(self, name: str) -> bytes | None:
        file = self._artifacts.get(name)
        if file is None:
            return None
        data = os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)
        if self.health.manifest is not None and not self.health.manifest.intact_artifact(name, data):
            self.health.report([ARTIFACTS + name])
            return None
        return data

    def artifact_part(self, name: str, start: int, length: int) -> bytes | None:
        file = self._artifacts.get(name)
        return None if file is None else os.pread(file.fileno(), length, start)

    def close(self) -> None:
        for file in self._artifacts.values():
            file.close()

    def __del__(self) -> None:
        """A search in flight may be the last to hold a generation; nobody closes it then."""
        for file in getattr(self, "_artifacts", {}).values():
            file.close()

    def _search(self, query: Query, k: int, filters: Filters) -> Sequence[Hit]:
        if k <= 0 or not len(self._table):
            return []
        query = fulltext.narrow(query, filters, self._table.strings[PATH])
        mask = self._table.path_mask(filters) if filters and not only_prefixes(filters) else None
        look = partial(fulltext.positions_and_scores, self._searcher, self._table)
        if mask is None:
            return self._hits(*look(query, k))
        share = mask.mean()
        if share >= LEAST_SHARE:
            limit = int(SPARE * k / share) + 1
            positions, scores = look(query, limit)
            passing = np.flatnonzero(mask[positions])[:k]
            if len(passing) == k or len(positions) < limit:
                return self._hits(positions[passing], scores[passing])
        codes = np.flatnonzero(self._table.passing_paths(filters))
        paths = self._table.strings[PATH].many(codes.tolist())
        return self._hits(*look(fulltext.narrow_to_paths(query, paths), k))

    @damage_check
    def _exact(self, matcher: Matcher, k: int, filters: Filters) -> Sequence[Hit]:
        """Candidates from the n-grams, best first, each read until k match."""
        candidates = self._grams.candidates(matcher.literals)
        mask = self._table.mask(filters)
        if mask is not None:
            candidates = candidates[mask[candidates]]
        # Names that contain the text go first, then short units; the rank among the names needs the names themselves.
        other = np.ones(len(candidates), dtype=np.bool_)
        if matcher.name:
            other = ~np.isin(self._table.codes[candidates, NAME], self._names_with(matcher.name))
        candidates = candidates[np.lexsort((candidates, self._table.sizes[candidates], other))]
        first = candidates[: min(int((~other).sum()), NAMES_RANKED)]
        ranks = map(matcher.rank, self._table.parts("func_name", first), self._table.sizes[first].tolist())
        order = [position for _, position in sorted(zip(ranks, first.tolist(), strict=True))]
        matches = matcher.first([*order, *candidates[len(first) :].tolist()], self._bodies.texts, max(k, 0))
        rows, scores = np.array(matches, dtype=np.int64), np.arange(len(matches), 0.0, -1.0)
        return Hits(self._table, rows, scores, complete=not matcher.timed_out)

    def _names_with(self, text: str) -> NDArray[np.int64]:
        """The codes of names that contain the text; that are the text, where it is in most of them."""
        names = self._table.strings[NAME]
        if len(text) >= SHORTEST_PART:
            return names.codes_containing(text)
        exact = names.code(text)
        return np.array([] if exact is None else [exact], dtype=np.int64)

    def _hits(self, positions: Positions, scores: ArrayLike) -> Hits:
        return Hits(self._table, positions, np.asarray(scores, dtype=np.float64))

    def _batches(self) -> Iterator[Positions]:
        for start in range(0, len(self._table), SCANNED_AT_ONCE):
            yield np.arange(start, min(start + SCANNED_AT_ONCE, len(self._table)))

    @damage_check
    def _entries(self, positions: Positions) -> list[tuple[str, Address]]:
        return self._table.read_entries(positions)

    @damage_check
    def _functions(self, positions: Positions) -> list[Function]:
        return list(map(self._bodies.function, positions.tolist()))
