"""Compares the parsers with universal-ctags: which of its functions, classes and types are units of the index.

python scripts/parser_recall.py FOLDER… [--misses N]
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import orjson

from treeline.ingest.parsers.registry import grammar_of
from treeline.ingest.parsers.units import Place, parse_file

# The kinds of tags that are definitions, by ctags' names for them.
FUNCTIONS = frozenset(
    """function func method procedure subroutine macro singletonMethod constructor generator delegate""".split()
)
TYPES = frozenset(
    """class struct interface trait enum union typedef type typealias protocol object module record implementation
    talias alias newtype data_type category extension""".split()
)
# Not what the parsers look for: import aliases are no modules, and a Perl package is no class.
OTHER = {("Python", "module"), ("Go", "package"), ("Perl", "package"), ("Rust", "module"), ("Haskell", "module")}
MAX_BYTES = 2_000_000


def tags(folder: Path) -> Iterator[dict[str, object]]:
    command = ["ctags", "-R", "--output-format=json", "--fields=+neKl", "--kinds-C=+p", "-f", "-", str(folder)]
    for line in subprocess.run(command, capture_output=True, check=True).stdout.splitlines():
        tag = orjson.loads(line)
        if tag.get("_type") == "tag":
            yield tag


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--misses", type=int, default=0)
    given = options.parse_args()
    listed, found, misses = Counter[tuple[str, str]](), Counter[tuple[str, str]](), defaultdict[str, list[str]](list)
    for folder in given.folders:
        by_file: dict[str, list[dict[str, object]]] = defaultdict(list)
        for tag in tags(folder):
            by_file[str(tag["path"])].append(tag)
        for path, some in sorted(by_file.items()):
            source = Path(path).read_bytes()
            grammar = grammar_of(path, source[:512])
            if grammar is None or not grammar.query or len(source) > MAX_BYTES:
                continue
            names = {
                part
                for unit in parse_file(grammar, source, Place("", path, "", ""), path, MAX_BYTES).functions
                for part in (unit.func_name, *unit.func_name.replace(" for ", ".").split("."))
                if unit.kind != "file"
            }
            for tag in some:
                kind, name = str(tag["kind"]), str(tag["name"])
                group = "function" if kind in FUNCTIONS else "type" if kind in TYPES else ""
                if not group or (str(tag["language"]), kind) in OTHER or name.startswith("__anon"):
                    continue
                listed[grammar.name, group] += 1
                leaf = name.rpartition("::")[2].rpartition(".")[2]
                if name in names or leaf in names:
                    found[grammar.name, group] += 1
                else:
                    misses[grammar.name].append(f"{path}:{tag['line']} {kind} {name}")
    for key in sorted(listed):
        print(f"{key[0]:12} {key[1]:9} {found[key]:6} of {listed[key]:6} {found[key] / listed[key]:7.1%}")
    for language, some in misses.items():
        for miss in some[: given.misses]:
            print(language, miss)


if __name__ == "__main__":
    main()
