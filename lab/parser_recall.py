"""Compares the parsers with universal-ctags: how many of its functions, classes and types are units of the index.

python -m lab.parser_recall FOLDER… [--misses N]
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import orjson

from treeline.ingest.parsers.formats import DOCUMENTS, KEYS
from treeline.ingest.parsers.registry import grammar_of
from treeline.ingest.parsers.units import FileLocation, parse_file

# The kinds of tags that are definitions, by ctags' names for them.
FUNCTIONS = frozenset(
    """function func method procedure subroutine macro singletonMethod constructor generator delegate""".split()
)
TYPES = frozenset(
    """class struct interface trait enum union typedef type typealias protocol object module record implementation
    talias alias newtype data_type category extension""".split()
)
# Not definitions: imported names, which ctags lists as aliases or modules, and constructors, part of their type.
OTHER = {
    ("Python", "module"), ("Rust", "module"), ("Haskell", "module"), ("PHP", "alias"), ("Sh", "alias"),
    ("Ruby", "alias"), ("OCaml", "module"), ("Erlang", "module"), ("Fortran", "module"), ("Julia", "module"),
    ("EmacsLisp", "alias"), ("C#", "typedef"), ("ObjectiveC", "category"), ("Haskell", "constructor"),
    ("Elixir", "test"),
}  # fmt: skip
ANONYMOUS = re.compile(r"__anon|<lambda>|Anonymous|anonFunc|Companion$|(?:class|default|deriving|infix[lr]?|pattern)$")
SEPARATOR = re.compile(r"::|:|->|#")
SKIPPED = frozenset((*DOCUMENTS, *KEYS, "text"))
MAX_BYTES = 2_000_000


def tags(folder: Path) -> Iterator[dict[str, object]]:
    command = ["ctags", "-R", "--output-format=json", "--fields=+neKl", "--kinds-C=+p", "-f", "-", str(folder)]
    for line in subprocess.run(command, capture_output=True, check=True).stdout.splitlines():
        tag = orjson.loads(line)
        if tag.get("_type") == "tag":
            yield tag


def is_definition(tag: dict[str, object], lines: list[str]) -> bool:
    """Whether a tag is a definition: ctags also lists imported names, record fields, empty macros, examples in docs."""
    language, kind, name = str(tag["language"]), str(tag["kind"]), str(tag["name"])
    line = lines[int(str(tag["line"])) - 1]
    if (language, kind) in OTHER or ANONYMOUS.match(name):
        return False
    if kind == "macro" and language in ("C", "C++"):
        return f"{name}(" in line
    if kind == "function" and language in ("C", "C++") and name.isupper() and line.startswith(name):
        return False  # `TEST(Store, Opens) {`: the index has the name that the macro makes
    if (language, kind) == ("TypeScript", "alias"):
        return bool(re.search(rf"\btype {name}\b[^,]*=", line))
    if language == "Rust" and kind == "typedef":
        return not line.startswith((" ", "\t"))
    if language == "Elixir":
        return "\n".join(lines[: int(str(tag["line"]))]).count('"""') % 2 == 0
    return language != "Haskell" or kind != "function" or line.startswith((name, f"({name})"))


def parts(name: str) -> set[str]:
    """A qualified name and the parts to compare: `Class.method` → `method`, `Trait for Type` → both."""
    name = name.replace("operator ", "operator")
    dotted_name = SEPARATOR.sub(".", name)
    return {
        name,
        dotted_name,
        dotted_name.rpartition(".")[2],
        *name.split(" for ")[:1],
        *map(plain, name.split(" for ")),
    }


def plain(name: str) -> str:
    return re.sub(r"<.*>|\{.*\}", "", name).rpartition(".")[2].rpartition("::")[2]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--misses", type=int, default=0)
    inputs = options.parse_args()
    names_listed, results, misses = (
        Counter[tuple[str, str]](),
        Counter[tuple[str, str]](),
        defaultdict[str, list[str]](list),
    )
    for folder in inputs.folders:
        by_file: dict[str, list[dict[str, object]]] = defaultdict(list)
        for tag in tags(folder):
            by_file[str(tag["path"])].append(tag)
        for path, some in sorted(by_file.items()):
            source = Path(path).read_bytes()
            grammar = grammar_of(path, source)
            if grammar is None or grammar.name in SKIPPED or len(source) > MAX_BYTES:
                continue
            parses = parse_file(grammar, source, FileLocation("", path, "", ""), path, MAX_BYTES)
            names = {part for unit in parses.functions if unit.kind != "file" for part in parts(unit.func_name)}
            names |= {part for facts in parses.facts for symbol in facts.symbols for part in parts(symbol.name)}
            spans = [unit.address.lines or (0, 0) for unit in parses.functions if unit.kind in ("function", "method")]
            lines = source.decode("utf-8", "replace").split("\n")
            for tag in some:
                kind, name, line = str(tag["kind"]), str(tag["name"]), int(str(tag["line"]))
                group = "function" if kind in FUNCTIONS else "type" if kind in TYPES else ""
                if not group or not is_definition(tag, lines):
                    continue
                is_found = not names.isdisjoint(parts(name))
                # Definitions inside a function belong to its unit.
                if not is_found and any(first < line <= last for first, last in spans):
                    continue
                names_listed[grammar.name, group] += 1
                results[grammar.name, group] += is_found
                if not is_found:
                    misses[grammar.name].append(f"{path}:{line} {kind} {name}")
    for key in sorted(names_listed):
        print(
            f"{key[0]:12} {key[1]:9} {results[key]:6} of {names_listed[key]:6} {results[key] / names_listed[key]:7.1%}"
        )
    for language, missed in misses.items():
        for miss in missed[: inputs.misses]:
            print(language, miss)


if __name__ == "__main__":
    main()
