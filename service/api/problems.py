"""The errors that every endpoint may answer with, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from service.errors import ENVELOPE_SCHEMA


def _problem(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": ENVELOPE_SCHEMA}}}


PROBLEMS: dict[int | str, Any] = {
    400: _problem("The question cannot be answered as asked."),
    422: _problem("A parameter is not valid."),
    429: _problem("Too many requests; see Retry-After."),
    503: _problem("The index or the engine is not there; see Retry-After."),
}
MISSING: dict[int | str, Any] = PROBLEMS | {404: _problem("There is no such function in the index.")}
