"""What the open index is made of, counted once a generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treeline.graph import tree as trees
from treeline.graph.tree import Tree
from treeline.search.once import once_a_generation

if TYPE_CHECKING:
    from treeline.engine.protocol import IndexInfo
    from treeline.search.searcher import Searcher


@dataclass(frozen=True, slots=True)
class Overview:
    """An index in figures."""

    info: IndexInfo
    languages: dict[str, int]
    repositories: int


@once_a_generation
def overview(searcher: Searcher) -> Overview:
    facets = searcher.engine.facets()
    languages = dict(sorted(facets.get("language", {}).items(), key=lambda pair: -pair[1]))
    return Overview(searcher.info, languages, len(facets.get("repo", {})))


@dataclass(frozen=True, slots=True)
class Places:
    """The whole repository tree, and which function each of its leaves is."""

    tree: Tree
    ids: dict[int, str]


@once_a_generation
def places_of(searcher: Searcher) -> Places | None:
    """Where everything is, when the index has a tree."""
    data = searcher.engine.artifact("tree")
    if not data:
        return None
    tree = trees.load(data)
    return Places(tree, {node: function_id for function_id, node in tree.leaves.items()})
