"""What tantivy keeps for the embedded engine: words as they are written, names, filters and the functions' bodies."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson
import tantivy
from tantivy import Document, Occur, Query

from treeline.corpus.function import Function, known
from treeline.engine.embedded.columns import Strings
from treeline.engine.protocol import Filters

WORDS = "words"  # of a function, as they are written
EXACT_FIELDS = ("id", "repo", "path", "language", "partition", "kind", "qualified", "leaf")
LONGEST_WORD = 60  # letters; longer ones are data, not words that somebody types
WORD = re.compile(r"\w+")
FREQUENCIES = "freq"  # positions are not kept: nothing asks for phrases, and they double the index
WEIGHTLESS = 0.0
LONGEST_PATTERN = 900  # bytes; tantivy takes 981 of them
SPACED = {code: " " for code in range(128) if not WORD.match(chr(code))}


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("serial", indexed=True, fast=True)
    for name in EXACT_FIELDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(WORDS, tokenizer_name=WORDS, index_option=FREQUENCIES)
    builder.add_bytes_field("body", stored=True)
    return builder.build()


SCHEMA = _schema()


def open_text(folder: Path) -> tantivy.Index:
    """The text index in a folder, for writing; made when there is none."""
    folder.mkdir(exist_ok=True)
    exists = (folder / "meta.json").exists()
    index = tantivy.Index.open(str(folder)) if exists else tantivy.Index(SCHEMA, str(folder))
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    words = words.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.remove_long(LONGEST_WORD))
    index.register_tokenizer(WORDS, words.build())
    return index


def open_searcher(folder: Path) -> tantivy.Searcher:
    """A tantivy index for reading only, also from a disk that cannot be written to."""
    try:
        return tantivy.Index.open(str(folder)).searcher()
    except ValueError as error:
        if "Lockfile" not in str(error):
            raise
    # tantivy locks its folder even for reading; a folder of links can be locked, and is not needed once files are open.
    with tempfile.TemporaryDirectory(prefix="treeline-") as links:
        for path in folder.iterdir():
            if not path.name.endswith(".lock"):
                (Path(links) / path.name).symlink_to(path.absolute())
        return tantivy.Index.open(links).searcher()


def document(serial: int, function: Function) -> Document:
    """A function as the text index takes it."""
    made = Document()
    made.add_unsigned("serial", serial)
    for field, text in (
        ("id", function.id),
        ("repo", function.repo),
        ("path", function.path),
        ("language", function.language),
        ("partition", function.partition),
        ("kind", function.kind),
        ("qualified", function.func_name),
        ("leaf", leaf(function.func_name)),
        (WORDS, spaced(f"{function.func_name}\n{function.docstring}\n{function.code}")),
    ):
        made.add_text(field, text)
    made.add_bytes("body", body(function))
    return made


def spaced(text: str) -> str:
    """The words of a text with nothing but space between them."""
    return text.translate(SPACED) if text.isascii() else " ".join(WORD.findall(text))


def body(function: Function) -> bytes:
    """What only a shown result needs; the rest of the record is in the columns."""
    code = None if function.code == function.original_string else function.code
    return orjson.dumps(
        (
            function.original_string,
            code,
            function.code_tokens,
            function.docstring,
            function.docstring_tokens,
            function.sha,
        )
    )


def function_of(id: str, values: Sequence[str], stored: bytes) -> Function:
    """The whole record from its id, its columns and its body."""
    repo, path, func_name, language, partition, url, fragment, kind = values
    original_string, code, code_tokens, docstring, docstring_tokens, sha = orjson.loads(stored)
    return known(
        (
            repo,
            path,
            func_name,
            original_string,
            language,
            original_string if code is None else code,
            tuple(code_tokens),
            docstring,
            tuple(docstring_tokens),
            sha,
            partition,
            url + fragment,
            kind,
            id,
        )
    )


def leaf(func_name: str) -> str:
    """The function's own name, without its class."""
    return func_name.rpartition(".")[2]


def words_query(weighted: Iterable[tuple[str, float]]) -> Query:
    """Any word, each with its weight."""
    return Query.boolean_query([(Occur.Should, _word(word, weight)) for word, weight in weighted])


def name_query(name: str) -> Query:
    return Query.boolean_query(
        [(Occur.Should, Query.term_query(SCHEMA, field, name, "basic")) for field in ("qualified", "leaf")]
    )


def filtered(query: Query, filters: Filters, paths: Strings) -> Query:
    """The query narrowed, its scores unchanged; `paths` are all there are."""
    narrowing = [
        Query.term_query(SCHEMA, field, value, "basic")
        for field, value in (
            ("language", filters.language),
            ("repo", filters.repo),
            ("partition", filters.partition),
        )
        if value
    ]
    if filters.kinds:
        narrowing.append(Query.term_set_query(SCHEMA, "kind", list(filters.kinds)))
    if filters.path_prefix:
        narrowing.append(_beginning_with(filters.path_prefix, paths))
    if not narrowing:
        return query
    weightless = [(Occur.Must, Query.const_score_query(narrow, WEIGHTLESS)) for narrow in narrowing]
    return Query.boolean_query([(Occur.Must, query), *weightless])


def words(text: str) -> list[str]:
    """The raw words of a text, as the index keeps them."""
    return [word for word in WORD.findall(text.lower()) if len(word.encode()) < LONGEST_WORD]


def _beginning_with(prefix: str, paths: Strings) -> Query:
    """By a pattern, which is several times as quick as a list of thousands of paths, unless it would be too long."""
    known = range(*paths.codes_with_prefix(prefix))
    if known and len(prefix.encode()) <= LONGEST_PATTERN:
        return Query.regex_query(SCHEMA, "path", re.escape(prefix) + r"(?s:.)*")
    return Query.term_set_query(SCHEMA, "path", paths.many(known))


def _word(word: str, weight: float) -> Query:
    query = Query.term_query(SCHEMA, WORDS, word, FREQUENCIES)
    return query if weight == 1 else Query.boost_query(query, weight)
