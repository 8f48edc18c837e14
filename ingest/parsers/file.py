"""One source file to `Function`s and facts."""

from __future__ import annotations

from dataclasses import dataclass

from treeline.corpus.function import Function
from treeline.graph.references import FileFacts
from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.outline import Found, TooTangled, outline
from treeline.ingest.parsers.strip import without_doc
from treeline.ingest.parsers.tokens import code_tokens, docstring_tokens
from treeline.ingest.source import Parsed, Problem

UTF_8 = frozenset({"utf-8", "utf-8-sig"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file lives; `url` is its address without lines."""

    repo: str
    path: str
    sha: str
    url: str


def parse_file(grammar: Grammar, source: bytes, place: Place, file: str, max_function_bytes: int) -> Parsed:
    """Every function of a file; what is no text is refused, as are what does not parse and what is too long."""
    encoding = grammar.encoding_of(source)
    try:
        text = source.decode(encoding)
        if encoding not in UTF_8:
            source = text.encode()
    except UnicodeDecodeError as wrong:
        line = source.count(b"\n", 0, wrong.start) + 1
        return Parsed(problems=(Problem(file, line, f"not {encoding.upper()}: {wrong.reason}"),))
    except (LookupError, ValueError) as wrong:  # `rot13` turns text into text
        return Parsed(problems=(Problem(file, 0, f"encoding {encoding} cannot be read: {wrong}"),))
    try:
        seen = outline(grammar, source)
    except TooTangled as tangled:
        return Parsed(problems=(Problem(file, 0, str(tangled)),))
    functions, problems = [], []
    if seen.broken_at:
        problems.append(Problem(file, seen.broken_at, "does not parse: what begins there may be missing"))
    for found in seen.functions:
        if found.end - found.start > max_function_bytes:
            reason = f"function {found.name} of {found.end - found.start:,} bytes is over {max_function_bytes:,}"
            problems.append(Problem(file, found.first_line, reason))
        else:
            functions.append(_function(grammar, source, place, found))
    facts = FileFacts(place.repo, place.path, grammar.name, seen.symbols, seen.imports, seen.references)
    return Parsed(tuple(functions), (facts,), tuple(problems))


def _function(grammar: Grammar, source: bytes, place: Place, found: Found) -> Function:
    code = without_doc(source, found.start, found.end, found.doc).decode("utf-8", "replace")
    return Function(
        repo=place.repo,
        path=place.path,
        func_name=found.name,
        original_string=source[found.start : found.end].decode("utf-8", "replace"),
        language=grammar.name,
        code=code,
        code_tokens=code_tokens(code, grammar.line_comment),
        docstring=found.doc.text,
        docstring_tokens=docstring_tokens(found.doc.text),
        sha=place.sha,
        partition="",
        url=f"{place.url}#L{found.first_line}-L{found.last_line}",
    )
