"""Builds the call graph of an index from the parsers' facts, repository by repository."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain

import numpy as np

from treeline.corpus.function import Address
from treeline.graph.callgraph.classes import File
from treeline.graph.callgraph.resolve import Resolver
from treeline.graph.callgraph.storage import (
    ALL_METHODS,
    HOWS,
    SEPARATOR,
    Array,
    Arrays,
    Part,
    assemble,
    ends_of,
    group_arrays,
    string_arrays,
    strings_of,
)
from treeline.graph.facts import unpack_facts
from treeline.graph.references import CLASSES, NODE_KINDS, RELATIONS, FileFacts, NodeKind, Reference, Relation

INHERITANCE = ("extends", "implements")
PROTOCOLS = frozenset({"Protocol", "typing.Protocol", "typing_extensions.Protocol", "t.Protocol"})


@dataclass(slots=True)
class GraphBuilder:
    """A graph under construction. Nodes are numbered; each edge is kept once."""

    names: list[str] = field(default_factory=list)
    kinds: list[NodeKind] = field(default_factory=list)
    files: array[int] = field(default_factory=lambda: array("i"))
    lines: array[int] = field(default_factory=lambda: array("i"))
    edges: dict[tuple[int, int, int], int] = field(default_factory=dict)  # (source, target, relation) → how
    owners: dict[int, int] = field(default_factory=dict)  # member → class
    inherits: dict[int, dict[int, None]] = field(default_factory=dict)  # class → its bases, in order
    bases: dict[int, list[str]] = field(default_factory=dict)  # class → names of bases that were not resolved

    def add(self, name: str, kind: NodeKind, file: int, line: int) -> int:
        self.names.append(name)
        self.kinds.append(kind)
        self.files.append(file)
        self.lines.append(line)
        return len(self.names) - 1

    def edge(self, source: int, target: int, relation: Relation, how: str) -> None:
        self.edges.setdefault((source, target, RELATIONS.index(relation)), HOWS.index(how))


@dataclass(slots=True)
class FileEntry:
    """One file under construction: its symbols' nodes, and its references."""

    file: File
    number: int
    references: list[Reference] = field(default_factory=list)

    def node(self, graph: GraphBuilder, name: str, kind: NodeKind, line: int) -> None:
        symbol = self.file.nodes.get(name)
        if symbol is None:
            self.file.nodes[name] = graph.add(name, kind, self.number, line)
        elif kind != "function":  # the class's own definition, after only its methods were seen
            graph.kinds[symbol], graph.lines[symbol] = kind, line

    def nearest(self, name: str) -> str:
        """This symbol, or the nearest enclosing one that has a node; empty for the module."""
        while name and name not in self.file.nodes:
            name = name.rpartition(".")[0]
        return name

    def referring(self, name: str) -> int:
        """The node that a reference starts from: the nearest enclosing symbol with a node, or the module."""
        return self.file.nodes[self.nearest(name)]


def build(facts: Iterable[FileFacts], addresses: Iterable[tuple[str, Address]]) -> bytes:
    """The `callgraph` artifact. `addresses` are the index's functions; they give the nodes their ids."""
    by_repo: dict[str, list[FileFacts]] = defaultdict(list)
    for fact in facts:
        by_repo[fact.repo].append(fact)
    functions: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for id_, address in addresses:
        functions[address.repo].append((id_, address.path, address.func_name))
    return assemble(repository(repo, some).with_ids(functions[repo]) for repo, some in by_repo.items())


def repository(repo: str, facts: Iterable[FileFacts]) -> Part:
    """The graph of one repository, files sorted by path. Its nodes have no function ids yet."""
    graph = GraphBuilder()
    files = _collect(sorted(facts, key=lambda fact: fact.path), graph)
    resolver = Resolver([entry.file for entry in files], graph.names, graph.kinds, graph.lines)
    implement(graph, resolver, files, inherit(graph, resolver, files))
    refer(graph, resolver, files)
    return part_of(repo, graph, files, resolver, edge_rows(graph))


def of_pieces(repo: str, pieces: Sequence[bytes]) -> Part:
    """The graph of one repository from its packed facts, which `update` compares with later ones."""
    facts = [list(unpack_facts(repo, piece)) for piece in pieces]
    part = repository(repo, (fact for some in facts for fact in some))
    if any(len(some) != 1 for some in facts):  # records of many files in one: they are not told apart
        return part
    return with_digests(part, [(some[0].path, digest_of(piece)) for some, piece in zip(facts, pieces, strict=True)])


def digest_of(piece: bytes) -> int:
    return int.from_bytes(blake2b(piece, digest_size=8).digest(), "little")


def with_digests(part: Part, digests: Iterable[tuple[str, int]]) -> Part:
    """The same graph with the digests of the packed facts of each file (by path)."""
    number = {path: number for number, path in enumerate(strings_of("paths", part.arrays))}
    rows = np.array([(number[path], digest) for path, digest in digests], dtype=np.uint64).reshape(-1, 2)
    order = np.argsort(rows[:, 0], kind="stable")
    ends = ends_of(np.bincount(rows[:, 0].astype(np.int64), minlength=part.files))
    return Part(part.repo, part.arrays | {"facts": rows[order, 1], "facts.ends": ends})


def part_of(repo: str, graph: GraphBuilder, files: Sequence[FileEntry], resolver: Resolver, edges: Array) -> Part:
    graph.owners |= resolver.classes.owner
    arrays = node_arrays(graph) | file_arrays([entry.file for entry in files]) | edge_arrays(edges, len(graph.names))
    return with_digests(Part(repo, arrays).with_ids(()), ())


def _collect(facts: Iterable[FileFacts], graph: GraphBuilder) -> list[FileEntry]:
    """Merges the facts of each file into one entry, whose nodes have consecutive numbers."""
    by_path: dict[str, list[FileFacts]] = defaultdict(list)
    for fact in facts:
        by_path[fact.path].append(fact)
    return [entry_of(number, some, graph) for number, some in enumerate(by_path.values())]


def entry_of(number: int, facts: Sequence[FileFacts], graph: GraphBuilder) -> FileEntry:
    """A file from its facts; its nodes have consecutive numbers."""
    entry = FileEntry(File(facts[0].path, facts[0].language), number)
    for fact in facts:
        entry.file.imports.extend(fact.imports)
        entry.file.types.update(fact.types)
        for symbol in fact.symbols:
            entry.node(graph, symbol.name, symbol.kind, symbol.first_line)
        entry.references += fact.references
    if entry.file.language != "go":  # a Go method's type may be in another file of the package
        for name in [name for name in entry.file.nodes if "." in name]:
            # CodeSearchNet has only functions: classes are inferred from the names of their methods.
            owner = name.rpartition(".")[0]
            if owner not in entry.file.nodes:
                entry.node(graph, owner, "class", 0)
    if not all(entry.nearest(reference.source) for reference in entry.references):
        entry.node(graph, "", "module", 1)
    return entry


def inherit(graph: GraphBuilder, resolver: Resolver, files: Iterable[FileEntry]) -> set[int]:
    """Resolves inheritance; returns the protocols. Before calls, because calls on `self` are looked up in the bases."""
    protocols: set[int] = set()
    for entry in files:
        for reference in entry.references:
            if reference.relation in INHERITANCE:
                node = entry.referring(reference.source)
                if reference.target in PROTOCOLS:
                    protocols.add(node)
                outer = reference.source.rpartition(".")[0]
                targets, how = resolver.resolve(entry.file, outer, reference.target, guess=False)
                bases = [base for base in targets if base != node and resolver.classes.is_class(base)]
                for base in bases:
                    resolver.extend(node, base)
                    graph.inherits.setdefault(node, {})[base] = None
                    graph.edge(node, base, reference.relation, how)
                if not bases:  # in another repository, or not indexed: kept for searches by the base's name
                    graph.bases.setdefault(node, []).append(reference.target)
                    resolver.classes.unresolved.add(node)
    return protocols


def implement(graph: GraphBuilder, resolver: Resolver, files: Iterable[FileEntry], protocols: set[int]) -> None:
    """Adds `implements` edges: a class with all methods of a Go interface or Python protocol implements it."""
    holders: dict[tuple[str, str], set[int]] = defaultdict(set)
    interfaces = [(node, "python") for node in sorted(protocols)]
    for entry in files:
        for node in entry.file.nodes.values():
            if graph.kinds[node] == "class":
                for member in resolver.classes.members.get(node, ()):
                    holders[entry.file.language, member].add(node)
            elif graph.kinds[node] == "interface" and entry.file.language == "go":
                interfaces.append((node, "go"))
    for interface, language in interfaces:
        methods = [name for name in resolver.classes.members.get(interface, ()) if not name.startswith("__")]
        if methods:
            having = set.intersection(*(holders[language, name] for name in methods))
            for node in sorted(having - protocols - {interface}):
                graph.edge(node, interface, "implements", ALL_METHODS)


def refer(graph: GraphBuilder, resolver: Resolver, files: Iterable[FileEntry]) -> None:
    """Adds the edges of calls and uses. A call of a class is also a call of its constructor."""
    for entry in files:
        for reference in entry.references:
            relation, source, target = reference.relation, reference.source, reference.target
            if relation in INHERITANCE:
                continue
            targets, how = resolver.resolve(entry.file, source, target, guess=relation == "calls")
            node = entry.referring(source) if targets else -1
            for other in targets:
                if relation == "calls" and graph.kinds[other] in CLASSES and entry.file.language == "go":
                    graph.edge(node, other, "uses", how)  # `T(x)` is a conversion
                    continue
                graph.edge(node, other, relation, how)
                if relation == "calls" and graph.kinds[other] == "class":
                    constructor = resolver.classes.constructor(other)
                    if constructor is not None:
                        graph.edge(node, constructor, relation, how)


def node_arrays(graph: GraphBuilder) -> Arrays:
    """The nodes' names, kinds, files, lines, members and unresolved bases."""
    count = len(graph.names)
    owner = np.full(count, -1, dtype=np.int32)
    owner[list(graph.owners)] = list(graph.owners.values())
    members = np.flatnonzero(owner >= 0)
    inherits = [graph.inherits.get(node, ()) for node in range(count)]
    return {
        **string_arrays("names", graph.names),
        **string_arrays("bases", ("\n".join(graph.bases.get(node, ())) for node in range(count))),
        "node_file": np.array(graph.files, dtype=np.int32),
        "node_kind": np.array([NODE_KINDS.index(kind) for kind in graph.kinds], dtype=np.uint8),
        "node_line": np.array(graph.lines, dtype=np.int32),
        **group_arrays("members", members, owner[members], count),
        "inherits": np.fromiter(chain.from_iterable(inherits), dtype=np.int32),
        "inherits.ends": ends_of(np.array(list(map(len, inherits)), dtype=np.int64)),
    }


def file_arrays(files: Sequence[File]) -> Arrays:
    """The path and language of every file, its imports, and the types of its names."""
    languages = sorted({file.language for file in files})
    return {
        **string_arrays("languages", languages),
        **string_arrays("paths", (file.path for file in files)),
        **string_arrays("imports", (SEPARATOR.join(chain.from_iterable(file.imports)) for file in files)),
        **string_arrays("types", (SEPARATOR.join(chain.from_iterable(file.types.items())) for file in files)),
        "file_language": np.array([languages.index(file.language) for file in files], dtype=np.int16),
    }


def edge_rows(graph: GraphBuilder) -> Array:
    """The edges, each as source, target, relation and how."""
    return np.array([(*key, how) for key, how in graph.edges.items()], dtype=np.int32).reshape(-1, 4)


def edge_arrays(edges: Array, nodes: int) -> Arrays:
    """The edges, stored twice: grouped by source node and by target node."""
    arrays: Arrays = {}
    for direction, here, there in (("out", 0, 1), ("in", 1, 0)):
        order = np.lexsort((edges[:, 2], edges[:, there], edges[:, here]))
        arrays |= {
            f"{direction}.ends": ends_of(np.bincount(edges[:, here], minlength=nodes)),
            f"{direction}.nodes": edges[order, there],
            f"{direction}.relations": edges[order, 2].astype(np.uint8),
            f"{direction}.hows": edges[order, 3].astype(np.uint8),
        }
    return arrays
