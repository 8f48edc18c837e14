"""The collected nodes and edges of one repository's call graph as arrays: sorted, grouped, both ways."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeline.graph.callgraph_resolve import HOWS
from treeline.graph.packed import string_arrays
from treeline.graph.references import NODE_KINDS, RELATIONS, NodeKind, Relation

Arrays = dict[str, NDArray[Any]]


@dataclass(slots=True)
class Collected:
    """A graph while it is being put together: nodes by number, edges once each."""

    names: list[str] = field(default_factory=list)
    kinds: list[NodeKind] = field(default_factory=list)
    files: array[int] = field(default_factory=lambda: array("i"))
    lines: array[int] = field(default_factory=lambda: array("i"))
    edges: dict[tuple[int, int, int], int] = field(default_factory=dict)  # (source, target, relation) → how
    owners: dict[int, int] = field(default_factory=dict)  # member → class
    bases: dict[int, list[str]] = field(default_factory=dict)  # class → names of bases that were not resolved

    def add(self, name: str, kind: NodeKind, file: int, line: int) -> int:
        self.names.append(name)
        self.kinds.append(kind)
        self.files.append(file)
        self.lines.append(line)
        return len(self.names) - 1

    def edge(self, source: int, target: int, relation: Relation, how: str) -> None:
        self.edges.setdefault((source, target, RELATIONS.index(relation)), HOWS.index(how))


def node_arrays(graph: Collected) -> Arrays:
    """Names, kinds, files, lines, members and unresolved bases of nodes."""
    count = len(graph.names)
    owner = np.full(count, -1, dtype=np.int32)
    owner[list(graph.owners)] = list(graph.owners.values())
    owned = np.flatnonzero(owner >= 0)
    return {
        **string_arrays("names", graph.names),
        **string_arrays("bases", ("\n".join(graph.bases.get(node, ())) for node in range(count))),
        "node_file": np.array(graph.files, dtype=np.int32),
        "node_kind": np.array([NODE_KINDS.index(kind) for kind in graph.kinds], dtype=np.uint8),
        "node_line": np.array(graph.lines, dtype=np.int32),
        **grouped("members", owned, owner[owned], count),
    }


def file_arrays(places: Sequence[tuple[str, str]]) -> Arrays:
    """Path and language of every file."""
    languages = sorted({language for _, language in places})
    return {
        **string_arrays("languages", languages),
        **string_arrays("paths", (path for path, _ in places)),
        "file_language": np.array([languages.index(language) for _, language in places], dtype=np.int16),
    }


def edge_arrays(graph: Collected) -> Arrays:
    """The edges twice, grouped by the node they leave and by the node they reach."""
    edges = np.array([(*key, how) for key, how in graph.edges.items()], dtype=np.int32).reshape(-1, 4)
    found: Arrays = {}
    for direction, here, there in (("out", 0, 1), ("in", 1, 0)):
        order = np.lexsort((edges[:, 2], edges[:, there], edges[:, here]))
        found |= {
            f"{direction}.ends": ends_of(np.bincount(edges[:, here], minlength=len(graph.names))),
            f"{direction}.nodes": edges[order, there],
            f"{direction}.relations": edges[order, 2].astype(np.uint8),
            f"{direction}.hows": edges[order, 3].astype(np.uint8),
        }
    return found


def grouped(name: str, values: NDArray[Any], keys: NDArray[Any], groups: int) -> Arrays:
    """Values sorted by key, and where each key's begin and end."""
    order = np.argsort(keys, kind="stable")
    return {name: values[order].astype(np.int32), f"{name}.ends": ends_of(np.bincount(keys, minlength=groups))}


def ends_of(counts: NDArray[Any]) -> NDArray[np.int64]:
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends
