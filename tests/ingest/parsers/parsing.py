"""Parse a text as a file of some name."""

from textwrap import dedent

from treeline.corpus.function import Function
from treeline.ingest.parsers.registry import grammar_of
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import MAX_FUNCTION_BYTES, Parsed


def parse(file: str, source: bytes, max_function_bytes: int = MAX_FUNCTION_BYTES) -> Parsed:
    grammar = grammar_of(file, source)
    assert grammar is not None
    location = FileLocation("owner/name", f"src/{file}", "", "https://example.org/file")
    return parse_file(grammar, source, location, file, max_function_bytes)


def units(file: str, source: str) -> list[Function]:
    """The units of an indented text."""
    return list(parse(file, dedent(source).lstrip("\n").encode()).functions)


def unit(file: str, source: str, name: str) -> Function:
    """The only unit of this name."""
    [match] = [unit for unit in units(file, source) if unit.func_name == name]
    return match


def names(file: str, source: str) -> list[str]:
    """The names of the functions and methods."""
    return [unit.func_name for unit in units(file, source) if unit.kind in ("function", "method")]
