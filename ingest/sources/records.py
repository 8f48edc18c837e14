"""Turns stored records (a JSON line, a parquet row, a pool entry) into `Function`s with the docstring taken out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from treeline.corpus.function import LINES_IN_URL, Function
from treeline.graph.references import FileFacts
from treeline.ingest.parsers.captures import TooTangled
from treeline.ingest.parsers.comments import without_doc
from treeline.ingest.parsers.outline import Single, single
from treeline.ingest.parsers.registry import grammars
from treeline.ingest.source import Parsed, Problem, ReadOptions

# CodeSearchNet's own name first, then the Hugging Face columns and the evaluation pool's.
NAMES: dict[str, tuple[str, ...]] = {
    "repo": ("repo", "repository_name", "nwo"),
    "path": ("path", "func_path_in_repository"),
    "func_name": ("func_name", "identifier"),
    "original_string": ("original_string", "whole_func_string", "func_code_string", "function", "code"),
    "language": ("language",),
    "docstring": ("docstring", "func_documentation_string"),
    "sha": ("sha",),
    "partition": ("partition", "split_name"),
    "url": ("url", "func_code_url"),
}
TOKENS: dict[str, tuple[str, ...]] = {
    "code_tokens": ("code_tokens", "func_code_tokens", "function_tokens"),
    "docstring_tokens": ("docstring_tokens", "func_documentation_tokens"),
}
KNOWN = frozenset(name for names in (*NAMES.values(), *TOKENS.values()) for name in names)
COMMIT_IN_URL = re.compile(r"/blob/([0-9a-f]{40})/")
# The names are those of docs/how-to/load.md.
FIELDS = {"repo": "repo", "path": "path", "func_name": "func_name", "original_string": "code", "language": "language"}


class BadRecord(ValueError):
    """A record that cannot become a `Function`, and why."""


def parse_records(
    records: Iterable[tuple[int, Mapping[str, object] | str]],
    file: str,
    defaults: Mapping[str, str],
    options: ReadOptions,
) -> Parsed:
    """Turns numbered records (or why one could not be read) into functions, facts by file, and problems."""
    functions: list[Function] = []
    problems: list[Problem] = []
    facts: dict[tuple[str, str, str], list[Single]] = {}
    shapes: dict[str, str] = {}
    for line, record in records:
        if isinstance(record, str):
            problems.append(Problem(file, line, record))
            continue
        try:
            function, syntax = to_function(record, defaults, options.max_function_bytes)
        except BadRecord as bad:
            problems.append(Problem(file, line, str(bad)))
            continue
        if options.languages and function.language not in options.languages:
            continue
        functions.append(function)
        if syntax is not None:
            facts.setdefault((function.repo, function.path, function.language), []).append(syntax)
            if shape := syntax.marks.terms():
                shapes[function.id] = shape
    every = tuple(_facts(*key, syntax) for key, syntax in facts.items())
    return Parsed(tuple(functions), every, tuple(problems), shapes=shapes)


def to_function(
    record: Mapping[str, object], defaults: Mapping[str, str], max_bytes: int
) -> tuple[Function, Single | None]:
    """The function and its references (none for a language without a parser)."""
    values = {field: _text(record, field, names) for field, names in NAMES.items()}
    for field, value in defaults.items():
        values[field] = values[field] or value
    if missing := [name for field, name in FIELDS.items() if not values[field]]:
        raise BadRecord(f"missing {', '.join(missing)}")
    if not values["sha"] and (commit := COMMIT_IN_URL.search(values["url"])):
        values["sha"] = commit[1]
    code = values["original_string"]
    source = code.encode("utf-8")
    if len(source) > max_bytes:
        raise BadRecord(f"function of {len(source):,} bytes is over the limit of {max_bytes:,}")
    grammar = grammars().get(values["language"])
    syntax = None
    if grammar is not None:
        try:
            syntax = single(grammar, source, values["func_name"], _first_line(values["url"]))
        except TooTangled as tangled:
            raise BadRecord(str(tangled)) from tangled
        if syntax.doc.end:
            code = without_doc(source, 0, len(source), syntax.doc).decode("utf-8", "replace")
            values["docstring"] = values["docstring"] or syntax.doc.text
    tokens, summary = (_tokens(record, names) for names in TOKENS.values())
    return Function(**values, code=code, code_tokens=tokens, docstring_tokens=summary), syntax


def _text(record: Mapping[str, object], field: str, names: Sequence[str]) -> str:
    for name in names:
        value = record.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise BadRecord(f"{name} is not text")
        if not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError as error:
                raise BadRecord(f"{field} is not valid Unicode (a lone surrogate)") from error
        return value
    return ""


def _tokens(record: Mapping[str, object], names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        value = record.get(name)
        if isinstance(value, list | tuple):
            try:
                "".join(value)  # the fastest check that all are text: a function has about a hundred
            except TypeError:
                return tuple(token for token in value if isinstance(token, str))
            return tuple(value)
    return ()


def _first_line(url: str) -> int:
    """The first line in the file, from the URL; 1 if the URL has none."""
    match = LINES_IN_URL.search(url)
    return int(match[1]) if match else 1


def _facts(repo: str, path: str, language: str, parts: Sequence[Single]) -> FileFacts:
    return FileFacts(
        repo,
        path,
        language,
        tuple(one.symbol for one in parts),
        tuple(dict.fromkeys(one_import for one in parts for one_import in one.imports)),
        tuple(reference for one in parts for reference in one.references),
    )
