"""Builds the call graph of an index from what the parsers saw in its files, repository by repository."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from corpus.function import Address
from graph.callgraph_resolve import HOWS, File, Resolver
from graph.packed import pack, string_arrays
from graph.references import FileFacts, Relation

RELATIONS: tuple[Relation, ...] = get_args(Relation)
KINDS = ("function", "class", "interface", "module")
INHERITANCE = ("extends", "implements")
STRUCTURAL = len(HOWS) - 1  # "has all its methods"
PROTOCOLS = frozenset({"Protocol", "typing.Protocol", "typing_extensions.Protocol", "t.Protocol"})


@dataclass(slots=True)
class _Seen:
    """One file on the way: its symbols' nodes, and its references as numbers (relation, source, target)."""

    repo: str
    file: File
    number: int
    references: array[int] = field(default_factory=lambda: array("i"))


@dataclass(slots=True)
class _Graph:
    """Nodes and edges while they are being collected."""

    names: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    files: array[int] = field(default_factory=lambda: array("i"))
    lines: array[int] = field(default_factory=lambda: array("i"))
    edges: dict[tuple[int, int, int], int] = field(default_factory=dict)  # (source, target, relation) → how

    def node(self, seen: _Seen, name: str, kind: str, line: int) -> int:
        found = seen.file.nodes.get(name)
        if found is None:
            found = seen.file.nodes[name] = len(self.names)
            self.names.append(name)
            self.kinds.append(kind)
            self.files.append(seen.number)
            self.lines.append(line)
        elif kind != "function":  # the class itself, where only its methods had been seen
            self.kinds[found], self.lines[found] = kind, line
        return found

    def edge(self, source: int, target: int, relation: Relation, how: str) -> None:
        self.edges.setdefault((source, target, RELATIONS.index(relation)), HOWS.index(how))


def build(facts: Iterable[FileFacts], addresses: Iterable[tuple[str, Address]]) -> bytes:
    """The artifact `callgraph`; `addresses` are the functions of the index, so that nodes know their ids."""
    graph = _Graph()
    words: dict[str, int] = {}
    files = _collect(facts, graph, words)
    spelled = list(words)
    by_repo: dict[str, list[_Seen]] = defaultdict(list)
    for seen in files.values():
        by_repo[seen.repo].append(seen)
    owners: dict[int, int] = {}
    for seen_files in by_repo.values():
        resolver = Resolver((seen.file for seen in seen_files), graph.names, graph.kinds)
        _resolve(graph, resolver, seen_files, spelled)
        owners |= resolver.owner
    return pack(_arrays(graph, list(files.values()), owners, _ids_of(addresses, files, len(graph.names))))


def _collect(facts: Iterable[FileFacts], graph: _Graph, words: dict[str, int]) -> dict[tuple[str, str], _Seen]:
    """One entry a file, its pieces put together, with every name a number: references are most of the memory."""
    files: dict[tuple[str, str], _Seen] = {}
    for fact in facts:
        seen = files.get((fact.repo, fact.path))
        if seen is None:
            seen = files[fact.repo, fact.path] = _Seen(fact.repo, File(fact.path, fact.language), len(files))
        seen.file.imports.extend(fact.imports)
        for symbol in fact.symbols:
            graph.node(seen, symbol.name, symbol.kind, symbol.first_line)
        for reference in fact.references:
            if not reference.source:
                graph.node(seen, "", "module", 1)
            source = words.setdefault(reference.source, len(words))
            target = words.setdefault(reference.target, len(words))
            seen.references.extend((RELATIONS.index(reference.relation), source, target))
    for seen in files.values():
        # CodeSearchNet keeps functions alone: their classes are known from the methods' names.
        if seen.file.language not in ("go",):
            for name in [name for name in seen.file.nodes if "." in name]:
                _owner(graph, seen, name.rpartition(".")[0])
    return files


def _owner(graph: _Graph, seen: _Seen, name: str) -> None:
    if name not in seen.file.nodes:
        graph.node(seen, name, "class", 0)


def _triples(seen: _Seen, spelled: Sequence[Any]) -> Iterator[tuple[Relation, Any, Any]]:
    numbers = iter(seen.references)
    for relation, source, target in zip(numbers, numbers, numbers, strict=True):
        yield RELATIONS[relation], spelled[source], spelled[target]


def _resolve(graph: _Graph, resolver: Resolver, files: Sequence[_Seen], words: Sequence[str]) -> None:
    """Inheritance first, because calls on `self` are looked for in what a class extends."""
    protocols: list[int] = []
    for seen in files:
        for relation, source, target in _triples(seen, words):
            if relation in INHERITANCE:
                node = _source(seen, source)
                if target in PROTOCOLS:
                    protocols.append(node)
                found, how = resolver.resolve(seen.file, source.rpartition(".")[0], target, guess=False)
                for base in found:
                    if base != node and graph.kinds[base] in ("class", "interface"):
                        resolver.bases[node].append(base)
                        graph.edge(node, base, relation, how)
    _structural(graph, resolver, files, protocols)
    for seen in files:
        for relation, source, target in _triples(seen, words):
            if relation not in INHERITANCE:
                found, how = resolver.resolve(seen.file, source, target, guess=relation == "calls")
                node = _source(seen, source)
                for other in found:
                    graph.edge(node, other, relation, how)
                    if relation == "calls" and graph.kinds[other] == "class":
                        constructor = resolver.constructor(other)
                        if constructor is not None:
                            graph.edge(node, constructor, relation, how)


def _source(seen: _Seen, name: str) -> int:
    """The node that refers: the symbol, or the nearest outer one that is known, or the module."""
    while name and name not in seen.file.nodes:
        name = name.rpartition(".")[0]
    return seen.file.nodes[name] if name in seen.file.nodes else next(iter(seen.file.nodes.values()))


def _structural(graph: _Graph, resolver: Resolver, files: Sequence[_Seen], protocols: Sequence[int]) -> None:
    """Go interfaces and Python protocols are implemented by whoever has all their methods."""
    nodes = [(node, seen.file.language) for seen in files for node in seen.file.nodes.values()]
    wanted = [(node, "python") for node in protocols]
    wanted += [(node, "go") for node, language in nodes if language == "go" and graph.kinds[node] == "interface"]
    holders: dict[tuple[str, str], set[int]] = defaultdict(set)
    for node, language in nodes:
        if graph.kinds[node] == "class":
            for member in resolver.members.get(node, ()):
                holders[language, member].add(node)
    for interface, language in wanted:
        methods = [name for name in resolver.members.get(interface, ()) if not name.startswith("__")]
        if methods:
            for node in sorted(set.intersection(*(holders[language, name] for name in methods))):
                if node != interface and node not in protocols:
                    graph.edge(node, interface, "implements", HOWS[STRUCTURAL])


def _ids_of(
    addresses: Iterable[tuple[str, Address]], files: dict[tuple[str, str], _Seen], nodes: int
) -> list[list[str]]:
    ids: list[list[str]] = [[] for _ in range(nodes)]
    for id_, address in addresses:
        seen = files.get((address.repo, address.path))
        node = seen.file.nodes.get(address.func_name) if seen else None
        if node is not None:
            ids[node].append(id_)
    return ids


def _arrays(
    graph: _Graph, files: Sequence[_Seen], owners: dict[int, int], ids: list[list[str]]
) -> dict[str, NDArray[Any]]:
    count = len(graph.names)
    repos, languages = sorted({seen.repo for seen in files}), sorted({seen.file.language for seen in files})
    repo_number = {name: number for number, name in enumerate(repos)}
    language_number = {name: number for number, name in enumerate(languages)}
    flat_ids = np.array([bytes.fromhex(id_) for some in ids for id_ in some], dtype="S16")
    owner = np.full(count, -1, dtype=np.int32)
    if owners:
        owner[list(owners)] = list(owners.values())
    arrays: dict[str, NDArray[Any]] = {
        **string_arrays("names", graph.names),
        **string_arrays("repos", repos),
        **string_arrays("paths", (seen.file.path for seen in files)),
        **string_arrays("languages", languages),
        **string_arrays("hows", HOWS),
        "file_repo": np.array([repo_number[seen.repo] for seen in files], dtype=np.int32),
        "file_language": np.array([language_number[seen.file.language] for seen in files], dtype=np.int16),
        "node_file": np.array(graph.files, dtype=np.int32),
        "node_kind": np.array([KINDS.index(kind) for kind in graph.kinds], dtype=np.uint8),
        "node_line": np.array(graph.lines, dtype=np.int32),
        "owner": owner,
        "ids": flat_ids,
        "id_ends": _ends([len(some) for some in ids]),
        "id_order": np.argsort(flat_ids, kind="stable").astype(np.int32),
        "id_node": np.repeat(np.arange(count, dtype=np.int32), [len(some) for some in ids]),
    }
    arrays |= _grouped("member", np.flatnonzero(owner >= 0), owner[owner >= 0], count, ("members", "member_ends"))
    arrays |= _by_last_name(graph.names)
    edges = np.array([(*key, how) for key, how in graph.edges.items()], dtype=np.int32).reshape(-1, 4)
    arrays |= _directed("out", edges[:, 0], edges[:, 1], edges, count)
    arrays |= _directed("in", edges[:, 1], edges[:, 0], edges, count)
    return arrays


def _by_last_name(names: Sequence[str]) -> dict[str, NDArray[Any]]:
    lasts = [name.rpartition(".")[2].lower() for name in names]
    distinct = sorted({last for last in lasts if last}, key=lambda last: last)
    number = {last: place for place, last in enumerate(distinct)}
    nodes = np.array([node for node, last in enumerate(lasts) if last], dtype=np.int64)
    keys = np.array([number[last] for last in lasts if last], dtype=np.int64)
    return string_arrays("lasts", distinct) | _grouped("last", nodes, keys, len(distinct), ("last_nodes", "last_ends"))


def _grouped(
    _what: str, values: NDArray[Any], keys: NDArray[Any], groups: int, into: tuple[str, str]
) -> dict[str, NDArray[Any]]:
    """Values sorted by key, and where each key's begin and end."""
    order = np.argsort(keys, kind="stable")
    return {into[0]: values[order].astype(np.int32), into[1]: _ends(np.bincount(keys, minlength=groups))}


def _directed(
    direction: str, keys: NDArray[Any], others: NDArray[Any], edges: NDArray[Any], nodes: int
) -> dict[str, NDArray[Any]]:
    order = np.lexsort((others, keys))
    return {
        f"{direction}.ends": _ends(np.bincount(keys, minlength=nodes)),
        f"{direction}.nodes": others[order].astype(np.int32),
        f"{direction}.relations": edges[order, 2].astype(np.uint8),
        f"{direction}.hows": edges[order, 3].astype(np.uint8),
    }


def _ends(counts: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends
