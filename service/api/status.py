"""GET /api/status: what the index is made of. GET /healthz: alive. GET /readyz: can answer."""

from __future__ import annotations

import time
from typing import Any

from apiflask import APIBlueprint
from flask import Response

from treeline.engine.protocol import IndexInfo
from treeline.service.api.answers import AliveShape, IndexShape, StatusShape
from treeline.service.api.parameters import Parameters
from treeline.service.api.problems import PROBLEMS
from treeline.service.api.search import elapsed
from treeline.service.http.context import context
from treeline.service.http.reply import json_reply
from treeline.service.shown.answer_rows import count_rows

blueprint = APIBlueprint("status", __name__, tag="Service")


@blueprint.get("/api/status")
@blueprint.input(Parameters, location="query", arg_name="parameters")
@blueprint.output(StatusShape)
@blueprint.doc(operation_id="status", responses={503: PROBLEMS[503]})
def status(parameters: Parameters) -> Response:
    """Which index is open, and what is in it."""
    started = time.perf_counter()
    searcher = context().searcher
    facets = searcher.engine.facets()
    body = {
        "index": index_row(searcher.info),
        "languages": count_rows(facets.get("language", {})),
        "repositories": len(facets.get("repo", {})),
        "passed_over": searcher.passed_over or None,
        "timings": {"total": elapsed(started)},
    }
    return json_reply(body, cache="private, max-age=10")


@blueprint.get("/healthz")
@blueprint.output(AliveShape, description="The process is alive.")
@blueprint.doc(operation_id="healthz")
def healthz() -> Response:
    """Alive: the process answers, whatever the state of its index."""
    return json_reply({"status": "alive"})


@blueprint.get("/readyz")
@blueprint.output(IndexShape, description="The index is open and its engine answers.")
@blueprint.doc(operation_id="readyz", responses={503: PROBLEMS[503]})
def readyz() -> Response:
    """Ready: the index is open and its engine answers a count, in the time that a lane has."""
    return json_reply(index_row(context().ready()))


def index_row(info: IndexInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "engine": info.engine,
        "generation": info.generation,
        "functions": info.functions,
        "encoders": [f"{encoder.name} ({encoder.dimension})" for encoder in info.encoders],
        "created": info.created,
    }
