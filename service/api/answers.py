"""The answers of API, command line and agents: each field is declared once, and filled here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from treeline.corpus.function import Address, Function
from treeline.engine.hits import Shared
from treeline.engine.protocol import Filters, IndexInfo
from treeline.graph.corpus_clusters import CorpusClusters
from treeline.rerank.candidates import Candidate
from treeline.search.answer import Answer, Result
from treeline.search.lanes.graph import Exact, UnresolvedCalls, relation_of
from treeline.search.overview import Similar, cluster_of
from treeline.search.query import Query
from treeline.search.spelling import Corrections
from treeline.search.structure import Neighbour

ALL_UNRESOLVED = "Whether `unresolved_calls` counts all of them: only the first few hundred are looked at."


class AliveShape(BaseModel):
    status: str


class IndexShape(BaseModel):
    """Which index answered, and which generation of it."""

    name: str
    engine: str
    generation: str
    functions: int
    encoders: list[str]
    created: str


class PlaceShape(BaseModel):
    """A function and where it lives."""

    id: str
    func_name: str
    repo: str
    path: str
    language: str
    url: str
    lines: list[int] | None = Field(description="First and last line, when known.")


class ContributionShape(BaseModel):
    """What one lane gave."""

    lane: str
    rank: int
    score: float
    share: float = Field(description="Its part of the fused score; the shares add up to the score.")
    stage: str = Field(description="How the lane found it: exact, fuzzy, chunks, or a relation.")


class WhyShape(BaseModel):
    """Why a result is where it is."""

    score: float
    contributions: list[ContributionShape]
    cluster: int | None = Field(description="The re-ranker's cluster if it makes any, else that of the whole index.")
    cluster_label: str = Field(description="Words that set a cluster of the whole index apart.")
    tree_distance: float | None = Field(description="To the nearest result above it in the repository tree.")
    moved: int = Field(description="Places up (positive) or down after fusion.")
    reason: str


class ResultShape(PlaceShape):
    rank: int
    score: float
    relation: str = Field(
        description="How the call graph led to it (`calls`, `called`, `definition` …); `unresolved` where it did not, "
        "and the call is in the code, or its class names the base; else empty."
    )
    docstring: str
    code: str | None = None
    why: WhyShape | None = None


class CountShape(BaseModel):
    value: str
    count: int


class FacetsShape(BaseModel):
    """Counts over all results of the question, not only this page; a filter asks again and may find more."""

    language: list[CountShape]
    repo: list[CountShape]


class DegradationShape(BaseModel):
    lane: str
    reason: str


class ExactShape(BaseModel):
    """What the call graph knows of a structural question ("what calls X"): names are resolved within a repository, so
    calls of library code, and what static analysis cannot resolve, are not in it."""

    symbol: str = Field(description="The symbol that the question is about.")
    relations: list[str] = Field(description="The edges that were followed.")
    direction: str = Field(description="`in`: who calls it; `out`: what it calls.")
    depth: int = Field(description="Over how many edges, at most.")
    known: bool = Field(description="Whether the index has a symbol of that name.")
    definitions: int = Field(description="How many symbols of that name the index has.")
    near: list[str] = Field(description="Names like an unknown one.")
    found: int = Field(description="How many functions are the exact answer.")
    functions: int = Field(description="How many of them are results, from rank 1 on: all, or the first 10,000.")
    others: list[str] = Field(description="What belongs to the answer and is no function: classes, modules.")
    unresolved_calls: int = Field(
        description="How many more functions have the call in their code, of something else or not resolved; they are "
        "the next results."
    )
    all_unresolved_calls: bool = Field(description=ALL_UNRESOLVED)
    unresolved_classes: list[str] = Field(
        description="Classes that name a base of that name which was not resolved: of another package, or not indexed. "
        "The functions in `unresolved_calls` are theirs then."
    )
    answer: str = Field(
        description="The answer in words: `3 functions are known to call the http_backoff defined in this index`."
    )


class CorrectionShape(BaseModel):
    typed: str
    corrected: str


class CorrectionsShape(BaseModel):
    """The corrected question and its misspelt words; `as_typed` switches correction off."""

    text: str
    words: list[CorrectionShape]


class FiltersShape(BaseModel):
    """What the search was narrowed to, by parameters or in the question; an empty text means no restriction."""

    language: str
    repo: str
    path: str
    partition: str


class SearchShape(BaseModel):
    """One page of results, with what happened on the way."""

    query: str = Field(description="The words that are looked for: the question without its filters and `-word`s.")
    filters: FiltersShape
    excluded: list[str] = Field(description="The words that no result may contain: each `-word` of the question.")
    corrections: CorrectionsShape | None = Field(description="The misspelt words; null where there are none.")
    no_match: str = Field(description="A sentence where no function has any of the words; else empty.")
    mode: str
    rerank: str
    index: str
    generation: str
    route: str
    relaxed: list[str] = Field(
        description="How the question was relaxed to find more: `fuzzy`, `chunks`; `meaning` where no function has any "
        "of its words, so that the results are only the nearest by meaning (after `chunks`: or have pieces of words)."
    )
    degraded: list[DegradationShape] = Field(description="Lanes (or the re-ranker) that were left out, and why.")
    hints: list[str] = Field(
        description="What is asked for and not in the index: the language of the question, and where nothing is found, "
        "filters that nothing passes; with what is near."
    )
    exact: ExactShape | None = Field(description="The exact answer to a structural question; null for others.")
    total: int
    offset: int
    next_offset: int | None = Field(description="Where the next page begins; null on the last one.")
    results: list[ResultShape]
    facets: FacetsShape
    timings: dict[str, float] = Field(description="Milliseconds per stage.")


class FunctionShape(PlaceShape):
    """The whole record, in CodeSearchNet's field names."""

    original_string: str
    code: str
    docstring: str
    sha: str
    partition: str
    timings: dict[str, float]


class SimilarOneShape(PlaceShape):
    score: float = Field(description="Cosine similarity.")
    same_cluster: bool = Field(description="Whether it is of the same corpus cluster.")


class SimilarShape(BaseModel):
    id: str
    cluster: int | None
    cluster_label: str = Field(description="Words that set the cluster apart.")
    results: list[SimilarOneShape]
    timings: dict[str, float]


class NeighbourShape(BaseModel):
    """A symbol on the other side of a call; one that is not a function of the index has an empty id."""

    id: str
    name: str
    kind: str
    repo: str
    path: str
    language: str
    line: int
    relation: str


class NeighboursShape(BaseModel):
    id: str
    callers: list[NeighbourShape] = Field(description="What is known to call it: names are resolved in a repository.")
    unresolved_calls: int = Field(
        description="How many more functions have a call of this name in their code, of something else or not "
        "resolved; a search for `what calls NAME` lists them."
    )
    all_unresolved_calls: bool = Field(description=ALL_UNRESOLVED)
    callees: list[NeighbourShape]
    timings: dict[str, float]


class SuggestShape(BaseModel):
    prefix: str
    names: list[str]
    timings: dict[str, float]


class FeedbackShape(BaseModel):
    recorded: bool


class MapNodeShape(BaseModel):
    """A node of the results' tree in the Poincaré disk."""

    x: float
    y: float
    parent: int | None
    label: str
    kind: str
    id: str | None
    rank: int | None
    before: int | None = Field(description="The rank before re-ranking.")
    cluster: int | None
    place: str = Field(description="Repository and path of a function.")


class MapShape(BaseModel):
    query: str
    nodes: list[MapNodeShape]
    distortion: float
    degraded: list[DegradationShape]
    timings: dict[str, float]


class StatusShape(BaseModel):
    index: IndexShape
    languages: list[CountShape]
    repositories: int
    passed_over: str | None = Field(description="Why the newest generation is not the open one; null when it is.")
    timings: dict[str, float]


class EvalShape(BaseModel):
    """The evaluation's result files, newest first."""

    runs: list[dict[str, object]]
    unreadable: list[str]


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
    plan, query = answer.plan, answer.query
    all_clusters = clusters() if explain else None
    return {
        "query": plan.words,
        "filters": filters_row(plan.filters),
        "excluded": list(plan.excluded),
        "corrections": corrections_row(answer.corrections) if answer.corrections.words else None,
        "no_match": answer.no_match,
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


def corrections_row(corrections: Corrections) -> dict[str, Any]:
    words = [{"typed": typed, "corrected": corrected} for typed, corrected in corrections.words]
    return {"text": corrections.text, "words": words}


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
        "unresolved_calls": exact.unresolved_calls,
        "all_unresolved_calls": exact.all_unresolved_calls,
        "unresolved_classes": list(exact.unresolved_classes),
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


def function_row(function: Function) -> dict[str, Any]:
    return place_row(function.id, function.address) | {
        "original_string": function.original_string,
        "code": function.code,
        "docstring": function.docstring,
        "sha": function.sha,
        "partition": function.partition,
    }


def similar_row(function_id: str, found: Similar) -> dict[str, Any]:
    return {
        "id": function_id,
        "cluster": found.cluster,
        "cluster_label": found.label,
        "results": [
            place_row(hit.id, hit.address) | {"score": hit.score, "same_cluster": same} for hit, same in found.hits
        ],
    }


def around_row(
    callers: Sequence[Neighbour], unresolved: UnresolvedCalls, callees: Sequence[Neighbour]
) -> dict[str, Any]:
    """What calls it, how many more have such a call in their code, and what it calls."""
    return {
        "callers": neighbour_rows(callers),
        "unresolved_calls": unresolved.functions,
        "all_unresolved_calls": unresolved.all,
        "callees": neighbour_rows(callees),
    }


def neighbour_rows(found: Sequence[Neighbour]) -> list[dict[str, Any]]:
    return [
        {
            "id": one.id,
            "name": one.name,
            "kind": one.kind,
            "repo": one.repo,
            "path": one.path,
            "language": one.language,
            "line": one.line,
            "relation": one.relation,
        }
        for one in found
    ]
