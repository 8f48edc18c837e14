"""The errors that every endpoint may answer with, and the keys that it takes, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from treeline.search.settings import Settings
from treeline.service.http.errors import ENVELOPE_SCHEMA


def _problem(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": ENVELOPE_SCHEMA}}}


# What the guard may answer before any endpoint is reached.
REFUSALS: dict[int | str, Any] = {
    401: _problem("This needs an API key."),
    403: _problem("The API key lacks the scope."),
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
UNCHANGED: dict[int | str, Any] = {304: {"description": "What the client holds (If-None-Match) is still so."}}
MISSING: dict[int | str, Any] = PROBLEMS | {404: _problem("There is no such function in the index.")}


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
