"""GET /api/functions/ID, its similar functions, its callers and callees."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from apiflask import APIBlueprint
from flask import Response
from werkzeug.exceptions import NotFound

from treeline.corpus.function import Function
from treeline.search.overview import find_similar
from treeline.service.api.answers import (
    FunctionShape,
    NeighboursShape,
    SimilarShape,
    around_row,
    function_row,
    similar_row,
)
from treeline.service.api.parameters import (
    MISSING,
    UNCHANGED,
    FunctionPath,
    Parameters,
    SimilarParameters,
    refuse_repeats,
)
from treeline.service.http.context import context
from treeline.service.http.response import REVALIDATE, elapsed, entity_tag, json_reply, not_modified

Row = dict[str, Any]
blueprint = APIBlueprint("functions", __name__, url_prefix="/api/functions", tag="Functions")
blueprint.before_request(refuse_repeats)


@blueprint.get("/<function_id>")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(Parameters, location="query", arg_name="parameters")
@blueprint.output(FunctionShape)
@blueprint.doc(operation_id="function", responses=MISSING | UNCHANGED)
def function(function_id: str, path: FunctionPath, parameters: Parameters) -> Response:
    """One function, whole."""
    return told("function", function_id, function_row)


@blueprint.get("/<function_id>/similar")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(SimilarParameters, location="query", arg_name="parameters")
@blueprint.output(SimilarShape)
@blueprint.doc(operation_id="similar", responses=MISSING | UNCHANGED)
def similar(function_id: str, path: FunctionPath, parameters: SimilarParameters) -> Response:
    """Functions that do something similar, nearest first, and which of them are of its cluster."""

    def row(_: Function) -> Row:
        return similar_row(function_id, find_similar(context().searcher, function_id, parameters.k))

    return told("similar", function_id, row, parameters.k)


@blueprint.get("/<function_id>/neighbours")
@blueprint.input(FunctionPath, location="path", arg_name="path")
@blueprint.input(Parameters, location="query", arg_name="parameters")
@blueprint.output(NeighboursShape)
@blueprint.doc(operation_id="neighbours", responses=MISSING | UNCHANGED)
def neighbours(function_id: str, path: FunctionPath, parameters: Parameters) -> Response:
    """What calls it, and what it calls, as far as static analysis sees; how many more have the call in their code."""

    def row(found: Function) -> Row:
        searcher = context().searcher
        unresolved = searcher.unresolved_calls(found)
        around = around_row(searcher.callers(function_id), unresolved, searcher.callees(function_id))
        return {"id": function_id} | around

    return told("neighbours", function_id, row)


def told(what: str, function_id: str, row: Callable[[Function], Row], *asked: object) -> Response:
    """The row of a function that is there, unless the client holds it; with the time that it took.

    The id is a digest of the text; its lines, its address and what is around it may be others in the next generation.
    """
    started = time.perf_counter()
    tag = entity_tag(what, context().searcher.info.identity, function_id, *asked)
    found = find(function_id)
    if (unchanged := not_modified(tag)) is not None:
        return unchanged
    return json_reply(row(found) | {"timings": {"total": elapsed(started)}}, tag=tag, cache=REVALIDATE)


def find(function_id: str) -> Function:
    found = context().searcher.function(function_id)
    if found is None:
        raise NotFound(
            f"There is no function {function_id} in the index. A function's id changes with its text: search again."
        )
    return found
