"""The text of a generation in tantivy: analysed terms, words as written, names, filters, and the units' bodies."""

from __future__ import annotations

import re
import shutil
import tempfile
from _thread import start_new_thread
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import orjson
import tantivy
from numpy.typing import NDArray
from tantivy import DocAddress, Document, FieldType, Occur, Query, Searcher

from treeline.corpus.analysis import MARK, OF_FILE, plain_words, split
from treeline.corpus.arrays import map_array
from treeline.corpus.errors import NO_THREADS, TreelineError
from treeline.corpus.function import Function, from_values
from treeline.engine.durable import link_or_copy, sync_tree
from treeline.engine.embedded.columns import Strings, Table
from treeline.engine.patterns import prefixes
from treeline.engine.protocol import Filters
from treeline.engine.text import NO_TERM, SHAPES, TERMS, WHOLE, WORDS, leaf

EXACT_FIELDS = ("id", "repo", "path", "language", "partition", "kind", "qualified", "leaf")
WHOLE_FIELDS = ("language", "repo", "partition", "kind")  # by whole values
LONGEST_WORD = 60  # letters; longer ones are data, not words that somebody types
WORD = re.compile(r"\w+")
FREQUENCIES = "freq"  # no positions: exact text has its own index, and they double this one
LONGEST_PATTERN = 900  # bytes; tantivy takes 981
ADDRESSES = "document.npy"
UNKNOWN = np.iinfo(np.uint32).max
ROWS_AT_ONCE = 50_000  # of which addresses are looked up; a hit takes .3 kB
FREEZE_ATTEMPTS = 50  # each finished merge can spoil one
SPARE_HITS = 8  # asked for beyond k, to see whether the last one's score goes on
MOST_TIES = 20_000  # hits beyond which ties are cut as they come
# Characters: units of this length are candidates of most phrases, whose n-grams they all have, and are read again and
# again; so many characters of them are kept.
LONG, LONG_KEPT = 8_192, 8_000_000
META, FILE_LIST = "meta.json", ".managed.json"  # tantivy's own files


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("serial", indexed=True, fast=True)
    for name in EXACT_FIELDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(TERMS, tokenizer_name=TERMS, index_option=FREQUENCIES)
    builder.add_text_field(SHAPES, tokenizer_name=TERMS, index_option=FREQUENCIES)
    builder.add_text_field(WHOLE, tokenizer_name=TERMS, index_option=FREQUENCIES)
    builder.add_text_field(WORDS, tokenizer_name=WORDS, index_option=FREQUENCIES)
    builder.add_bytes_field("body", stored=True)
    return builder.build()


SCHEMA = _schema()


def open_index(folder: Path) -> tantivy.Index:
    """The text index in a folder, for writing; made when there is none."""
    folder.mkdir(exist_ok=True)
    _check_threads()
    exists = (folder / META).exists()
    index = tantivy.Index.open(str(folder)) if exists else tantivy.Index(SCHEMA, str(folder))
    index.register_tokenizer(TERMS, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    words = words.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.remove_long(LONGEST_WORD))
    index.register_tokenizer(WORDS, words.build())
    return index


def open_searcher(folder: Path) -> Searcher:
    """A tantivy index for reading, also on a read-only disk."""
    _check_threads()
    try:
        return tantivy.Index.open(str(folder)).searcher()
    except ValueError as error:
        if "Lockfile" not in str(error):
            raise
    # tantivy locks its folder even to read. A folder of links can be locked, and may go once the files are open.
    with tempfile.TemporaryDirectory(prefix="treeline-") as links:
        for path in folder.iterdir():
            if not path.name.endswith(".lock"):
                (Path(links) / path.name).symlink_to(path.absolute())
        return tantivy.Index.open(links).searcher()


def _check_threads() -> None:
    """Raise if the system starts no more threads: tantivy, which needs one even to read, prints and panics."""
    with suppress(RuntimeError):
        start_new_thread(int, ())
        return
    raise TreelineError(*NO_THREADS)


def freeze(text: Path, target: Path) -> None:
    """Link the files of the last commit, to go back to. They never change, but a merge replaces the list of them."""
    for _ in range(FREEZE_ATTEMPTS):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        meta = (text / META).read_bytes()
        segments = {segment["segment_id"].replace("-", "") for segment in orjson.loads(meta)["segments"]}
        try:
            for path in text.iterdir():
                if path.name.partition(".")[0] in segments:
                    link_or_copy(path, target / path.name)
            file_list = (text / FILE_LIST).read_bytes()
        except FileNotFoundError:
            continue
        if (text / META).read_bytes() == meta:
            (target / META).write_bytes(meta)
            (target / FILE_LIST).write_bytes(file_list)
            sync_tree(target)
            return
    raise TreelineError(f"the text index in {text} keeps changing", "run it again")


# ── documents ──


def document(serial: int, function: Function, terms: str) -> Document:
    """A unit as the text index takes it."""
    fields = Document()
    words, shapes, whole = split(terms)
    fields.add_unsigned("serial", serial)
    for field, text in (
        ("id", function.id),
        ("repo", function.repo),
        ("path", function.path),
        ("language", function.language),
        ("partition", function.partition),
        ("kind", function.kind),
        ("qualified", function.func_name),
        ("leaf", leaf(function.func_name)),
        (TERMS, words or NO_TERM),
        (SHAPES, shapes or NO_TERM),
        (WHOLE, whole or NO_TERM),
        (WORDS, plain_words(written(function))),
    ):
        fields.add_text(field, text)
    code = None if function.code == function.original_string else function.code
    # What only a shown result needs; the rest of the record is in the columns. Exact search reads the first line alone.
    texts = orjson.dumps((function.original_string, function.docstring))
    rest = orjson.dumps((code, function.code_tokens, function.docstring_tokens, function.sha))
    fields.add_bytes("body", texts + b"\n" + rest)
    return fields


def written(function: Function) -> str:
    """The text of a unit whose words are found as they are written."""
    return f"{function.func_name}\n{function.docstring}\n{function.code}"


def distinct_words(function: Function) -> set[str]:
    """The words of a unit as they are written, in lower case."""
    return set(plain_words(written(function)).lower().split())


class Bodies:
    """The stored bodies of one generation, by position.

    tantivy numbers documents by segment, and a merge renumbers them, so their addresses are written down when a
    generation is complete. Looking ten results up by id took .9 ms, this takes .2.
    """

    def __init__(self, rows: Path, table: Table, searcher: Searcher) -> None:
        self._table, self._searcher = table, searcher
        path = rows / ADDRESSES
        self._addresses: NDArray[np.uint32] | None = map_array(path) if path.exists() else None
        self._long: dict[int, tuple[str, str]] = {}
        self._room = LONG_KEPT

    def texts(self, position: int) -> tuple[str, str]:
        """The unit as written, and its docstring."""
        texts = self._long.get(position)
        if texts is None:
            original, docstring = texts = tuple(orjson.loads(self._body(position).partition(b"\n")[0]))
            size = len(original) + len(docstring)
            if LONG <= size <= self._room:
                self._room -= size
                self._long[position] = texts
        return texts

    def function(self, position: int) -> Function:
        """The whole record."""
        ((id, address),) = self._table.entries(np.array([position]))
        texts, parts = map(orjson.loads, self._body(position).split(b"\n"))
        (original, docstring), (code, code_tokens, docstring_tokens, sha) = texts, parts
        repo, path, name, language, url, kind = address
        whole = (repo, path, name, original, language, original if code is None else code, tuple(code_tokens))
        rest = (docstring, tuple(docstring_tokens), sha, self._table.partition(position), url, kind, id)
        return from_values(whole + rest)

    def _body(self, position: int) -> bytes:
        if self._addresses is None:  # a generation in the making
            rows = np.full((len(self._table), 2), UNKNOWN, dtype=np.uint32)
            self._addresses = _addresses(self._table, self._searcher, rows)
        segment, document = self._addresses[position].tolist()
        body: bytes = self._searcher.doc(DocAddress(segment, document))["body"][0]
        return body


def write_addresses(generation: Path, base: Path | None) -> None:
    """Store where tantivy keeps each row's body, once its segments stay as they are."""
    table = Table(generation / "rows")
    rows = np.full((len(table), 2), UNKNOWN, dtype=np.uint32)
    if base is not None:
        _take_over(rows, table, base, _segments(generation))
    np.save(generation / "rows" / ADDRESSES, _addresses(table, open_searcher(generation / "text"), rows))


def _take_over(rows: NDArray[np.uint32], table: Table, base: Path, segments: Sequence[str]) -> None:
    """The addresses of documents that lie in a segment of the base: numbers in it never change, that of it may."""
    old, addresses = Table(base / "rows"), map_array(base / "rows" / ADDRESSES)
    if not len(old):
        return
    number_of = {segment: number for number, segment in enumerate(segments)}
    numbers = np.array([number_of.get(segment, UNKNOWN) for segment in _segments(base)], dtype=np.uint32)
    at = np.minimum(np.searchsorted(old.serials, table.serials), len(old) - 1)
    is_old = old.serials[at] == table.serials
    rows[is_old] = np.stack([numbers[addresses[at[is_old], 0]], addresses[at[is_old], 1]], axis=1)


def _segments(generation: Path) -> list[str]:
    """The segments of a text index by their numbers."""
    return [segment["segment_id"] for segment in orjson.loads((generation / "text" / META).read_bytes())["segments"]]


def _addresses(table: Table, searcher: Searcher, rows: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Segment and number of every row's document: each unknown one is asked for its serial (.1 s for 182,431)."""
    unknown = np.flatnonzero(rows[:, 0] == UNKNOWN)
    serials = table.serials[unknown]
    is_few = len(unknown) < len(table) / 4
    for start in range(0, len(serials), ROWS_AT_ONCE):
        some = serials[start : start + ROWS_AT_ONCE].tolist()
        query = (
            Query.term_set_query(SCHEMA, "serial", some)
            if is_few
            else Query.range_query(SCHEMA, "serial", FieldType.Unsigned, some[0], some[-1])
        )
        hits = searcher.search(query, min(len(table), some[-1] - some[0] + 1), count=False).hits
        addresses = [address for _, address in hits]
        at = np.array(searcher.fast_field_values("serial", addresses), dtype=np.int64)
        rows[table.positions_of_serials(at)] = [(address.segment_ord, address.doc) for address in addresses]
    return rows


# ── queries ──


def words_of(text: str) -> list[str]:
    """The raw words of a text, as the index keeps them."""
    return [word for word in WORD.findall(text.lower()) if len(word.encode()) < LONGEST_WORD]


def any_of(weights: Iterable[tuple[str, float]], field: str = "") -> Query:
    """Any of these terms, each with its weight, in this field or in the field of its kind."""
    queries = []
    for term, weight in weights:
        own_field = field or {MARK: SHAPES, OF_FILE: WHOLE}.get(term[:1], TERMS)
        query = Query.term_query(SCHEMA, own_field, term.removeprefix(OF_FILE), FREQUENCIES)
        queries.append((Occur.Should, query if weight == 1 else Query.boost_query(query, weight)))
    return Query.boolean_query(queries)


def name_query(name: str) -> Query:
    """Units whose last or whole name is exactly this."""
    return Query.boolean_query(
        [(Occur.Should, Query.term_query(SCHEMA, field, name, "basic")) for field in ("qualified", "leaf")]
    )


def narrow(query: Query, filters: Filters, paths: Strings) -> Query:
    """The query with filters, its scores unchanged, but for patterns of paths; `paths` are all paths of the index."""
    if not filters:
        return query
    clauses = [(Occur.Must, query)]
    for field in WHOLE_FIELDS:
        for occur, values in zip((Occur.Must, Occur.MustNot), filters.values(field), strict=True):
            if values:
                clauses.append((occur, _without_score(Query.term_set_query(SCHEMA, field, list(values)))))
    if literals := prefixes(filters):
        beginnings = [(Occur.Should, _path_query(prefix, paths)) for prefix in literals]
        clauses.append((Occur.Must, _without_score(Query.boolean_query(beginnings))))
    return Query.boolean_query(clauses) if len(clauses) > 1 else query


def narrow_to_paths(query: Query, paths: Sequence[str]) -> Query:
    """The query in these paths alone; thousands of them take several times as long as the query."""
    paths_query = Query.term_set_query(SCHEMA, "path", list(paths))
    return Query.boolean_query([(Occur.Must, query), (Occur.Must, _without_score(paths_query))])


def _without_score(query: Query) -> Query:
    return Query.const_score_query(query, 0.0)


def _path_query(prefix: str, paths: Strings) -> Query:
    """A pattern, which is several times faster than a list of thousands of paths, unless it would be too long."""
    matching = range(*paths.codes_with_prefix(prefix))
    if matching and len(prefix.encode()) <= LONGEST_PATTERN:
        return Query.regex_query(SCHEMA, "path", re.escape(prefix) + r"(?s:.)*")
    return Query.term_set_query(SCHEMA, "path", paths.many(matching))


def positions_and_scores(
    searcher: Searcher, table: Table, query: Query, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k best, equal scores in order of writing."""
    hits = _with_ties(searcher, query, k) if k > 0 else ()
    if not hits:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    scores, addresses = zip(*hits, strict=True)
    serials = np.array(searcher.fast_field_values("serial", list(addresses)), dtype=np.int64)
    positions, values = table.positions_of_serials(serials), np.array(scores)
    order = np.lexsort((positions, -values))[:k]
    return positions[order], values[order]


def _with_ties(searcher: Searcher, query: Query, k: int) -> Sequence[tuple[float, DocAddress]]:
    """The k best, with those that score like the last: which of them tantivy takes depends on the names of segments."""
    limit = k + SPARE_HITS
    while True:
        hits: Sequence[tuple[float, DocAddress]] = searcher.search(query, limit, count=False).hits
        if len(hits) < limit or hits[-1][0] < hits[k - 1][0] or limit >= MOST_TIES:
            return hits
        limit = min(4 * limit, max(MOST_TIES, limit))
