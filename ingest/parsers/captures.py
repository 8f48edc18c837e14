"""Runs a language's query over a text: the nodes that it captures, by capture name.

A file with faults is read piece by piece where that finds more; a text that takes too long is given up.
"""

from __future__ import annotations

import re
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from time import monotonic, thread_time
from typing import TypeVar

import numpy as np
from tree_sitter import Node, Parser, Point, Query, QueryCursor, Range
from tree_sitter_language_pack import get_language

from treeline.graph.references import Relation
from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.shape import CAPTURES, patterns

# Captures that define something; if two match the same node, the first one here counts.
DEFINITIONS = ("function", "signature", "interface", "enum", "class", "type", "scope", "constant")
# Captures that refer to something, and how.
RELATION_OF: dict[str, Relation] = {
    "call": "calls",
    "made": "calls",
    "bare": "calls",
    "extends": "extends",
    "implements": "implements",
    "uses": "uses",
}
ERROR = "broken"  # what does not parse, in any language
HEAD = "head"  # looks like a call, and names a definition
# What is read of a function on its own.
ALONE = frozenset({"function", "import", "local", HEAD, *RELATION_OF, *CAPTURES})
CAPTURE = re.compile(rb"@([\w.-]+)")
# Two megabytes of real code take a second; the rest is for a busy machine.
TIMEOUT_S = 30
# With less processor time than this part of it, the process was stopped (a closed lid), and it is tried again.
WORKING = 1 / 3
Result = TypeVar("Result")


# Some grammars crash, or take gigabytes, on texts that nobody writes: thousands of the same few letters, or brackets
# hundreds deep. What may be one is parsed in a process that it may end.
SUSPECT_BYTES = 1_000  # a shorter text is harmless
SUSPECT_DEPTH = 200  # brackets
SUSPECT_RATIO = 20  # of the text to what zlib makes of it; code has 3 to 8
BRACKETS = np.zeros(256, dtype=np.int8)
BRACKETS[list(b"([{")] = 1
BRACKETS[list(b")]}")] = -1


def is_suspect_source(source: bytes) -> bool:
    """Whether a text may crash the grammar that parses it."""
    if len(source) < SUSPECT_BYTES:
        return False
    depths = BRACKETS[np.frombuffer(source, dtype=np.uint8)].cumsum(dtype=np.int32)
    return int(depths.max()) > SUSPECT_DEPTH or len(source) > SUSPECT_RATIO * len(zlib.compress(source, 1))


class TooTangled(ValueError):
    """Parsing took too long: generated nesting, for which tree-sitter's time is quadratic in the depth."""


@cache
def _machine(grammar: Grammar, alone: bool) -> tuple[Parser, QueryCursor, Query]:
    """The parser and query of a language, made once per process (the query must outlive its cursor).

    `alone` is for functions on their own: patterns for anything else are off.
    """
    language = get_language(grammar.pack or grammar.name)  # type: ignore[arg-type]
    shapes = patterns(language, grammar.name)
    text = f"{grammar.query}\n{shapes}\n[(ERROR) (MISSING)] @{ERROR}".encode()
    query = Query(language, text.decode())
    count: int = query.pattern_count  # type: ignore[assignment] # the stub calls it a method
    read = ALONE | {"bind"} if "@bare" in grammar.query else ALONE  # a bare name may be a variable
    for number in range(count if alone else 0):
        pattern = text[query.start_byte_for_pattern(number) : query.end_byte_for_pattern(number)]
        if read.isdisjoint(name.decode() for name in CAPTURE.findall(pattern)):
            query.disable_pattern(number)
    with warnings.catch_warnings():
        # Its successor, a callback, crashes the interpreter in this version of the bindings.
        warnings.simplefilter("ignore", DeprecationWarning)
        timeout = int(TIMEOUT_S * 1_000_000)
        return Parser(language, timeout_micros=timeout), QueryCursor(query, timeout_micros=timeout), query


def captures_of(grammar: Grammar, source: bytes, *, alone: bool = False) -> dict[str, list[Node]]:
    """The nodes that the language's query captures, by capture name; raises `TooTangled` if that takes too long."""
    return _captures(grammar, source, alone)[2]


def _captures(grammar: Grammar, source: bytes, alone: bool = False) -> tuple[bytes, Node, dict[str, list[Node]]]:
    """The text that was parsed, its root and the captured nodes."""
    source = grammar.repair(source)
    root, captures = _run_query(grammar, source, alone=alone)
    if grammar.mend is not None and root.has_error:
        source = grammar.mend(source)
        root, captures = _run_query(grammar, source, alone=alone)
    return source, root, captures


def recovered_captures(grammar: Grammar, source: bytes) -> tuple[Node, dict[str, list[Node]]]:
    """The root and the captured nodes of a file, piece by piece where that finds more of a file with faults."""
    source, root, captures = _captures(grammar, source)
    if _faulty(captures):
        pieces = _captures_by_piece(grammar, source)
        more, fewer = _count(pieces) - _count(captures), _faulty(captures) - _faulty(pieces)
        if more >= 0 and fewer >= 0 and more + fewer:
            return root, pieces
    return root, captures


def _run_query(
    grammar: Grammar, source: bytes, ranges: Sequence[Range] = (), *, alone: bool = False
) -> tuple[Node, dict[str, list[Node]]]:
    """The root of a text's tree and what the query captures, of the whole text or of these ranges."""
    parser, cursor, _query = _machine(grammar, alone)
    try:
        if ranges:
            parser.included_ranges = list(ranges)
        tree = _within_timeout(lambda: parser.parse(source), "parsed", parser)
    finally:
        if ranges:
            parser.included_ranges = []
    # `captures` gives them in file order, so it holds back what it finds inside a captured node until that node ends.
    # In a file that is one call with a function (lodash) its time is quadratic. `matches` holds nothing back.
    captures: dict[str, set[Node]] = defaultdict(set)
    for _, match in _within_timeout(lambda: cursor.matches(tree.root_node), "searched", parser):
        for capture, nodes in match.items():
            captures[capture].update(nodes)
    return tree.root_node, {capture: list(nodes) for capture, nodes in captures.items()}


def _within_timeout(call: Callable[[], Result], verb: str, parser: Parser) -> Result:
    """The result of parsing or searching, which tree-sitter gives up by the clock."""
    before = thread_time()
    while True:
        start = monotonic()
        with suppress(ValueError):
            result = call()
            if monotonic() - start < TIMEOUT_S:  # after a timeout the cursor returns what it has so far
                return result
        parser.reset()
        if monotonic() - start < TIMEOUT_S or thread_time() - before >= WORKING * TIMEOUT_S:
            raise TooTangled(f"not {verb} within {TIMEOUT_S} s")


def _captures_by_piece(grammar: Grammar, source: bytes) -> dict[str, list[Node]]:
    """The captured nodes if each top-level definition is parsed for itself, so that a fault ends with it."""
    nodes_by_name: dict[str, list[Node]] = defaultdict(list)
    start, at, line = thread_time(), 0, 0
    simpler = grammar.simplify(source) if grammar.simplify is not None else source
    cuts = (cut.end() for cut in grammar.cut.finditer(source))
    for end in (*cuts, len(source)):
        after = line + source.count(b"\n", at, end)
        # A piece starts where a line does.
        piece = Range(Point(line, 0), Point(after, end - source.rfind(b"\n", 0, end) - 1), at, end)
        ranges = [*_prefix(grammar, source, at), piece]
        _, captures = _run_query(grammar, source, ranges)
        if simpler is not source and _faulty(captures):
            captures = min(captures, _run_query(grammar, simpler, ranges)[1], key=_faulty)
        for capture, nodes in captures.items():
            nodes_by_name[capture] += nodes
        at, line = end, after
        if thread_time() - start >= TIMEOUT_S:
            raise TooTangled(f"not parsed within {TIMEOUT_S} s")
    return nodes_by_name


def _prefix(grammar: Grammar, source: bytes, before: int) -> list[Range]:
    """The text that every piece needs in front: PHP's `<?php`."""
    prefix = grammar.opening.match(source, 0, before) if grammar.opening is not None else None
    if prefix is None:
        return []
    line = source.count(b"\n", 0, prefix.end())
    column = prefix.end() - (source.rfind(b"\n", 0, prefix.end()) + 1)
    return [Range(Point(0, 0), Point(line, column), 0, prefix.end())]


def _faulty(captures: Mapping[str, Sequence[Node]]) -> int:
    """The bytes that do not parse."""
    return sum(node.end_byte - node.start_byte for node in captures.get(ERROR, ()))


def _count(captures: Mapping[str, Sequence[Node]]) -> int:
    """The definitions."""
    return sum(len(captures.get(kind, ())) for kind in DEFINITIONS)
