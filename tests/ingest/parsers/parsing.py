"""Parse a piece of source in a language, and look at it by name."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from treeline.corpus.function import Function
from treeline.graph.references import FileFacts
from treeline.ingest.parsers.file import Place, parse_file
from treeline.ingest.parsers.registry import by_suffix
from treeline.ingest.source import MAX_FUNCTION_BYTES


@dataclass(frozen=True)
class Seen:
    """The functions of a file by name, and its facts."""

    functions: dict[str, Function]
    facts: FileFacts

    @property
    def names(self) -> list[str]:
        return list(self.functions)

    @property
    def lines(self) -> dict[str, tuple[int, int] | None]:
        return {name: function.address.lines for name, function in self.functions.items()}

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
    place = Place("owner/name", f"src/file{suffix}", "0" * 40, "https://github.com/owner/name/blob/0/src/file")
    text = dedent(source).lstrip("\n").encode()
    parsed = parse_file(by_suffix()[suffix], text, place, "file", MAX_FUNCTION_BYTES)
    assert not parsed.problems
    return Seen({function.func_name: function for function in parsed.functions}, parsed.facts[0])
