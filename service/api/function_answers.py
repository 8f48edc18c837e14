"""The answers about one definition, and about a change of some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field

from treeline.corpus.function import Function
from treeline.engine.hits import Hit
from treeline.search.commits import CommitAnswer
from treeline.search.impact import FileChange, Impact
from treeline.search.overview import Similar
from treeline.search.relatives import Neighbour
from treeline.search.structural_answer import UnresolvedCalls
from treeline.service.api.bodies import ALL_UNRESOLVED, Body, CommitBody, LocationBody, NeighbourBody, location


class FunctionBody(LocationBody):
    """The whole record, in CodeSearchNet's field names."""

    original_string: str
    code: str
    docstring: str
    sha: str
    partition: str
    timings: dict[str, float] = Field(default_factory=dict)

    @classmethod
    def of(cls, function: Function) -> Self:
        fields = ("original_string", "code", "docstring", "sha", "partition")
        record = {name: getattr(function, name) for name in fields}
        return cls.model_validate(location(function.id, function.address) | record)


class SimilarFunctionBody(LocationBody):
    score: float = Field(description="Cosine similarity.")
    same_cluster: bool = Field(description="Whether it is of the same corpus cluster.")


class SimilarBody(Body):
    id: str
    cluster: int | None
    results: list[SimilarFunctionBody]
    timings: dict[str, float] = Field(default_factory=dict)

    @classmethod
    def of(cls, function_id: str, like: Similar) -> Self:
        results = [
            SimilarFunctionBody.model_validate(
                location(hit.id, hit.address) | {"score": hit.score, "same_cluster": same}
            )
            for hit, same in like.hits
        ]
        return cls(id=function_id, cluster=like.cluster, results=results)


class CallsBody(Body):
    """Callers and callees of a function."""

    callers: list[NeighbourBody] = Field(description="What is known to call it: names are resolved in a repository.")
    unresolved_calls: int = Field(
        description="How many more functions have a call of this name in their code, of something else or not "
        "resolved; a search for `what calls NAME` lists them."
    )
    all_unresolved_calls: bool = Field(description=ALL_UNRESOLVED)
    callees: list[NeighbourBody]


def calls(callers: Sequence[Neighbour], unresolved: UnresolvedCalls, callees: Sequence[Neighbour]) -> dict[str, object]:
    """The fields of `CallsBody`."""
    return {
        "callers": [NeighbourBody.model_validate(one) for one in callers],
        "unresolved_calls": unresolved.functions,
        "all_unresolved_calls": unresolved.all,
        "callees": [NeighbourBody.model_validate(one) for one in callees],
    }


class NeighboursBody(CallsBody):
    id: str
    timings: dict[str, float] = Field(default_factory=dict)


class ShowBody(FunctionBody, CallsBody):
    """A function with its callers, callees and last commits, as `treeline show --json` prints it."""

    commits: list[CommitBody]


class DependentBody(NeighbourBody):
    """A symbol that depends on a changed definition."""

    depth: int = Field(description="Over how many calls; more than one of tests alone.")
    via: str = Field(description="The definition that it calls, extends, implements or uses.")
    certain: bool = Field(description="Whether the call graph is sure; else it is the only method of that name.")
    test: bool
    in_change: bool = Field(description="Whether the change touches it too.")


class GoneBody(Body):
    """A name that the change no longer declares, and the functions that still call it."""

    name: str
    calls: list[LocationBody]


class LikelyBody(Body):
    """A file that the change does not touch and likely has to."""

    path: str
    score: float
    commits: int = Field(description="How many commits changed it together with the changed files.")
    reasons: list[str]


class ImpactBody(Body):
    """The definitions that a change touches, what depends on them, and the files that likely have to change too."""

    files: list[str] = Field(description="The changed files.")
    definitions: list[LocationBody] = Field(description="The innermost definitions that hold changed lines.")
    lost_names: list[GoneBody]
    more_lost: int = Field(description="How many more names may be gone: calls of them were not looked for.")
    dependents: list[DependentBody]
    likely: list[LikelyBody] = Field(description="Best first.")

    @classmethod
    def of(cls, impact: Impact, changes: Sequence[FileChange]) -> Self:
        def locate(hits: Sequence[Hit]) -> list[LocationBody]:
            return [LocationBody.model_validate(location(hit.id, hit.address)) for hit in hits]

        dependents = [
            DependentBody.model_validate(
                {name: getattr(one.neighbour, name) for name in (*NeighbourBody.model_fields, "depth", "via")}
                | {"certain": one.is_certain, "test": one.is_test, "in_change": one.is_changed}
            )
            for one in impact.dependents
        ]
        return cls(
            files=[change.path for change in changes],
            definitions=locate(impact.definitions),
            lost_names=[GoneBody(name=name, calls=locate(hits)) for name, hits in impact.lost_names],
            more_lost=impact.more_lost,
            dependents=dependents,
            likely=[LikelyBody.model_validate(one) for one in impact.files],
        )


class TouchingCommitBody(CommitBody):
    """A commit, with the current paths and the definitions of what it touched."""

    paths: list[str]
    definitions: list[LocationBody] = Field(description="As they are now; of the first twenty commits.")


class PersonBody(Body):
    """An author of commits to the files of a subject."""

    name: str
    commits: int
    time: int = Field(description="Of the last commit; seconds since 1970.")


class CommitsBody(Body):
    """Commits about a question, and for a question about people these."""

    commits: list[TouchingCommitBody] = Field(description="Best first; newest first for what changed lately.")
    people: list[PersonBody] = Field(description="Most commits first.")

    @classmethod
    def of(cls, answer: CommitAnswer) -> Self:
        return cls(
            commits=[
                TouchingCommitBody.model_validate(
                    row.commit._asdict()
                    | {"paths": list(row.paths), "definitions": [location(hit.id, hit.address) for hit in row.units]}
                )
                for row in answer.rows
            ],
            people=[PersonBody.model_validate(one) for one in answer.people],
        )
