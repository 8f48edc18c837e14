"""The collected nodes and edges of a call graph as arrays, ready to be stored: sorted, grouped, both ways."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from graph.callgraph_classes import last_of
from graph.callgraph_resolve import HOWS
from graph.packed import string_arrays
from graph.references import Relation

RELATIONS: tuple[Relation, ...] = get_args(Relation)
KINDS = ("function", "class", "interface", "module")
Arrays = dict[str, NDArray[Any]]
FORMAT = 1  # raised when the arrays change, so that an older index is told from a broken one


@dataclass(slots=True)
class Collected:
    """A graph while it is being put together: nodes by number, edges once each."""

    names: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    files: array[int] = field(default_factory=lambda: array("i"))
    lines: array[int] = field(default_factory=lambda: array("i"))
    edges: dict[tuple[int, int, int], int] = field(default_factory=dict)  # (source, target, relation) → how
    owners: dict[int, int] = field(default_factory=dict)  # member → class
    ids: dict[int, list[str]] = field(default_factory=dict)  # node → functions of the index

    def add(self, name: str, kind: str, file: int, line: int) -> int:
        self.names.append(name)
        self.kinds.append(kind)
        self.files.append(file)
        self.lines.append(line)
        return len(self.names) - 1

    def edge(self, source: int, target: int, relation: Relation, how: str) -> None:
        self.edges.setdefault((source, target, RELATIONS.index(relation)), HOWS.index(how))


def node_arrays(graph: Collected) -> Arrays:
    """Everything about nodes but their files: names, kinds, lines, members, ids, and the way from names and ids."""
    count = len(graph.names)
    owner = np.full(count, -1, dtype=np.int32)
    owner[list(graph.owners)] = list(graph.owners.values())
    owned = np.flatnonzero(owner >= 0)
    pairs = [(node, bytes.fromhex(id_)) for node in sorted(graph.ids) for id_ in graph.ids[node]]
    ids = np.array([id_ for _, id_ in pairs], dtype="S16")
    id_node = np.array([node for node, _ in pairs], dtype=np.int32)
    return {
        "format": np.array([FORMAT], dtype=np.int32),
        **string_arrays("names", graph.names),
        **string_arrays("hows", HOWS),
        "node_file": np.array(graph.files, dtype=np.int32),
        "node_kind": np.array([KINDS.index(kind) for kind in graph.kinds], dtype=np.uint8),
        "node_line": np.array(graph.lines, dtype=np.int32),
        **_grouped("members", owned, owner[owned], count),
        **_by_last_name(graph.names),
        "ids": ids,
        "ids.ends": _ends(np.bincount(id_node, minlength=count)),
        "ids.order": np.argsort(ids, kind="stable").astype(np.int32),
        "ids.node": id_node,
    }


def file_arrays(places: Sequence[tuple[str, str, str]]) -> Arrays:
    """Repository, path and language of every file."""
    repos, languages = _numbers(repo for repo, _, _ in places), _numbers(language for _, _, language in places)
    return {
        **string_arrays("repos", repos),
        **string_arrays("languages", languages),
        **string_arrays("paths", (path for _, path, _ in places)),
        "file_repo": np.array([repos[repo] for repo, _, _ in places], dtype=np.int32),
        "file_language": np.array([languages[language] for _, _, language in places], dtype=np.int16),
    }


def edge_arrays(graph: Collected) -> Arrays:
    """The edges twice, grouped by the node they leave and by the node they reach."""
    edges = np.array([(*key, how) for key, how in graph.edges.items()], dtype=np.int32).reshape(-1, 4)
    found: Arrays = {}
    for direction, here, there in (("out", 0, 1), ("in", 1, 0)):
        order = np.lexsort((edges[:, there], edges[:, here]))
        found |= {
            f"{direction}.ends": _ends(np.bincount(edges[:, here], minlength=len(graph.names))),
            f"{direction}.nodes": edges[order, there],
            f"{direction}.relations": edges[order, 2].astype(np.uint8),
            f"{direction}.hows": edges[order, 3].astype(np.uint8),
        }
    return found


def _by_last_name(names: Sequence[str]) -> Arrays:
    """Nodes by the last part of their name in small letters, which `CallGraph.named` looks up by bisection."""
    lasts = [(last_of(name).lower(), node) for node, name in enumerate(names) if name]
    numbers = _numbers(last for last, _ in lasts)
    nodes = np.array([node for _, node in lasts], dtype=np.int64)
    keys = np.array([numbers[last] for last, _ in lasts], dtype=np.int64)
    return {**string_arrays("lasts", numbers), **_grouped("lasts.nodes", nodes, keys, len(numbers))}


def _numbers(values: Any) -> Mapping[str, int]:
    return {value: number for number, value in enumerate(sorted(set(values)))}


def _grouped(name: str, values: NDArray[Any], keys: NDArray[Any], groups: int) -> Arrays:
    """Values sorted by key, and where each key's begin and end."""
    order = np.argsort(keys, kind="stable")
    return {name: values[order].astype(np.int32), f"{name}.ends": _ends(np.bincount(keys, minlength=groups))}


def _ends(counts: NDArray[Any]) -> NDArray[np.int64]:
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends
