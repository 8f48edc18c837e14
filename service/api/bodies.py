"""The JSON of the API: what every answer begins from, and the small answers.

Each model declares its fields once: it makes the JSON and the OpenAPI document. pydantic fills a field from the
attribute of the same name; `of` fills the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import orjson
from pydantic import BaseModel, ConfigDict, Field

from treeline.corpus.function import Address
from treeline.engine.protocol import IndexInfo

ALL_UNRESOLVED = "Whether `unresolved_calls` counts all of them: only the first few hundred are looked at."


class Body(BaseModel):
    """A JSON object that we send. A field that was never set, such as code that nobody asked for, is left out."""

    model_config = ConfigDict(from_attributes=True)

    def json_bytes(self, *, indent: bool = False) -> bytes:
        return orjson.dumps(self.model_dump(exclude_unset=True), option=orjson.OPT_INDENT_2 if indent else None)


class AliveBody(Body):
    status: str


class IndexBody(Body):
    """The index that answered, and its generation."""

    name: str
    engine: str
    generation: str
    functions: int
    encoders: list[str]
    created: str

    @classmethod
    def of(cls, info: IndexInfo) -> Self:
        encoders = [f"{encoder.name} ({encoder.dimension})" for encoder in info.encoders]
        return cls(
            name=info.name,
            engine=info.engine,
            generation=info.generation,
            functions=info.functions,
            encoders=encoders,
            created=info.created,
        )


class IndexesBody(Body):
    """The indexes that are served, and which of them is asked unless a request names another."""

    default: str
    indexes: list[IndexBody]


class LocationBody(Body):
    """A function and where it lives."""

    id: str
    func_name: str
    kind: str = Field(description="What it is: `function`, `method`, `class`, `constant` …")
    repo: str
    path: str
    language: str
    url: str
    lines: list[int] | None = Field(description="First and last line, when known.")


def location(function_id: str, address: Address) -> dict[str, object]:
    """The fields of `LocationBody`."""
    return {**address._asdict(), "id": function_id, "lines": list(address.lines) if address.lines else None}


class CommitBody(Body):
    hash: str
    time: int = Field(description="Seconds since 1970.")
    author: str
    subject: str
    body: str


class NeighbourBody(Body):
    """A symbol on the other side of a call; one that is not a function of the index has an empty id."""

    id: str
    name: str
    kind: str
    repo: str
    path: str
    language: str
    line: int
    relation: str


class CountBody(Body):
    value: str
    count: int


def count_bodies(counts: Mapping[str, int]) -> list[CountBody]:
    return [CountBody(value=value, count=count) for value, count in counts.items()]


class DegradationBody(Body):
    lane: str
    reason: str


class SuggestBody(Body):
    prefix: str
    names: list[str]
    timings: dict[str, float]


class CompleteBody(Body):
    """Values that a filter can take here, the most frequent first."""

    filter: str
    prefix: str
    values: list[str]
    timings: dict[str, float]


class FeedbackBody(Body):
    recorded: bool


class StatusBody(Body):
    index: IndexBody
    languages: list[CountBody]
    repositories: int
    passed_over: str | None = Field(description="Why the newest generation is not the open one; null when it is.")
    timings: dict[str, float]


class EvalBody(Body):
    """The evaluation's result files, newest first."""

    runs: list[dict[str, object]]
    unreadable: list[str]
