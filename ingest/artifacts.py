"""The side products of an index, built from its new generation before that is published: one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from engine.protocol import Engine, Vectors
from graph.references import FileFacts
from ingest.source import Progress

VECTORS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What builders may use: the generation as written, and the facts of all its files, streamed."""

    engine: Engine
    facts: Callable[[], Iterable[FileFacts]]

    def vectors(self, ids: list[str]) -> Vectors:
        """Of the default encoder, for all ids."""
        parts = [
            self.engine.vectors(ids[start : start + VECTORS_AT_ONCE]) for start in range(0, len(ids), VECTORS_AT_ONCE)
        ]
        return np.concatenate(parts)


def _tree(ingredients: Ingredients) -> bytes | None:
    from graph import tree

    return tree.build(ingredients.engine.addresses())


def _embedding(ingredients: Ingredients) -> bytes | None:
    """Of the whole tree, once; a second's work, and independent of the others, so the tree is simply built again."""
    from graph import global_embedding, tree

    return global_embedding.build(tree.build(ingredients.engine.addresses()))


def _callgraph(ingredients: Ingredients) -> bytes | None:
    from graph import callgraph

    return callgraph.build(ingredients.facts(), ingredients.engine.addresses())


def _clusters(ingredients: Ingredients) -> bytes | None:
    from graph import corpus_clusters

    if not ingredients.engine.info.encoders:
        return None
    pairs = list(ingredients.engine.addresses())
    ids = [id_ for id_, _ in pairs]
    return corpus_clusters.build(ids, ingredients.vectors(ids), [address.func_name for _, address in pairs])


BUILDERS: dict[str, Callable[[Ingredients], bytes | None]] = {
    "tree": _tree,
    "embedding": _embedding,
    "callgraph": _callgraph,
    "clusters": _clusters,
}


def build(ingredients: Ingredients, progress: Progress) -> Iterator[tuple[str, bytes]]:
    """Every artifact by name; one that the index has no ingredients for is left out.

    Two at a time: clustering is matrix products, which leave the interpreter to the call graph.
    """
    with ThreadPoolExecutor(2) as threads:
        under_way = {name: threads.submit(builder, ingredients) for name, builder in BUILDERS.items()}
        for number, (name, result) in enumerate(under_way.items()):
            progress(f"building {name}", number, len(BUILDERS))
            data = result.result()
            if data is not None:
                yield name, data
