"""What the open index is made of, counted once a generation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from graph import tree as trees
from graph.tree import Tree

if TYPE_CHECKING:
    from engine.protocol import IndexInfo
    from service.searching.live import LiveSearcher


@dataclass(frozen=True, slots=True)
class Overview:
    """An index in figures."""

    info: IndexInfo
    languages: dict[str, int]
    repositories: int


def overview(searcher: LiveSearcher) -> Overview:
    return _overview(searcher, searcher.info.generation)


@dataclass(frozen=True, slots=True)
class Places:
    """The whole repository tree, and which function each of its leaves is."""

    tree: Tree
    ids: dict[int, str]


def places_of(searcher: LiveSearcher) -> Places | None:
    """Where everything is, when the index has a tree."""
    return _places(searcher, searcher.info.generation)


# The generation is part of the key: when another one is current, it is looked at anew.
@lru_cache(2)
def _overview(searcher: LiveSearcher, generation: str) -> Overview:
    facets = searcher.engine.facets()
    languages = dict(sorted(facets.get("language", {}).items(), key=lambda pair: -pair[1]))
    return Overview(searcher.info, languages, len(facets.get("repo", {})))


@lru_cache(2)
def _places(searcher: LiveSearcher, generation: str) -> Places | None:
    data = searcher.engine.artifact("tree")
    if not data:
        return None
    tree = trees.load(data)
    return Places(tree, {node: function_id for function_id, node in tree.leaves.items()})
