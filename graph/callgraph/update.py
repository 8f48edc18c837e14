"""Updates the call graph of a repository after some of its files changed, without resolving the others again.

A reference is resolved by looking up names: those it is written with, that of the class around it, and those that
their types, imports and base classes are written with. So the references of a file stay as they are unless one of
these names is among those that an edit added, removed or gave another meaning. Where that is hard to tell (other base
classes, star imports, a package's own file), there is no update, and the caller builds the graph.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Sequence, Set
from itertools import chain, count
from posixpath import basename, dirname, splitext

import numpy as np

from treeline.graph.callgraph.build import (
    INHERITANCE,
    PROTOCOLS,
    FileEntry,
    GraphBuilder,
    digest_of,
    edge_rows,
    entry_of,
    implement,
    inherit,
    part_of,
    refer,
    with_digests,
)
from treeline.graph.callgraph.classes import ONE_SCOPE, File
from treeline.graph.callgraph.imports import dialect
from treeline.graph.callgraph.resolve import Resolver
from treeline.graph.callgraph.storage import ALL_METHODS, HOWS, SEPARATOR, Array, Part, strings_of
from treeline.graph.facts import unpack_facts
from treeline.graph.references import CLASSES, CONSTRUCTORS, NODE_KINDS, RELATIONS, FileFacts, Import, last_of

# Beyond these, building the graph takes about as long.
MOST_FILES, MOST_WORDS = 0.2, 300
# Files that decide what other files are imported as.
PACKAGE_FILES = frozenset({"__init__", "mod", "lib", "main", "index"})
CLASS_BY_MODULE = ONE_SCOPE | {"kotlin", "elixir"}  # the module of an import may be a class
WORD = re.compile(r"\w+")


class NoUpdate(Exception):
    """The graph has to be built."""


def update(part: Part, pieces: Sequence[bytes]) -> tuple[Part, Set[str]] | None:
    """The graph for these packed facts, from that of earlier ones, and the paths of the files that changed; None if it
    has to be built. Its nodes have no function ids yet."""
    try:
        return _Update(part, pieces).run()
    except NoUpdate:
        return None


class _Update:
    """One update; `_numbers` are the new numbers of the earlier graph's nodes."""

    def __init__(self, part: Part, pieces: Sequence[bytes]) -> None:
        arrays = part.arrays
        self._part, self._graph = part, GraphBuilder()
        self._paths, self._names = (list(strings_of(name, arrays)) for name in ("paths", "names"))
        self._imports, self._types = (strings_of(name, arrays) for name in ("imports", "types"))
        self._kinds = [NODE_KINDS[kind] for kind in arrays["node_kind"].tolist()]
        self._lines = arrays["node_line"].tolist()
        self._starts = np.searchsorted(arrays["node_file"], np.arange(part.files + 1)).tolist()
        languages = list(strings_of("languages", arrays))
        self._languages = [languages[code] for code in arrays["file_language"].tolist()]
        self._number = {path: number for number, path in enumerate(self._paths)}
        self._numbers = np.full(part.nodes, -1, dtype=np.int64)
        self._pieces = {digest_of(piece): piece for piece in pieces}
        if len(self._pieces) != len(pieces):
            raise NoUpdate
        self._path_of: dict[int, str] = {}
        self._changes: dict[str, list[FileFacts]] = {}
        self._compare()

    def run(self) -> tuple[Part, Set[str]]:
        graph, entries = self._graph, self._entries()
        words = self._words(entries)
        again = [entry for entry in entries if entry.file.path in self._changes] + self._written_with(words, entries)
        again.sort(key=lambda entry: entry.number)
        resolver = Resolver([entry.file for entry in entries], graph.names, graph.kinds, graph.lines)
        self._inherit(resolver, again)
        edges = self._edges(again, implied=not words)
        if words:
            own = (resolver.classes.file_of[node].language for node in resolver.classes.by_name("Protocol"))
            if "python" in own:  # a base of this name need not be the library's
                raise NoUpdate
            protocols = {node for node, bases in graph.bases.items() if PROTOCOLS.intersection(bases)}
            implement(graph, resolver, entries, protocols)
        refer(graph, resolver, again)
        part = part_of(self._part.repo, graph, entries, resolver, np.concatenate([edges, edge_rows(graph)]))
        return with_digests(part, ((path, digest) for digest, path in self._path_of.items())), self._changes.keys()

    def _compare(self) -> None:
        """Find the path of each piece, and the facts of the files that changed; none for one that is gone."""
        arrays, repo = self._part.arrays, self._part.repo
        files = np.repeat(np.arange(self._part.files), np.diff(arrays["facts.ends"])).tolist()
        old = {digest: self._paths[file] for digest, file in zip(arrays["facts"].tolist(), files, strict=True)}
        new = {digest: list(unpack_facts(repo, piece)) for digest, piece in self._pieces.items() if digest not in old}
        if not old or any(len(facts) != 1 for facts in new.values()):
            raise NoUpdate
        self._path_of = {digest: new[digest][0].path if digest in new else old[digest] for digest in self._pieces}
        gone = (path for digest, path in old.items() if digest not in self._pieces)
        self._changes = {path: [] for path in chain(gone, (self._path_of[digest] for digest in new))}
        if len(self._changes) > max(1, MOST_FILES * self._part.files):
            raise NoUpdate
        for digest, path in self._path_of.items():
            if path in self._changes:
                self._changes[path] += new.get(digest) or unpack_facts(repo, self._pieces[digest])

    def _file(self, number: int, first: int) -> File:
        """A file of the earlier graph; its nodes are numbered from `first`."""
        imports, types = self._imports[number].split(SEPARATOR), self._types[number].split(SEPARATOR)
        return File(
            self._paths[number],
            self._languages[number],
            dict(zip(self._names[self._starts[number] : self._starts[number + 1]], count(first), strict=False)),
            list(map(Import, imports[0::3], imports[1::3], imports[2::3])),
            dict(zip(types[0::2], types[1::2], strict=False)),
        )

    def _entries(self) -> list[FileEntry]:
        """All files; those that did not change come without references."""
        graph = self._graph
        entries: list[FileEntry] = []
        for path in sorted(self._number.keys() | self._changes.keys()):
            number, first = self._number.get(path), len(graph.names)
            nodes = slice(0, 0) if number is None else slice(self._starts[number], self._starts[number + 1])
            if path not in self._changes and number is not None:
                entries.append(FileEntry(self._file(number, first), len(entries)))
                graph.names += self._names[nodes]
                graph.kinds += self._kinds[nodes]
                graph.lines.extend(self._lines[nodes])
                graph.files.extend([len(entries) - 1] * (nodes.stop - nodes.start))
                self._numbers[nodes] = np.arange(first, len(graph.names))
            elif self._changes[path]:
                entry = entry_of(len(entries), self._changes[path], graph)
                entries.append(entry)
                self._numbers[nodes] = [entry.file.nodes.get(name, -1) for name in self._names[nodes]]
        return entries

    def _words(self, entries: Sequence[FileEntry]) -> Set[str]:
        """The words of all names that may mean something else than before."""
        words: set[str] = set()
        modules: set[str] = set()
        classes: set[str] = set()
        after = {entry.file.path: entry.file for entry in entries}
        folders = set(map(dirname, self._paths)) ^ set(map(dirname, after))
        for path in self._changes:
            number = self._number.get(path)
            old = File(path, "") if number is None else self._file(number, self._starts[number])
            new = after.get(path) or File(path, "")
            symbols = _symbols(old, self._kinds, self._lines) ^ _symbols(new, self._graph.kinds, self._graph.lines)
            names = {name for name, _, _ in symbols} | {name for name, _ in old.types.items() ^ new.types.items()}
            # A constructor is reached by the name of its class too.
            parts = [name.removesuffix("()").rpartition(".") for name in names]
            constructors = {outer for outer, _, last in parts if last in CONSTRUCTORS}
            classes.update(last_of(name) for name, kind, _ in symbols if kind in CLASSES)
            if any(not WORD.search(last_of(name)) for name, _, _ in symbols if name):
                raise NoUpdate  # an operator, which others need not spell out
            words |= _words_in(chain(names, constructors, _other_aliases(old, new)))
            if old.language != new.language:  # new or gone
                stem = splitext(basename(path))[0]
                if stem in PACKAGE_FILES:
                    raise NoUpdate
                modules |= _words_in([stem, basename(dirname(path)) if dirname(path) in folders else ""])
            elif symbols and dialect(new.language) == "javascript":  # its default export depends on all its names
                modules |= _words_in([path])
        if classes:
            members = (name for name in chain(self._names, self._graph.names) if "." in name)
            words |= _words_in(name for name in members if last_of(name.rpartition(".")[0]) in classes)
        return self._closure(words | modules, modules, [entry.file for entry in entries]) if words | modules else words

    def _closure(self, words: Set[str], modules: Set[str], files: Sequence[File]) -> Set[str]:
        """These words and those of the names whose types, imports or bases are written with them."""
        holders = np.repeat(np.arange(self._part.nodes), np.diff(self._part.arrays["inherits.ends"])).tolist()
        bases = self._part.arrays["inherits"].tolist()
        pairs = [(self._names[node], last_of(self._names[base])) for node, base in zip(holders, bases, strict=True)]
        in_modules = _any_of(modules)
        first: set[str] = set()
        for file in files:
            pairs += file.types.items()
            by_module = file.language in CLASS_BY_MODULE
            for entry in file.imports:
                pairs.append((entry.alias or entry.name, f"{entry.module} {entry.name}" if by_module else entry.name))
                if modules and in_modules.search(entry.module):
                    first |= _words_in([entry.alias or entry.name or "*"])
        result, fresh = {*words, *first}, {*words, *first}
        while fresh:
            if len(result) > MOST_WORDS or "*" in result:
                raise NoUpdate
            some = _any_of(fresh)
            fresh = _words_in(name for name, meaning in pairs if some.search(meaning)) - result
            result |= fresh
        return result

    def _written_with(self, words: Set[str], entries: Iterable[FileEntry]) -> list[FileEntry]:
        """The files that did not change, but have a reference that is written with one of the words."""
        if not words:
            return []
        by_path = {entry.file.path: entry for entry in entries}
        some, some_bytes = _any_of(words), re.compile(_any_of(words).pattern.encode())
        others: dict[str, FileEntry] = {}
        for digest, path in self._path_of.items():
            if path not in self._changes and some_bytes.search(zlib.decompress(self._pieces[digest])):
                entry = by_path[path]
                for facts in unpack_facts(self._part.repo, self._pieces[digest]):
                    entry.references += facts.references
                if any(some.search(one.target) or some.search(one.source) for one in entry.references):
                    others[path] = entry
        return list(others.values())

    def _inherit(self, resolver: Resolver, again: Iterable[FileEntry]) -> None:
        """Take over what classes inherit from; no update if a file that is resolved again says otherwise."""
        graph, arrays = self._graph, self._part.arrays
        unresolved = strings_of("bases", arrays)
        ends, bases = arrays["inherits.ends"].tolist(), self._numbers[arrays["inherits"]].tolist()
        for node, number in enumerate(self._numbers.tolist()):
            if number >= 0 and ends[node] < ends[node + 1]:
                graph.inherits[number] = dict.fromkeys(bases[ends[node] : ends[node + 1]])
                for base in graph.inherits[number]:
                    if base < 0:
                        raise NoUpdate
                    resolver.extend(number, base)
        for node in np.flatnonzero(np.diff(arrays["bases.ends"])).tolist():
            number = int(self._numbers[node])
            if number >= 0:
                graph.bases[number] = unresolved[node].split("\n")
                resolver.classes.unresolved.add(number)
        before = {}
        for entry in again:
            for node in entry.file.nodes.values():
                before[node] = graph.inherits.pop(node, {}), graph.bases.pop(node, [])
        inherit(graph, resolver, again)
        for node, (old, names) in before.items():
            if list(old) != list(graph.inherits.get(node, ())) or names != graph.bases.get(node, []):
                raise NoUpdate

    def _edges(self, again: Iterable[FileEntry], *, implied: bool) -> Array:
        """The edges that stay: those from files that are not resolved again, and (`implied`) those that follow from the
        methods of a class. Otherwise the edges of inheritance are put into the graph, so that none is there twice."""
        graph, arrays = self._graph, self._part.arrays
        sources = np.repeat(self._numbers, np.diff(arrays["out.ends"]))
        columns = (sources, self._numbers[arrays["out.nodes"]], arrays["out.relations"], arrays["out.hows"])
        edges = np.column_stack(columns).astype(np.int32)
        edges = edges[edges[:, 0] >= 0]
        files = np.array(graph.files, dtype=np.int32)[edges[:, 0]]
        is_implied = edges[:, 3] == HOWS.index(ALL_METHODS)
        edges = edges[np.where(is_implied, implied, ~np.isin(files, [entry.number for entry in again]))]
        if (edges[:, 1] < 0).any():
            raise NoUpdate
        if not implied:
            inherits = np.isin(edges[:, 2], [RELATIONS.index(relation) for relation in INHERITANCE])
            for source, target, relation, how in edges[inherits].tolist():
                graph.edges.setdefault((source, target, relation), how)
            edges = edges[~inherits]
        return edges


def _symbols(file: File, kinds: Sequence[str], lines: Sequence[int]) -> set[tuple[str, str, bool]]:
    """The names of a file with what matters to others: the kind, and whether it has a definition of its own."""
    return {(name, kinds[node], lines[node] > 0) for name, node in file.nodes.items()}


def _other_aliases(old: File, new: File) -> Iterable[str]:
    """The names that two versions of a file import differently."""
    if [entry for entry in old.imports if entry.name == "*"] != [entry for entry in new.imports if entry.name == "*"]:
        raise NoUpdate
    before, after = ({entry.alias: entry for entry in file.imports} for file in (old, new))
    other = [alias for alias, _ in before.items() ^ after.items()]
    # `import a.b` and `import a.c` both bind `a`, in this order.
    dotted = [alias for alias in before if "." in alias] != [alias for alias in after if "." in alias]
    return [*other, *(alias for alias in (*before, *after) if dotted and "." in alias)]


def _words_in(names: Iterable[str]) -> set[str]:
    """The words of the last parts of names; of the whole of one whose last part has none (`Box.[]`)."""
    return {word for name in names for word in WORD.findall(last_of(name)) or WORD.findall(name)}


def _any_of(words: Collection[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(words)))})(?!\w)")
