"""Builds the call graph of an index from what the parsers saw in its files, repository by repository."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from treeline.corpus.function import Address
from treeline.graph.callgraph_arrays import Collected, edge_arrays, file_arrays, node_arrays
from treeline.graph.callgraph_file import File
from treeline.graph.callgraph_parts import Part, assemble
from treeline.graph.callgraph_resolve import ALL_METHODS, Resolver
from treeline.graph.references import FileFacts, NodeKind, Reference

INHERITANCE = ("extends", "implements")
PROTOCOLS = frozenset({"Protocol", "typing.Protocol", "typing_extensions.Protocol", "t.Protocol"})


@dataclass(slots=True)
class _Seen:
    """One file on the way: its symbols' nodes, and its references."""

    file: File
    number: int
    references: list[Reference] = field(default_factory=list)

    def node(self, graph: Collected, name: str, kind: NodeKind, line: int) -> None:
        found = self.file.nodes.get(name)
        if found is None:
            self.file.nodes[name] = graph.add(name, kind, self.number, line)
        elif kind != "function":  # the class itself, where only its methods had been seen
            graph.kinds[found], graph.lines[found] = kind, line

    def referring(self, name: str) -> int:
        """The node that refers: the symbol, or the nearest outer one that is known, or the module."""
        while name and name not in self.file.nodes:
            name = name.rpartition(".")[0]
        return self.file.nodes[name] if name in self.file.nodes else next(iter(self.file.nodes.values()))


def build(facts: Iterable[FileFacts], addresses: Iterable[tuple[str, Address]]) -> bytes:
    """The artifact `callgraph`; `addresses` are the functions of the index, so that nodes know their ids."""
    by_repo: dict[str, list[FileFacts]] = defaultdict(list)
    for fact in facts:
        by_repo[fact.repo].append(fact)
    functions: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for id_, address in addresses:
        functions[address.repo].append((id_, address.path, address.func_name))
    return assemble(repository(repo, some).identified(functions[repo]) for repo, some in by_repo.items())


def repository(repo: str, facts: Iterable[FileFacts]) -> Part:
    """The graph of one repository, in the order of its paths; no function of the index is tied to it yet."""
    graph = Collected()
    files = _collect(sorted(facts, key=lambda fact: fact.path), graph)
    resolver = Resolver((seen.file for seen in files), graph.names, graph.kinds)
    _inherit(graph, resolver, files)
    _refer(graph, resolver, files)
    graph.owners |= resolver.classes.owner
    places = [(seen.file.path, seen.file.language) for seen in files]
    return Part(repo, {**node_arrays(graph), **file_arrays(places), **edge_arrays(graph)}).identified(())


def _collect(facts: Iterable[FileFacts], graph: Collected) -> list[_Seen]:
    """One entry a file, its pieces put together."""
    files: dict[str, _Seen] = {}
    for fact in facts:
        seen = files.get(fact.path)
        if seen is None:
            seen = files[fact.path] = _Seen(File(fact.path, fact.language), len(files))
        seen.file.imports.extend(fact.imports)
        for symbol in fact.symbols:
            seen.node(graph, symbol.name, symbol.kind, symbol.first_line)
        if not all(reference.source for reference in fact.references):
            seen.node(graph, "", "module", 1)
        seen.references += fact.references
    for seen in files.values():
        if seen.file.language != "go":  # a Go method's type may be in another file of the package
            for name in [name for name in seen.file.nodes if "." in name]:
                # CodeSearchNet keeps functions alone: their classes are known from the methods' names.
                owner = name.rpartition(".")[0]
                if owner not in seen.file.nodes:
                    seen.node(graph, owner, "class", 0)
    return list(files.values())


def _inherit(graph: Collected, resolver: Resolver, files: Sequence[_Seen]) -> None:
    """Inheritance goes first, because calls on `self` are looked for in what a class extends."""
    protocols: set[int] = set()
    for seen in files:
        for reference in seen.references:
            if reference.relation in INHERITANCE:
                node = seen.referring(reference.source)
                if reference.target in PROTOCOLS:
                    protocols.add(node)
                outer = reference.source.rpartition(".")[0]
                found, how = resolver.resolve(seen.file, outer, reference.target, guess=False)
                bases = [base for base in found if base != node and resolver.classes.is_class(base)]
                for base in bases:
                    resolver.extend(node, base)
                    graph.edge(node, base, reference.relation, how)
                if not bases:  # of another repository, or not indexed: who asks for it by name can still be told
                    graph.bases.setdefault(node, []).append(reference.target)
    _implement(graph, resolver, files, protocols)


def _implement(graph: Collected, resolver: Resolver, files: Sequence[_Seen], protocols: set[int]) -> None:
    """Go interfaces and Python protocols are implemented by whoever has all their methods."""
    holders: dict[tuple[str, str], set[int]] = defaultdict(set)
    interfaces = [(node, "python") for node in sorted(protocols)]
    for seen in files:
        for node in seen.file.nodes.values():
            if graph.kinds[node] == "class":
                for member in resolver.classes.members.get(node, ()):
                    holders[seen.file.language, member].add(node)
            elif graph.kinds[node] == "interface" and seen.file.language == "go":
                interfaces.append((node, "go"))
    for interface, language in interfaces:
        methods = [name for name in resolver.classes.members.get(interface, ()) if not name.startswith("__")]
        if methods:
            having = set.intersection(*(holders[language, name] for name in methods))
            for node in sorted(having - protocols - {interface}):
                graph.edge(node, interface, "implements", ALL_METHODS)


def _refer(graph: Collected, resolver: Resolver, files: Sequence[_Seen]) -> None:
    """Calls and uses; who calls a class calls its constructor."""
    for seen in files:
        for reference in seen.references:
            relation, source, target = reference.relation, reference.source, reference.target
            if relation in INHERITANCE:
                continue
            found, how = resolver.resolve(seen.file, source, target, guess=relation == "calls")
            node = seen.referring(source) if found else -1
            for other in found:
                graph.edge(node, other, relation, how)
                if relation == "calls" and graph.kinds[other] == "class":
                    constructor = resolver.classes.constructor(other)
                    if constructor is not None:
                        graph.edge(node, constructor, relation, how)
