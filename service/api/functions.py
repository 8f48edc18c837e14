"""GET /api/functions/ID, its similar functions, its callers and callees."""

from __future__ import annotations

import time
from collections.abc import Callable

from apiflask import APIBlueprint
from flask import Response
from werkzeug.exceptions import NotFound

from treeline.corpus.function import Function
from treeline.search.overview import find_similar
from treeline.service.api.function_answers import FunctionBody, NeighboursBody, SimilarBody, calls
from treeline.service.api.parameters import (
    MISSING,
    NOT_MODIFIED,
    FunctionPath,
    IndexParameters,
    SimilarParameters,
    refuse_repeats,
)
from treeline.service.http.context import context
from treeline.service.http.response import REVALIDATE, entity_tag, json_reply, milliseconds_since, not_modified

blueprint = APIBlueprint("functions", __name__, url_prefix="/api/functions", tag="Functions")
blueprint.before_request(refuse_repeats)


@blueprint.get("/<function_id>")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(IndexParameters, location="query", arg_name="parameters")
@blueprint.output(FunctionBody)
@blueprint.doc(operation_id="function", responses=MISSING | NOT_MODIFIED)
def function(function_id: str, path: FunctionPath, parameters: IndexParameters) -> Response:
    """One function, whole."""
    return reply("function", function_id, FunctionBody.of)


@blueprint.get("/<function_id>/similar")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(SimilarParameters, location="query", arg_name="parameters")
@blueprint.output(SimilarBody)
@blueprint.doc(operation_id="similar", responses=MISSING | NOT_MODIFIED)
def similar(function_id: str, path: FunctionPath, parameters: SimilarParameters) -> Response:
    """Functions that do something similar, nearest first, and which of them are of its cluster."""

    def body(_: Function) -> SimilarBody:
        return SimilarBody.of(function_id, find_similar(context().searcher, function_id, parameters.k))

    return reply("similar", function_id, body, parameters.k)


@blueprint.get("/<function_id>/neighbours")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(IndexParameters, location="query", arg_name="parameters")
@blueprint.output(NeighboursBody)
@blueprint.doc(operation_id="neighbours", responses=MISSING | NOT_MODIFIED)
def neighbours(function_id: str, path: FunctionPath, parameters: IndexParameters) -> Response:
    """Its callers and callees, as far as static analysis sees, and how many more have the call in their code."""

    def body(unit: Function) -> NeighboursBody:
        searcher = context().searcher
        more = searcher.unresolved_calls(unit)
        around = calls(searcher.callers(function_id), more, searcher.callees(function_id))
        return NeighboursBody.model_validate({"id": function_id} | around)

    return reply("neighbours", function_id, body)


TimedBody = FunctionBody | SimilarBody | NeighboursBody


def reply(what: str, function_id: str, body: Callable[[Function], TimedBody], *parameters: object) -> Response:
    """The body about a function, with the time it took, unless the client has it already.

    The id is a digest of the text; its lines, its address and what is around it may be others in the next generation.
    """
    start = time.perf_counter()
    tag = entity_tag(what, context().searcher.info.identity, function_id, *parameters)
    unit = find(function_id)
    if (same := not_modified(tag)) is not None:
        return same
    answer = body(unit)
    answer.timings = {"total": milliseconds_since(start)}
    return json_reply(answer.json_bytes(), tag=tag, cache=REVALIDATE)


def find(function_id: str) -> Function:
    unit = context().searcher.function(function_id)
    if unit is None:
        raise NotFound(f"Nothing in the index has the id {function_id}; an id changes with its code.")
    return unit
