"""Parameters and errors of requests, checked here and shown in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from treeline.corpus.errors import InputError
from treeline.search.feedback import Signal
from treeline.search.plan import check_length
from treeline.search.query import DEFAULT, SWITCHES, Query, Switch, method_names
from treeline.search.settings import Settings
from treeline.service.http.errors import ENVELOPE_SCHEMA


def encodable(text: str) -> str:
    """Half of a surrogate pair is no text: it can be neither stored nor sent back."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair") from None
    return text


Text = Annotated[str, AfterValidator(encodable)]
FILTER_LENGTH = 1_000
NAME_LENGTH = 64
FUNCTION_ID = r"^[0-9a-f]{32}$"
QUESTION = (
    "The query: what the code does, or its name. Filters may stand in it (`repo:`, `lang:`, `path:`, `-path:` …), "
    "and `-word` excludes results that contain the word."
)
SUGGESTIONS = 8
MOST_SUGGESTIONS = 50
LIKELY_FILES, MOST_LIKELY_FILES = 10, 100
COMMITS, MOST_COMMITS = 10, 100
SIMILAR = 10
MOST_SIMILAR = 100


def not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


def refuse_repeats() -> None:
    """Refuse a parameter that comes twice: nobody knows which of two repositories is meant."""
    repeats = [name for name, values in request.args.lists() if len(values) > 1]
    if repeats:
        raise InputError(f"given more than once: {', '.join(sorted(repeats))}", "give every parameter once")


class Parameters(BaseModel):
    """A misspelt parameter is refused rather than ignored; on its own, any parameter is."""

    model_config = ConfigDict(extra="forbid")


class IndexParameters(Parameters):
    """Parameters of every request about an index."""

    index: Text = Field("", max_length=FILTER_LENGTH, description="The index to ask, one of `/api/indexes`.")


class Question(IndexParameters):
    """A question; the switches of a search are added from their table."""

    q: Text = Field(min_length=1, description=QUESTION)
    index: Text = Field(
        "",
        max_length=FILTER_LENGTH,
        description="The index to ask, one of `/api/indexes`; several with commas, or `all`: their lists as one.",
    )

    def switch(self, name: str) -> Any:
        return getattr(self, name)

    def query(self, settings: Settings, *, explain: bool = True) -> Query:
        """The query, with the settings' defaults; raises `InputError` beyond the limits."""
        check_length(self.q, settings)
        return Query.of(self.q, self.model_dump(exclude={"q", "index"}, exclude_unset=True), settings, explain=explain)


def _field(switch: Switch) -> Any:
    """A switch as a field of pydantic; the names of methods and the settings' limits are in the document only."""
    if switch.choices:
        return (Literal[switch.choices], Field(switch.default, description=switch.help))
    if isinstance(switch.default, bool):
        return (bool, Field(switch.default, description=switch.help))
    if isinstance(switch.default, int):
        return (int, Field(switch.default, ge=switch.least, description=switch.help))
    if isinstance(switch.default, float):
        return (float, Field(switch.default, ge=switch.least, le=switch.most, description=switch.help))
    length = NAME_LENGTH if switch.methods else FILTER_LENGTH
    return (Text, Field(switch.default, max_length=length, description=switch.help))


SearchParameters = create_model(
    "SearchParameters",
    __base__=Question,
    __doc__="A question with its switches.",
    **{switch.name: _field(switch) for switch in SWITCHES},
)


class ImpactParameters(IndexParameters):
    """A change, as a diff or as the id of one definition."""

    diff: Text = Field("", description="A unified diff.")
    function: str = Field("", pattern=f"{FUNCTION_ID}|^$", description="Instead: a unit's id.")
    repo: Text = Field("", max_length=FILTER_LENGTH, description="The repository, where the index has several.")
    k: int = Field(LIKELY_FILES, ge=1, le=MOST_LIKELY_FILES, description="How many files that likely change as well.")


class CommitParameters(IndexParameters):
    """A question to the history, or a file."""

    q: Text = Field("", max_length=FILTER_LENGTH, description="What the commits are about.")
    path: Text = Field("", max_length=FILTER_LENGTH, description="Instead: the last commits that touched this file.")
    k: int = Field(COMMITS, ge=1, le=MOST_COMMITS, description="How many commits.")


class SuggestParameters(IndexParameters):
    prefix: Text = Field(min_length=1, max_length=200, description="The start of a name.")
    k: int = Field(SUGGESTIONS, ge=1, le=MOST_SUGGESTIONS, description="How many names.")


class CompleteParameters(IndexParameters):
    filter: Literal["repo", "lang", "path", "kind", "role"] = Field(description="Which filter of a question.")
    prefix: Text = Field(
        "", max_length=200, description="The start of its value; of a repository any part of its name."
    )
    repo: Text = Field("", max_length=FILTER_LENGTH, description="Only paths of this repository.")
    k: int = Field(SUGGESTIONS, ge=1, le=MOST_SUGGESTIONS, description="How many values.")


class SimilarParameters(IndexParameters):
    k: int = Field(SIMILAR, ge=1, le=MOST_SIMILAR, description="How many functions.")


class FunctionPath(Parameters):
    function_id: str = Field(pattern=FUNCTION_ID, description="A unit's id, from a result.")


class FilePath(Parameters):
    where: Text = Field(
        min_length=1,
        max_length=FILTER_LENGTH,
        description="`REPOSITORY/PATH`; a path that ends in a slash is a folder, and a repository alone its top.",
    )


class ChangeParameters(Parameters):
    """A change of an index."""

    action: Literal["add", "update", "remove"] = Field(description="What to do with the source.")
    source: Annotated[Text, AfterValidator(not_blank)] = Field(
        min_length=1,
        max_length=FILTER_LENGTH,
        description="The whole path of a folder, or a git URL; to update or remove it, its name in `GET /api/sources`.",
    )
    index: Text = Field("", max_length=FILTER_LENGTH, description="The index to change, one of `/api/indexes`.")


class FeedbackParameters(Parameters):
    """One signal of one person about one result; nothing about the person."""

    query: Annotated[Text, AfterValidator(not_blank)] = Field(
        min_length=1, max_length=10_000, description="The question as it was asked."
    )
    function: str = Field(pattern=FUNCTION_ID, description="The unit's id.")
    signal: Signal = Field(description="`up`, `down`, or `open`.")
    undo: bool = Field(False, description="Take one such signal back.")


def declare_limits(spec: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Write the settings' limits and defaults and the methods' names into the OpenAPI document."""
    known: dict[str, dict[str, Any]] = {"q": {"maxLength": settings.max_query_length}}
    for switch in SWITCHES:
        known[switch.name] = {"default": switch.default_in(settings)}
        if switch.limit:
            known[switch.name]["maximum"] = getattr(settings, switch.limit)
        if switch.methods:
            known[switch.name]["enum"] = [DEFAULT, *method_names(switch)]
    for path in ("/api/search", "/api/map"):
        for parameter in spec["paths"].get(path, {}).get("get", {}).get("parameters", []):
            parameter["schema"].update(known.get(parameter["name"], {}))
    return spec


def _problem(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": ENVELOPE_SCHEMA}}}


# What the guard may answer before any endpoint is reached.
REFUSALS: dict[int | str, Any] = {
    401: _problem("This needs an API key."),
    403: _problem("The API key lacks the scope."),
    414: _problem("The path is too long."),
    429: _problem("Too many requests; see Retry-After."),
}
PROBLEMS: dict[int | str, Any] = {
    400: _problem("The question cannot be answered as asked."),
    422: _problem("A parameter is not valid."),
    503: _problem("The index or the engine is not there; see Retry-After."),
}
BODY: dict[int | str, Any] = {
    413: _problem("The body is too large."),
    415: _problem("The body is not JSON."),
}
NOT_MODIFIED: dict[int | str, Any] = {304: {"description": "What the client holds (If-None-Match) is still so."}}
RUNNING: dict[int | str, Any] = {409: _problem("Another change is under way.")}
MISSING: dict[int | str, Any] = PROBLEMS | {404: _problem("There is no such unit in the index.")}


KEYS: dict[str, Any] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key (`treeline keys create`)."},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same, in a header of ours."},
}


def declare_refusals(spec: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Write into the document which keys the guard takes and what it may answer; the probes are open to all."""
    spec["components"]["securitySchemes"] = KEYS
    with_key: list[dict[str, list[str]]] = [{name: []} for name in KEYS]
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            if method in {"get", "post"} and path not in {"/healthz", "/readyz"}:
                free = method == "get" and settings.keys_required == "writes"
                operation["security"] = [{}, *with_key] if free else with_key
                for status, problem in REFUSALS.items():
                    operation["responses"].setdefault(str(status), problem)
    return spec
