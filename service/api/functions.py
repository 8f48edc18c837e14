"""GET /api/functions/ID, its similar functions, its callers and callees."""

from __future__ import annotations

import time

from apiflask import APIBlueprint
from flask import Response
from werkzeug.exceptions import NotFound

from corpus.function import Function
from service.api.answers import FunctionShape, NeighboursShape, SimilarShape
from service.api.parameters import FunctionPath, Parameters, SimilarParameters, refuse_repeats
from service.api.problems import MISSING, UNCHANGED
from service.api.search import elapsed
from service.http.context import context
from service.http.reply import REVALIDATE, entity_tag, json_reply, not_modified
from service.searching.alike import alike
from service.shown.function_rows import around_row, function_row, similar_row

blueprint = APIBlueprint("functions", __name__, url_prefix="/api/functions", tag="Functions")
blueprint.before_request(refuse_repeats)


@blueprint.get("/<function_id>")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(Parameters, location="query", arg_name="parameters")
@blueprint.output(FunctionShape)
@blueprint.doc(operation_id="function", responses=MISSING | UNCHANGED)
def function(function_id: str, path: FunctionPath, parameters: Parameters) -> Response:
    """One function, whole."""
    started = time.perf_counter()
    tag = tag_of("function", function_id)
    found = find(function_id)
    if (unchanged := not_modified(tag)) is not None:
        return unchanged
    body = function_row(found) | {"timings": {"total": elapsed(started)}}
    return json_reply(body, tag=tag, cache=REVALIDATE)


@blueprint.get("/<function_id>/similar")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(SimilarParameters, location="query", arg_name="parameters")
@blueprint.output(SimilarShape)
@blueprint.doc(operation_id="similar", responses=MISSING | UNCHANGED)
def similar(function_id: str, path: FunctionPath, parameters: SimilarParameters) -> Response:
    """Functions that do something alike, nearest first, and which of them are of its cluster."""
    started = time.perf_counter()
    tag = tag_of("similar", function_id, parameters.k)
    find(function_id)
    if (unchanged := not_modified(tag)) is not None:
        return unchanged
    found = alike(context().searcher, function_id, parameters.k)
    body = similar_row(function_id, found) | {"timings": {"total": elapsed(started)}}
    return json_reply(body, tag=tag, cache=REVALIDATE)


@blueprint.get("/<function_id>/neighbours")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(Parameters, location="query", arg_name="parameters")
@blueprint.output(NeighboursShape)
@blueprint.doc(operation_id="neighbours", responses=MISSING | UNCHANGED)
def neighbours(function_id: str, path: FunctionPath, parameters: Parameters) -> Response:
    """What calls it, and what it calls, as far as static analysis sees; how many more have such a call written."""
    started = time.perf_counter()
    tag = tag_of("neighbours", function_id)
    found = find(function_id)
    if (unchanged := not_modified(tag)) is not None:
        return unchanged
    searcher = context().searcher
    around = around_row(searcher.callers(function_id), searcher.written(found), searcher.callees(function_id))
    body = {"id": function_id} | around | {"timings": {"total": elapsed(started)}}
    return json_reply(body, tag=tag, cache=REVALIDATE)


def tag_of(what: str, function_id: str, *asked: object) -> str:
    """The id is a digest of the text; its lines, its address and what is around it may be others in the next
    generation."""
    return entity_tag(what, context().searcher.info.identity, function_id, *asked)


def find(function_id: str) -> Function:
    found = context().searcher.function(function_id)
    if found is None:
        raise NotFound(
            f"There is no function {function_id} in the index. A function's id changes with its text: search again."
        )
    return found
