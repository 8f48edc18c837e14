"""The call graph of an index: calls, inheritance, implementations and uses, walked in either direction.

Loading only makes views into the stored bytes, so it is fast at any size.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Literal, NamedTuple, get_args

import numpy as np

from treeline.corpus.errors import InputError
from treeline.corpus.function import is_re_export, module_of
from treeline.graph.callgraph.storage import FORMAT, Array, strings_of, unpack
from treeline.graph.references import CLASSES, NODE_KINDS, RELATIONS, NodeKind, Relation, dotted

Direction = Literal["in", "out"]
ARTIFACT = "callgraph"
ID_DIGITS = 32
NEAR = 50  # neighbours in the alphabet, on either side, that are compared with a name that was not found
SHORTEST_SHARED, LONGER = 3, 2  # the shortest word that similar names share, and how much their lengths may differ


def always(_repo: str) -> bool:
    return True


class GraphSymbol(NamedTuple):
    """A node of the graph. Overloads in one file share a node, so it may have several function ids."""

    name: str
    kind: NodeKind
    repo: str
    path: str
    language: str
    line: int
    ids: tuple[str, ...]


class Step(NamedTuple):
    """A node that a walk reached: by which relation, after how many edges, from which node, and how the edge's name
    was resolved. A tuple, because a walk makes ten thousand of them, and a dataclass takes three times as long."""

    node: int
    relation: Relation
    depth: int
    via: int
    how: str


class CallGraph:
    """The graph. Nodes are numbers; `symbol` describes one."""

    def __init__(self, data: bytes) -> None:
        arrays = unpack(data)
        if int(arrays.get("format", [0])[0]) != FORMAT:
            raise InputError("the index's call graph was made by another version of Treeline", "index it again")
        self._names, self._lasts = strings_of("names", arrays), strings_of("lasts", arrays)
        self._bases = strings_of("bases", arrays)
        self._repos, self._paths = strings_of("repos", arrays), strings_of("paths", arrays)
        self._languages, self._hows = list(strings_of("languages", arrays)), list(strings_of("hows", arrays))
        self._file_repo, self._file_language = arrays["file_repo"], arrays["file_language"]
        self._node_file, self._node_kind = arrays["node_file"], arrays["node_kind"]
        self._node_line = arrays["node_line"]
        self._members, self._member_ends = arrays["members"], arrays["members.ends"]
        self._last_nodes, self._last_ends = arrays["lasts.nodes"], arrays["lasts.nodes.ends"]
        self._ids, self._id_ends = arrays["ids"], arrays["ids.ends"]
        self._id_order, self._id_node = arrays["ids.order"], arrays["ids.node"]
        self._edges = {
            direction: tuple(arrays[f"{direction}.{part}"] for part in ("ends", "nodes", "relations", "hows"))
            for direction in get_args(Direction)
        }

    def __len__(self) -> int:
        return len(self._node_file)

    @property
    def edges(self) -> int:
        return len(self._edges["out"][1])

    def symbol(self, node: int) -> GraphSymbol:
        file = int(self._node_file[node])
        return GraphSymbol(
            name=self._names[node],
            kind=NODE_KINDS[self._node_kind[node]],
            repo=self._repos[int(self._file_repo[file])],
            path=self._paths[file],
            language=self._languages[int(self._file_language[file])],
            line=int(self._node_line[node]),
            ids=tuple(self.ids(node)),
        )

    def ids(self, node: int) -> list[str]:
        """The ids of the functions that this node stands for; none for a class or a module."""
        return [self._id(row) for row in range(self._id_ends[node], self._id_ends[node + 1])]

    def ids_of(self, nodes: Sequence[int]) -> list[list[str]]:
        """The ids of many nodes at once: ten times as fast as `ids` for ten thousand nodes."""
        counts, places = _list_items(self._id_ends, np.asarray(nodes, dtype=np.int64))
        text = self._ids[places].tobytes().hex()
        ids = [text[start : start + ID_DIGITS] for start in range(0, len(text), ID_DIGITS)]
        ends = np.cumsum(counts).tolist()
        return [ids[end - count : end] for count, end in zip(counts.tolist(), ends, strict=True)]

    def without_ids(self, nodes: Sequence[int]) -> list[int]:
        """The nodes that stand for no function of the index."""
        return [node for node in nodes if self._id_ends[node] == self._id_ends[node + 1]]

    def node_of(self, function_id: str) -> int | None:
        """The node of a function of the index."""
        if not len(self._ids):
            return None
        key = np.array([bytes.fromhex(function_id)], dtype="S16")
        at = int(np.searchsorted(self._ids, key, sorter=self._id_order)[0])
        if at == len(self._ids):
            return None
        row = int(self._id_order[at])
        return int(self._id_node[row]) if self._id(row) == function_id else None

    def named(self, name: str, in_repo: Callable[[str], bool] = always) -> list[int]:
        """The nodes whose name is this or ends in it (`Session.send`, `send`), whole names first.

        Case is ignored only if no node matches exactly. A leading part may also name the file
        (`sessions.Session.send`) or a folder above it, because packages re-export what their modules define
        (`json.JSONEncoder` is in `json/encoder.py`).
        """
        query = dotted(name)
        nodes = [node for node in self._with_last(query) if in_repo(self._repo(node))]
        exact = [node for node in nodes if self._is(node, query)]
        any_case = exact or [node for node in nodes if self._is(node, query, fold=True)]
        matches = any_case or [node for node in nodes if is_re_export(query, self._names[node], self._path(node))]
        return sorted(matches, key=lambda node: not self.is_whole(node, query))

    def is_whole(self, node: int, name: str) -> bool:
        """Whether this is the node's whole name, with or without its module, not only the end of it."""
        own = self._names[node]
        return dotted(name) in (own, f"{self._module(node)}.{own}")

    def naming(self, base: str, in_repo: Callable[[str], bool] = always) -> list[int]:
        """The classes with this unresolved base, which is in another repository or not indexed.

        If the query or the base as written is a bare name, the last parts are compared.
        """
        query = dotted(base)
        last = query.rpartition(".")[2]
        return [
            node
            for node in self._bases.holding(last, len(last), sys.maxsize)
            if any(_ends(name, query) or name == last for name in map(dotted, self._bases[node].split("\n")))
            and in_repo(self._repo(node))
        ]

    def near(self, name: str, k: int) -> list[str]:
        """Up to `k` similar last names, among those near it in the alphabet or with a word in common."""
        last = name.rpartition(".")[2].lower()
        at = bisect_left(self._lasts, last)
        likely = set(range(max(0, at - NEAR), min(len(self._lasts), at + NEAR)))
        for word in last.split("_"):
            if len(word) >= SHORTEST_SHARED:
                likely.update(self._lasts.holding(word, len(last) - LONGER, len(last) + LONGER))
        from difflib import get_close_matches

        names = [self._lasts[number] for number in sorted(likely)]
        nodes = (self._with_last(each)[0] for each in get_close_matches(last, names, k))
        return list(dict.fromkeys(self._names[node].rpartition(".")[2] for node in nodes))

    def most_called(self, repo: str, k: int) -> list[tuple[int, int]]:
        """The most called functions of a repository, each with its number of callers."""
        ends, _, relations, _ = self._edges["in"]
        before = np.concatenate(([0], np.cumsum(np.asarray(relations) == RELATIONS.index("calls"))))
        counts = before[ends[1:]] - before[ends[:-1]]
        numbers = [number for number, name in enumerate(self._repos) if name == repo]
        counts = np.where(np.isin(self._file_repo[self._node_file], numbers), counts, 0)
        best = np.argsort(-counts, kind="stable")
        with_ids = (int(node) for node in best if counts[node] and self._id_ends[node] < self._id_ends[node + 1])
        return [(node, int(counts[node])) for node in islice(with_ids, k)]

    def members(self, node: int) -> list[int]:
        """The methods and inner classes of a class, in file order."""
        return list(map(int, self._members[self._member_ends[node] : self._member_ends[node + 1]]))

    def is_class(self, node: int) -> bool:
        return NODE_KINDS[self._node_kind[node]] in CLASSES

    def walk(
        self, seeds: Iterable[int], relations: Sequence[Relation], direction: Direction, depth: int = 1
    ) -> list[Step]:
        """Everything that can be reached from the seeds over these relations, nearest first, each node once.

        `in` walks to callers, subclasses, implementers and users; `out` to what is called, extended and so on. A seed
        is only listed if an edge leads from a seed to it (a function that calls itself, at depth 1).
        """
        allow = np.isin(np.arange(len(RELATIONS)), [RELATIONS.index(relation) for relation in relations])
        level = np.array(list(dict.fromkeys(seeds)), dtype=np.int64)
        sources, results = np.zeros(len(self), dtype=np.bool_), np.zeros(len(self), dtype=np.bool_)
        sources[level] = True
        steps: list[Step] = []
        for distance in range(1, depth + 1):
            via, (nodes, relation, how) = self._edges_of(level, direction)
            new = allow[relation] & ~results[nodes] & (~sources[nodes] | (distance == 1))
            first = np.sort(np.unique(nodes[new], return_index=True)[1])
            edges = np.flatnonzero(new)[first]
            level = nodes[edges]
            results[level] = True
            columns = (column[edges].tolist() for column in (nodes, relation, via, how))
            steps += [
                Step(node, RELATIONS[number], distance, origin, self._hows[reason])
                for node, number, origin, reason in zip(*columns, strict=True)
            ]
            level = level[~sources[level]]
            sources[level] = True
            if not len(level):
                break
        return steps

    def _edges_of(self, nodes: Array, direction: Direction) -> tuple[Array, tuple[Array, ...]]:
        """All edges of these nodes: the node of each edge, and the edges' columns."""
        ends, *columns = self._edges[direction]
        counts, places = _list_items(ends, nodes)
        return np.repeat(nodes, counts), tuple(column[places] for column in columns)

    def _with_last(self, name: str) -> Sequence[int]:
        last = name.rpartition(".")[2].lower()
        at = bisect_left(self._lasts, last)
        if at == len(self._lasts) or self._lasts[at] != last:
            return []
        return list(map(int, self._last_nodes[self._last_ends[at] : self._last_ends[at + 1]]))

    def _is(self, node: int, query: str, *, fold: bool = False) -> bool:
        name = self._names[node]
        if fold:
            name, query = name.lower(), query.lower()
        if _ends(name, query):
            return True
        if "." not in query:
            return False
        where = self._module(node)
        return f".{where.lower() if fold else where}.{name}".endswith("." + query)

    def _module(self, node: int) -> str:
        return module_of(self._path(node))

    def _path(self, node: int) -> str:
        return self._paths[int(self._node_file[node])]

    def _repo(self, node: int) -> str:
        return self._repos[int(self._file_repo[int(self._node_file[node])])]

    def _id(self, row: int) -> str:
        # numpy drops the trailing zero bytes of a bytes scalar.
        return bytes(self._ids[row]).ljust(16, b"\0").hex()


def _list_items(ends: Array, nodes: Array) -> tuple[Array, Array]:
    """The length of each node's list, and the positions of all its items; `ends` is where every list ends."""
    counts = ends[nodes + 1] - ends[nodes]
    until = np.cumsum(counts)
    return counts, np.repeat(ends[nodes + 1] - until, counts) + np.arange(counts.sum())


def _ends(name: str, query: str) -> bool:
    return name == query or name.endswith("." + query)
