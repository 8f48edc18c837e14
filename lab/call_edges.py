"""Compares the call graph of a folder with the calls that another tool finds.

python -m lab.call_edges FOLDER ROWS [--language NAME] [--wrong N] [--missed N] [--observed]

ROWS has one JSON object per call: `path` and `line` of the call, the `name` called, and `callee_path` and
`callee_line`, a line of the definition. `callee_path` is empty if the tool does not know it, and `outside` for another
package. A row with line 0 says that the tool has read that file. The scripts in `lab/calls/` write these rows.

`--observed` is for rows from a test run, or from a compiler that skips code for other systems. They are incomplete: a
row confirms a call, but an edge of ours is only wrong if the same name was called from there and led elsewhere.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from pathlib import Path

import orjson

from treeline.graph.callgraph import POSSIBLE, load
from treeline.graph.callgraph.build import repository
from treeline.graph.callgraph.storage import assemble
from treeline.graph.references import CONSTRUCTORS, FileFacts, last_of
from treeline.ingest.parsers.registry import grammar_of
from treeline.ingest.parsers.units import FileLocation, parse_file

MAX_BYTES = 2_000_000
Symbol = tuple[str, str]  # path and qualified name
Edge = tuple[Symbol, Symbol]


def facts_of(folder: Path, language: str) -> list[FileFacts]:
    results: list[FileFacts] = []
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if not file.is_file() or any(part.startswith(".") or part == "node_modules" for part in path.split("/")):
            continue
        source = file.read_bytes()
        grammar = grammar_of(path, source)
        if grammar is not None and grammar.query and len(source) < MAX_BYTES and language in ("", grammar.name):
            results += parse_file(grammar, source, FileLocation("", path, "", ""), path, MAX_BYTES).facts
    return results


class Places:
    """The symbols of every file, by the lines they span."""

    def __init__(self, facts: list[FileFacts]) -> None:
        self._spans = {fact.path: fact.symbols for fact in facts}
        self._paths = [path for path in self._spans if path.endswith((".h", ".hpp"))]  # of out-of-class constructors
        self._classes = {
            (fact.path, one.name) for fact in facts for one in fact.symbols if one.kind in ("class", "interface")
        }

    def around(self, path: str, line: int) -> list[Symbol]:
        """The innermost symbol at a line, and its parent if it starts on this line, because the tool may mean either.
        The module if there is none."""
        results: list[Symbol] = []
        inside = [one for one in self._spans.get(path, ()) if one.first_line <= line <= one.last_line]
        for one in sorted(inside, key=lambda one: one.last_line - one.first_line):
            results.append((path, one.name))
            if one.first_line != line:
                return results
        return [*results, (path, "")] if path in self._spans else []

    def defined(self, path: str, line: int, name: str) -> Symbol | None:
        """The symbol of this name at a line, or else the innermost class or function."""
        inside = [one for one in self._spans.get(path, ()) if one.first_line <= line <= one.last_line]
        best = min(inside, key=lambda one: (last_of(one.name) != name, one.last_line - one.first_line), default=None)
        if best is None or (last_of(best.name) != name and best.first_line != line):
            same = [one for one in self._spans.get(path, ()) if one.name == name]  # TypeScript's interface of that name
            best = same[0] if same else best
        if best is None:
            return None
        is_it = last_of(best.name) == name or best.first_line == line or best.kind != "function"
        return (path, best.name) if is_it or self.plain((path, best.name)) != (path, best.name) else None

    def plain(self, symbol: Symbol) -> Symbol:
        """The symbol to compare: for a constructor, its class."""
        path, name = symbol
        outer, _, last = name.rpartition(".")
        is_constructor = outer and (last in CONSTRUCTORS or last == last_of(outer))
        if is_constructor and any((one, outer) in self._classes for one in (path, *self._paths)):
            return "class", outer
        return ("class", name) if symbol in self._classes else symbol


def edges_of(facts: list[FileFacts], places: Places) -> tuple[dict[Edge, str], Counter[str]]:
    """Every call edge and how it was resolved."""
    graph = load(assemble([repository("", facts)]))
    results: dict[Edge, str] = {}
    for node in range(len(graph)):
        caller = graph.symbol(node)
        steps = graph.walk([node], ("calls",), "out")
        creations = [step.node for step in steps if graph.is_class(step.node)]
        parents_of = {step.node for step in graph.walk(creations, ("extends",), "out", 10)}
        for step in steps:
            callee = graph.symbol(step.node)
            edge = (caller.path, caller.name), places.plain((callee.path, callee.name))
            # Creating an object calls an inherited constructor; other tools only name the class.
            if (
                callee.kind == "function"
                and edge[1] != (callee.path, callee.name)
                and any(step.node in graph.members(base) for base in parents_of)
            ):
                continue
            if results.get(edge, POSSIBLE) == POSSIBLE:
                results[edge] = step.how
    return results, Counter(results.values())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("rows", type=Path, nargs="?")
    options.add_argument("--language", default="")
    options.add_argument("--wrong", type=int, default=0)
    options.add_argument("--missed", type=int, default=0)
    options.add_argument("--sample", type=int, default=0, help="print this many known edges, to check by hand")
    options.add_argument("--observed", action="store_true")
    inputs = options.parse_args()
    facts = facts_of(inputs.folder, inputs.language)
    places = Places(facts)
    ours, hows = edges_of(facts, places)
    known = {edge for edge, how in ours.items() if how != POSSIBLE}
    print(f"{inputs.folder.name}: {len(known):,} known edges, {len(ours) - len(known):,} possible ({dict(hows)})")
    for edge in random.Random(7).sample(sorted(known), min(inputs.sample, len(known))):
        print("sample", describe(edge), f"({ours[edge]})")
    if inputs.rows is None:
        return
    theirs: set[Edge] = set()
    either: set[Edge] = set()  # edges whose caller is ambiguous from the line
    unsure: set[tuple[Symbol, str]] = set()
    calls: dict[tuple[Symbol, str], set[Symbol]] = defaultdict(set)
    read: set[str] = set()
    lines: dict[Edge, int] = {}
    for row in map(orjson.loads, inputs.rows.read_bytes().splitlines()):
        callers = places.around(row["path"], row["line"])
        if not row["line"]:
            read.add(row["path"])
        if not row["line"] or not callers:
            continue
        caller = callers[0]
        name = row["name"].rpartition(".")[2]
        if not row["callee_path"]:
            unsure.update((one, name) for one in callers)
            continue
        for one in callers:
            calls[one, name].add((row["callee_path"], ""))
        callee = places.defined(row["callee_path"], row["callee_line"], name)
        # Inner functions, and variables or fields that are called, are not symbols.
        if callee is not None:
            theirs.add((caller, places.plain(callee)))
            either.update((one, places.plain(callee)) for one in callers)
            lines.setdefault((caller, places.plain(callee)), row["line"])
    right, wrong = judged(known, either, unsure, read, calls, inputs.observed)
    print(report("known", right, wrong))
    print(report("possible", *judged(set(ours) - known, either, unsure, read, calls, inputs.observed)))
    print(
        f"recall: {len(known & theirs) / max(1, len(theirs)):.3f} known, "
        f"{len(set(ours) & theirs) / max(1, len(theirs)):.3f} with possible, of {len(theirs):,} edges"
    )
    for edge in random.Random(7).sample(sorted(wrong), min(inputs.wrong, len(wrong))):
        print("wrong", describe(edge), f"({ours[edge]})")
    misses = sorted(theirs - known)
    for edge in random.Random(7).sample(misses, min(inputs.missed, len(misses))):
        print("missed", describe(edge), f"line {lines[edge]}", ours.get(edge, ""))


def judged(
    edges: set[Edge],
    theirs: set[Edge],
    unsure: set[tuple[Symbol, str]],
    read: set[str],
    called: dict[tuple[Symbol, str], set[Symbol]],
    observed: bool,
) -> tuple[set[Edge], set[Edge]]:
    """The edges that the tool confirms, and those it contradicts; edges in files it has not read are left out."""
    right = edges & theirs
    wrong = set()
    for edge in edges - theirs:
        (path, name), (_, callee) = edge
        key = (path, name), last_of(callee)
        if observed:
            if called.get(key) and key not in unsure:  # a call of this name was seen here and led elsewhere
                wrong.add(edge)
        elif path in read and key not in unsure:
            wrong.add(edge)
    return right, wrong


def report(what: str, right: set[Edge], wrong: set[Edge]) -> str:
    share = len(right) / max(1, len(right) + len(wrong))
    return f"{what}: precision {share:.3f} ({len(right):,} right, {len(wrong):,} wrong)"


def describe(edge: Edge) -> str:
    (path, name), (callee_path, callee) = edge
    return f"{path}:{name or '(top level)'} → {callee_path}:{callee}"


if __name__ == "__main__":
    main()
