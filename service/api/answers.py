"""The shapes of the API's answers: models for the OpenAPI document."""

from __future__ import annotations

from pydantic import BaseModel, Field

ALL_WRITTEN = (
    "Whether `written` counts all of them: only the first few hundred with the words of the call are looked at."
)


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
        description="How the call graph led to it (`calls`, `called`, `definition` …); `written` where it did not, and "
        "the call is in the code, or its class names the base; else empty."
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
    written: int = Field(
        description="How many more functions have the call in their code, of something else or not resolved; they are "
        "the next results."
    )
    all_written: bool = Field(description=ALL_WRITTEN)
    written_classes: list[str] = Field(
        description="Classes that name a base of that name which was not resolved: of another package, or not indexed. "
        "The functions in `written` are theirs then."
    )
    answer: str = Field(
        description="The answer in words: `3 functions are known to call the http_backoff defined in this index`."
    )


class SpeltWordShape(BaseModel):
    typed: str
    meant: str


class SpeltShape(BaseModel):
    """The question as it was looked for, where words in it seem mistyped; `as_typed` looks for it as it is."""

    text: str
    words: list[SpeltWordShape]


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
    without: list[str] = Field(description="The words that no result may contain: each `-word` of the question.")
    spelt: SpeltShape | None = Field(description="What was looked for where words seem mistyped; null for others.")
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
    written: int = Field(
        description="How many more functions have a call of this name in their code, of something else or not "
        "resolved; a search for `what calls NAME` lists them."
    )
    all_written: bool = Field(description=ALL_WRITTEN)
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
