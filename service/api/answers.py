"""The answer to a question, of the API and the command line's `--json`, and the pages' facets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Self

from pydantic import Field

from treeline.corpus.function import Function
from treeline.engine.hits import Part
from treeline.engine.protocol import Filters, IndexInfo
from treeline.graph.corpus_clusters import CorpusClusters
from treeline.graph.layout import MapNode
from treeline.rerank.candidates import Candidate
from treeline.search.answer import CONTAINERS, Answer, Member, Result
from treeline.search.excerpt import Excerpt, excerpt, needle_of
from treeline.search.lanes.graph import relation_of
from treeline.search.occurrences import Needle
from treeline.search.overview import cluster_of
from treeline.search.plan import Plan
from treeline.search.query import Corrections
from treeline.search.structural_answer import Exact
from treeline.service.api.bodies import (
    ALL_UNRESOLVED,
    Body,
    CountBody,
    DegradationBody,
    LocationBody,
    count_bodies,
    location,
)

FACETS: tuple[Part, ...] = ("language", "repo")
FACET_VALUES = 20  # of each facet, the most frequent
DIGITS = 5  # of a coordinate: a hundredth of a pixel on any screen


class ContributionBody(Body):
    """A lane's part in a result."""

    lane: str
    rank: int
    score: float
    share: float = Field(description="Its part of the fused score; the shares add up to the score.")
    stage: str = Field(description="How the lane found it: exact, fuzzy, chunks, or a relation.")


class WhyBody(Body):
    """Why a result is where it is."""

    score: float
    contributions: list[ContributionBody]
    cluster: int | None = Field(description="The re-ranker's cluster if it makes any, else that of the whole index.")
    tree_distance: float | None = Field(description="To the nearest result above it in the repository tree.")
    moved: int = Field(description="Places up (positive) or down after fusion.")
    reason: str

    @classmethod
    def of(cls, candidate: Candidate, clusters: CorpusClusters | None) -> Self:
        return cls(
            score=candidate.score,
            contributions=[ContributionBody.model_validate(one) for one in candidate.contributions],
            cluster=cluster_of(candidate, clusters),
            tree_distance=candidate.tree_distance,
            moved=candidate.moved,
            reason=candidate.reason,
        )


class MemberBody(Body):
    """A unit inside a result that matches the question too."""

    id: str
    func_name: str
    kind: str
    lines: list[int] | None = Field(description="First and last line, when known.")
    signature: str = Field(description="The line that names it, or its first.")
    score: float = Field(description="As fused; compares with the scores of other members and results.")

    @classmethod
    def of(cls, member: Member) -> Self:
        lines = member.address.lines
        return cls(
            id=member.id,
            func_name=member.address.func_name,
            kind=member.address.kind,
            lines=list(lines) if lines else None,
            signature=member.signature,
            score=member.score,
        )


class LineBody(Body):
    """A line of a result to show, and what of it matches."""

    line: int | None = Field(description="null in a class or file, whose `code` is not what its lines say.")
    text: str
    spans: list[tuple[int, int]] = Field(description="First character and the one behind the last, from 0.")


class ResultBody(LocationBody):
    rank: int
    index: str = Field(description="The index it is from.")
    score: float
    relation: str = Field(
        description="How the call graph led to it (`calls`, `called`, `definition` …); `unresolved` where it did not, "
        "and the call is in the code, or its class names the base; else empty."
    )
    docstring: str
    members: list[MemberBody] = Field(
        description="Of a file, class or section, up to three units inside it that match best; empty for a function."
    )
    occurrences: int = Field(
        default=0, description="How often the unit has the exact text, the expression, or the name that is asked for."
    )
    lines_shown: list[LineBody] = Field(
        default_factory=list,
        description="The lines that match, the first with one of context around it; else the signature and the lines "
        "with most of the question's words.",
    )
    code: str | None = None
    why: WhyBody | None = None

    @classmethod
    def of(
        cls,
        result: Result,
        index: str,
        clusters: CorpusClusters | None,
        *,
        explain: bool,
        code: bool,
        part: Excerpt | None = None,
    ) -> Self:
        function, candidate = result.function, result.candidate
        fields = location(function.id, candidate.address) | {
            "rank": result.rank,
            "index": index,
            "score": candidate.score,
            "relation": relation_of(candidate),
            "docstring": function.docstring,
            "members": [MemberBody.of(member) for member in result.members],
        }
        if code:
            fields["code"] = function.original_string
        if part:
            has_numbers = function.kind not in CONTAINERS
            fields["occurrences"] = part.occurrences
            fields["lines_shown"] = [
                LineBody(line=(line.number if has_numbers else 0) or None, text=line.text, spans=list(line.spans))
                for line in part.lines
            ]
        if explain:
            fields["why"] = WhyBody.of(candidate, clusters)
        return cls.model_validate(fields)


class FacetsBody(Body):
    """Counts over all results of the question, not only this page; a filter searches again and may find more."""

    language: list[CountBody]
    repo: list[CountBody]

    @classmethod
    def of(cls, answer: Answer) -> Self:
        return cls(**{name: count_bodies(counts) for name, counts in facets(answer).items()})


class CoverageBody(Body):
    """The part of the project that answered while its index is being made."""

    state: str = Field(description="Always `partial`; a whole index needs no such object.")
    files: int = Field(description="How many files were read for the answer.")
    total: int = Field(description="How many files the project has.")
    percent: int = Field(description="How much of the index is made.")
    problem: str = Field(description="Why it is not being made; empty if it is.")


class ExactBody(Body):
    """The call graph's answer to a structural question ("what calls X"): names are resolved within a repository, so
    calls of library code, and what static analysis cannot resolve, are not in it."""

    symbol: str = Field(description="The symbol that the question is about.")
    relations: list[str] = Field(description="The edges that were followed.")
    direction: str = Field(description="`in`: who calls it; `out`: what it calls.")
    depth: int = Field(description="Over how many edges, at most.")
    known: bool = Field(description="Whether the index has a symbol of that name.")
    definitions: int = Field(description="How many symbols of that name the index has.")
    near: list[str] = Field(description="Names like an unknown one.")
    found: int = Field(description="How many functions and classes are the exact answer.")
    functions: int = Field(
        description="How many results it has, from rank 1 on: all (and top-level code), at most 10,000."
    )
    others: list[str] = Field(description="What belongs to the answer and is no unit: a module's top level, a class.")
    unresolved_calls: int = Field(
        description="How many more functions have the call in their code, of something else or not resolved; they are "
        "the next results."
    )
    all_unresolved_calls: bool = Field(description=ALL_UNRESOLVED)
    in_tests: int = Field(description="Of `found`, those in tests, which come after the others.")
    unresolved_in_tests: int = Field(description="Of `unresolved_calls`, those in tests, which come after the others.")
    unresolved_classes: list[str] = Field(
        description="Classes that name a base of that name which was not resolved: of another package, or not indexed. "
        "The functions in `unresolved_calls` are theirs then."
    )
    answer: str = Field(
        description="The answer in words: `3 functions are known to call the http_backoff defined in this index`."
    )

    @classmethod
    def of(cls, exact: Exact) -> Self:
        fields = {name: getattr(exact, name) for name in cls.model_fields if name != "answer"}
        return cls.model_validate(fields | {"answer": exact.sentence})


class AbsenceBody(Body):
    """The name that was asked for, where nothing is called so; the first hint says it in words."""

    name: str
    near: list[str] = Field(description="The nearest names that there are.")
    in_text: bool = Field(description="Whether some result has the name in its text.")


class CorrectionBody(Body):
    typed: str
    corrected: str


class CorrectionsBody(Body):
    """The corrected question and its misspelt words; `as_typed` switches correction off."""

    text: str
    words: list[CorrectionBody]

    @classmethod
    def of(cls, corrections: Corrections) -> Self:
        words = [CorrectionBody(typed=typed, corrected=corrected) for typed, corrected in corrections.words]
        return cls(text=corrections.text, words=words)


class FiltersBody(Body):
    """The filters of the search, from parameters and from the question: values with commas, behind a hyphen those that
    do not pass; an empty text means no restriction."""

    language: str
    repo: str
    path: str
    file: str
    ext: str
    kind: str
    role: str
    partition: str

    @classmethod
    def of(cls, filters: Filters) -> Self:
        return cls(**{name: getattr(filters, name) for name in cls.model_fields})


class SearchBody(Body):
    """One page of results, with what happened on the way."""

    query: str = Field(description="The words that are looked for: the question without its filters and `-word`s.")
    filters: FiltersBody
    excluded: list[str] = Field(description="The words that no result may contain: each `-word` of the question.")
    corrections: CorrectionsBody | None = Field(description="The misspelt words; null where there are none.")
    no_match: str = Field(description="A sentence if nothing has any of the words; else empty.")
    mode: str
    rerank: str
    index: str = Field(description="The index that answered; where several were asked, those that found something.")
    generation: str
    route: str
    relaxed: list[str] = Field(
        description="How the question was relaxed to find more: `fuzzy`, `chunks`; `meaning` where nothing has any "
        "of its words, so that the results are only the nearest by meaning (after `chunks`: or have pieces of words)."
    )
    degraded: list[DegradationBody] = Field(description="Lanes (or the re-ranker) that were left out, and why.")
    absence: AbsenceBody | None = Field(description="The name that nothing is called; null for other questions.")
    weak: bool = Field(
        description="Whether nothing seems to be about the question: its meaning is far from everything."
    )
    hints: list[str] = Field(
        description="What is asked for and not in the index: the language of the question, and where nothing is found, "
        "filters that nothing passes; with what is near."
    )
    coverage: CoverageBody | None = Field(
        description="The part of the project that answered while its index is being made; null for a whole index."
    )
    exact: ExactBody | None = Field(description="The exact answer to a structural question; null for others.")
    total: int
    offset: int
    next_offset: int | None = Field(description="Where the next page begins; null on the last one.")
    results: list[ResultBody]
    facets: FacetsBody
    timings: dict[str, float] = Field(description="Milliseconds per stage.")

    @classmethod
    def of(
        cls,
        answer: Answer,
        info: IndexInfo,
        *,
        explain: bool,
        code: bool,
        clusters: Callable[[], CorpusClusters | None] = lambda: None,
        last_offset: int = sys.maxsize,
    ) -> Self:
        """The body of an answer; `clusters` gives those of the index, no page may begin behind `last_offset`."""
        plan, query = answer.plan, answer.query
        all_clusters = clusters() if explain else None
        following = query.offset + len(answer.results)
        needle = needle_of(plan)
        more = bool(answer.results) and following < answer.total and following <= last_offset
        return cls(
            query=plan.words,
            filters=FiltersBody.of(plan.filters),
            excluded=list(plan.excluded),
            corrections=CorrectionsBody.of(answer.corrections) if answer.corrections.words else None,
            no_match=answer.no_match,
            mode=query.mode,
            rerank=query.rerank,
            index=",".join(dict.fromkeys(answer.indexes.values())) or info.name,
            generation=info.generation,
            route=answer.route,
            relaxed=list(answer.relaxed),
            degraded=[DegradationBody.model_validate(lane) for lane in answer.degraded],
            absence=AbsenceBody.model_validate(answer.absence) if answer.absence else None,
            weak=answer.is_weak,
            hints=list(answer.hints),
            coverage=CoverageBody.model_validate(answer.coverage) if answer.coverage else None,
            exact=ExactBody.of(answer.exact) if answer.exact else None,
            total=answer.total,
            offset=query.offset,
            next_offset=following if more else None,
            results=[
                ResultBody.of(
                    result,
                    answer.indexes.get(result.function.id, info.name),
                    all_clusters,
                    explain=explain,
                    code=code,
                    part=_excerpt(plan, needle, result.function) if code else None,
                )
                for result in answer.results
            ],
            facets=FacetsBody.of(answer),
            timings=dict(answer.timings),
        )


def _excerpt(plan: Plan, needle: Needle, unit: Function) -> Excerpt:
    return excerpt(plan, needle, unit, unit.original_string.strip("\n"), (unit.address.lines or (0, 0))[0])


class MapNodeBody(Body):
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
    place: str = Field(description="Repository and path of a unit.")

    @classmethod
    def of(cls, node: MapNode, candidates: Sequence[Candidate]) -> Self:
        address = node.address
        return cls(
            x=round(float(node.x), DIGITS),
            y=round(float(node.y), DIGITS),
            parent=node.parent,
            label=node.label if address is None else address.func_name,
            kind=node.kind,
            id=node.id,
            rank=node.rank,
            before=None if node.rank is None else node.rank + candidates[node.rank - 1].moved,
            cluster=node.cluster,
            place=f"{address.repo}: {address.path}" if address is not None else "",
        )


class MapBody(Body):
    query: str
    nodes: list[MapNodeBody]
    clusters: list[str] = Field(
        description="The innermost folder, file or class of most of each; empty if none has most."
    )
    distortion: float
    degraded: list[DegradationBody]
    timings: dict[str, float]


def facets(answer: Answer) -> dict[str, dict[str, int]]:
    """The number of results, on all pages, per language and repository."""
    return {name: answer.hits.most(name, FACET_VALUES) for name in FACETS}
