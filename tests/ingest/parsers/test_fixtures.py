"""Every file below `fixtures/` gives the units, imports and references of its snapshot.

A folder is a language, a file's name the claim that it makes. Add a file, then run `make snapshots` and read what was
written.
"""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.ingest.parsers.parsing import parse
from tests.snapshots import SUFFIX, check, fixtures
from treeline.ingest.parsers.registry import grammars
from treeline.ingest.source import Parsed

FIXTURES = Path(__file__).parent / "fixtures"
FILES = fixtures(FIXTURES)


def describe(parsed: Parsed) -> Iterator[str]:
    """One line for each unit (kind, name, lines, docstring, shape) and each fact of a file."""
    for problem in parsed.problems:
        yield f"problem {problem.line}: {problem.reason}"
    for unit in parsed.functions:
        first, last = unit.address.lines or (0, 0)
        docstring = orjson.dumps(unit.docstring).decode() if unit.docstring else ""
        shape = parsed.shapes.get(unit.id, "")
        yield " ".join(filter(None, (f"{unit.kind} {first}-{last} `{unit.func_name}`", docstring, shape)))
    for facts in parsed.facts:
        yield from (f"import {one.module} {one.name or '-'} as {one.alias or '-'}" for one in facts.imports)
        yield from (f"symbol {one.kind} {one.first_line}-{one.last_line} `{one.name}`" for one in facts.symbols)
        yield from (f"{one.relation} {one.line} `{one.source}` `{one.target}`" for one in facts.references)
        yield from (f"typed `{one.name}` `{one.value}`" for one in facts.types)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FIXTURES)))
def test_a_file_is_parsed_as_its_snapshot_says(file: Path) -> None:
    parsed = parse(file.name, file.read_bytes())
    assert {unit.language for unit in parsed.functions} == {file.parent.name}
    check(file.with_name(file.name + SUFFIX), "".join(f"{line}\n" for line in describe(parsed)))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FIXTURES)))
def test_the_text_of_a_definition_is_that_of_its_lines(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").split("\n")
    for unit in parse(file.name, file.read_bytes()).functions:
        if unit.kind in ("function", "method", "constant", "type"):
            assert unit.address.lines is not None
            first, last = unit.address.lines
            text = unit.original_string.strip().split("\n")
            assert len(text) == last - first + 1, unit.func_name
            assert all(part.strip() in line for part, line in zip(text, lines[first - 1 : last], strict=True))


def test_every_language_has_a_fixture() -> None:
    assert {file.parent.name for file in FILES} >= set(grammars())
