"""Each stage on and off, every fusion and every re-ranker, as one table: what each part is worth and costs."""

from __future__ import annotations

from collections.abc import Iterator

from treeline.eval.systems import AS_TYPED, Recipe
from treeline.rerank.registry import FUSIONS
from treeline.rerank.registry import NAMES as RERANKERS

# Minutes, not hours: these need a transformer for every question.
SLOW = frozenset({"cross-encoder"})
LANES = ("keyword", "dense")


def recipes() -> list[Recipe]:
    """The default first: it is what every other row is compared with."""
    return list({recipe.name: recipe for recipe in _recipes()}.values())


def _recipes() -> Iterator[Recipe]:
    yield Recipe("default", "what a plain search does", rerank="default")
    yield Recipe("no re-ranker", "the default without its re-ranker")
    yield AS_TYPED
    yield Recipe("no routing", "keyword and dense for every question", LANES, rerank="default")
    yield Recipe("no dense lane", "keyword alone, re-ranked", ("keyword",), rerank="default")
    yield Recipe("no keyword lane", "dense alone, re-ranked", ("dense",), rerank="default")
    for lane in ("keyword", "dense", "tfidf"):
        yield Recipe(f"lane: {lane}", "one lane, nothing else", (lane,))
    yield Recipe("lanes: + tfidf", "keyword, dense and TF-IDF", (*LANES, "tfidf"), rerank="default")
    yield Recipe("lanes: + graph", "keyword, dense and call graph", (*LANES, "graph"), rerank="default")
    yield Recipe("with expansion", "TF-IDF pseudo-relevance feedback", rerank="default", expand=True)
    yield Recipe("with callees", "callees of the top hits pulled in", rerank="default", callees=True)
    for name in FUSIONS:
        yield Recipe(f"fusion: {name}", "keyword and dense, not re-ranked", LANES, name)
    for name, about in RERANKERS.items():
        if name not in SLOW | {"none", "default"}:
            yield Recipe(f"re-rank: {name}", about, rerank=name)
