"""Parse a piece of source in a language, and look at it by name."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from treeline.corpus.function import Function
from treeline.graph.references import FileFacts
from treeline.ingest.parsers.registry import by_suffix
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import MAX_FUNCTION_BYTES


@dataclass(frozen=True)
class Seen:
    """The functions of a file by name, its other units by kind and name, and its facts."""

    functions: dict[str, Function]
    units: dict[tuple[str, str], Function]
    facts: FileFacts

    @property
    def names(self) -> list[str]:
        return list(self.functions)

    @property
    def lines(self) -> dict[str, tuple[int, int] | None]:
        return {name: function.address.lines for name, function in self.functions.items()}

    def kind(self, kind: str) -> list[str]:
        """The names of all units of a kind."""
        return [name for found, name in self.units if found == kind]

    def targets(self, relation: str, source: str | None = None) -> list[str]:
        return [
            one.target
            for one in self.facts.references
            if one.relation == relation and (source is None or one.source == source)
        ]

    @property
    def symbols(self) -> set[tuple[str, str]]:
        return {(symbol.name, symbol.kind) for symbol in self.facts.symbols}

    @property
    def imports(self) -> list[tuple[str, str, str]]:
        return [(one.module, one.name, one.alias) for one in self.facts.imports]


def see(suffix: str, source: str) -> Seen:
    place = FileLocation("owner/name", f"src/file{suffix}", "0" * 40, "https://github.com/owner/name/blob/0/src/file")
    text = dedent(source).lstrip("\n").encode()
    parsed = parse_file(by_suffix()[suffix], text, place, "file", MAX_FUNCTION_BYTES)
    assert not parsed.problems
    functions = {unit.func_name: unit for unit in parsed.functions if unit.kind in ("function", "method")}
    return Seen(functions, {(unit.kind, unit.func_name): unit for unit in parsed.functions}, parsed.facts[0])
