"""An answer as plain rows for JSON: one shape for the API and the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from treeline.corpus.function import Address
from treeline.engine.hits import Shared
from treeline.engine.protocol import Filters, IndexInfo
from treeline.graph.corpus_clusters import CorpusClusters
from treeline.rerank.candidates import Candidate
from treeline.search.alike import cluster_of
from treeline.search.answer import Answer, Result
from treeline.search.query import Query
from treeline.search.question.exact import Exact, relation_of
from treeline.search.question.spelling import Spelt

FACETS: tuple[Shared, ...] = ("language", "repo")
FACET_VALUES = 20  # of each facet, the most frequent


def answer_row(
    answer: Answer,
    info: IndexInfo,
    *,
    explain: bool,
    code: bool,
    clusters: Callable[[], CorpusClusters | None] = lambda: None,
    last_offset: int = sys.maxsize,
) -> dict[str, Any]:
    """The answer as JSON will have it; `clusters` are those of the index."""
    query = answer.query
    all_clusters = clusters() if explain else None
    return {
        "query": query.text,
        "filters": filters_row(query.filters),
        "without": list(query.without),
        "spelt": spelt_row(answer.spelt) if answer.spelt.words else None,
        "mode": query.mode,
        "rerank": query.rerank,
        "index": info.name,
        "generation": info.generation,
        "route": answer.route,
        "relaxed": list(answer.relaxed),
        "degraded": [{"lane": lane.lane, "reason": lane.reason} for lane in answer.degraded],
        "hints": list(answer.hints),
        "exact": exact_row(answer.exact) if answer.exact else None,
        "total": answer.total,
        "offset": query.offset,
        "next_offset": next_offset(query, answer, last_offset),
        "results": [result_row(result, all_clusters, explain=explain, code=code) for result in answer.results],
        "facets": {name: count_rows(counts) for name, counts in facets(answer).items()},
        "timings": dict(answer.timings),
    }


def filters_row(filters: Filters) -> dict[str, str]:
    """Under the names of the API's parameters."""
    return {
        "language": filters.language,
        "repo": filters.repo,
        "path": filters.path_prefix,
        "partition": filters.partition,
    }


def next_offset(query: Query, answer: Answer, last: int) -> int | None:
    """Where the next page begins; nothing behind the last one, or where no page may begin."""
    following = query.offset + len(answer.results)
    return following if answer.results and following < answer.total and following <= last else None


def result_row(result: Result, clusters: CorpusClusters | None, *, explain: bool, code: bool) -> dict[str, Any]:
    function, candidate = result.function, result.candidate
    row = place_row(function.id, candidate.address) | {
        "rank": result.rank,
        "score": candidate.score,
        "relation": relation_of(candidate),
        "docstring": function.docstring,
    }
    if code:
        row["code"] = function.original_string
    if explain:
        row["why"] = why_row(candidate, clusters)
    return row


def spelt_row(spelt: Spelt) -> dict[str, Any]:
    words = [{"typed": typed, "meant": meant} for typed, meant in spelt.words]
    return {"text": spelt.text, "words": words}


def exact_row(exact: Exact) -> dict[str, Any]:
    return {
        "symbol": exact.symbol,
        "relations": list(exact.relations),
        "direction": exact.direction,
        "depth": exact.depth,
        "known": exact.known,
        "definitions": exact.definitions,
        "near": list(exact.near),
        "found": exact.found,
        "functions": exact.functions,
        "others": list(exact.others),
        "written": exact.written,
        "all_written": exact.all_written,
        "written_classes": list(exact.written_classes),
        "answer": exact.sentence,
    }


def place_row(function: str, address: Address) -> dict[str, Any]:
    lines = address.lines
    return {
        "id": function,
        "func_name": address.func_name,
        "repo": address.repo,
        "path": address.path,
        "language": address.language,
        "url": address.url,
        "lines": list(lines) if lines else None,
    }


def why_row(candidate: Candidate, clusters: CorpusClusters | None) -> dict[str, Any]:
    cluster, label = cluster_of(candidate, clusters)
    return {
        "score": candidate.score,
        "contributions": [
            {"lane": one.lane, "rank": one.rank, "score": one.score, "share": one.share, "stage": one.stage}
            for one in candidate.contributions
        ],
        "cluster": cluster,
        "cluster_label": label,
        "tree_distance": candidate.tree_distance,
        "moved": candidate.moved,
        "reason": candidate.reason,
    }


def facets(answer: Answer) -> dict[str, dict[str, int]]:
    """How many results of the question, on all its pages, there are per language and repository."""
    return {name: answer.found.most(name, FACET_VALUES) for name in FACETS}


def count_rows(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"value": value, "count": count} for value, count in counts.items()]
