"""GET /api/status, /api/eval, /healthz, /readyz and POST /api/feedback."""

from __future__ import annotations

import logging
import time

from apiflask import APIBlueprint
from flask import Response, request
from werkzeug.exceptions import UnsupportedMediaType

from treeline.corpus.errors import EngineUnavailable, TreelineError
from treeline.search.plan import check_length
from treeline.search.query import parse
from treeline.service.api.bodies import (
    AliveBody,
    EvalBody,
    FeedbackBody,
    IndexBody,
    IndexesBody,
    StatusBody,
    count_bodies,
)
from treeline.service.api.functions import find
from treeline.service.api.parameters import (
    BODY,
    MISSING,
    NOT_MODIFIED,
    PROBLEMS,
    FeedbackParameters,
    IndexParameters,
    Parameters,
)
from treeline.service.evaluation import result_files
from treeline.service.http import guard
from treeline.service.http.context import context
from treeline.service.http.response import REVALIDATE, entity_tag, json_reply, milliseconds_since, not_modified

log = logging.getLogger(__name__)
blueprint = APIBlueprint("status", __name__, tag="Service")


@blueprint.get("/api/indexes")
@blueprint.input(Parameters, location="query", arg_name="parameters")
@blueprint.output(IndexesBody)
@blueprint.doc(operation_id="indexes", responses={503: PROBLEMS[503]})
def indexes(parameters: Parameters) -> Response:
    """The indexes that `index=` may name: those that are served and there."""
    here = context()
    body = IndexesBody(default=here.settings.index, indexes=[IndexBody.of(info) for info in here.indexes.infos()])
    return json_reply(body.json_bytes(), cache="private, max-age=10")


@blueprint.get("/api/status")
@blueprint.input(IndexParameters, location="query", arg_name="parameters")
@blueprint.output(StatusBody)
@blueprint.doc(operation_id="status", responses={400: PROBLEMS[400], 422: PROBLEMS[422], 503: PROBLEMS[503]})
def status(parameters: IndexParameters) -> Response:
    """The open index and its contents."""
    start = time.perf_counter()
    searcher = context().searcher
    facets = searcher.engine.facets()
    body = StatusBody(
        index=IndexBody.of(searcher.info),
        languages=count_bodies(facets.get("language", {})),
        repositories=len(facets.get("repo", {})),
        passed_over=searcher.passed_over or None,
        timings={"total": milliseconds_since(start)},
    )
    return json_reply(body.json_bytes(), cache="private, max-age=10")


@blueprint.get("/healthz")
@blueprint.output(AliveBody, description="The process is alive.")
@blueprint.doc(operation_id="healthz")
def healthz() -> Response:
    """Alive: the process answers, whatever the state of its index."""
    return json_reply({"status": "alive"})


@blueprint.get("/readyz")
@blueprint.output(AliveBody, description="The index is open and its engine answers.")
@blueprint.doc(operation_id="readyz", responses={503: PROBLEMS[503]})
def readyz() -> Response:
    """Ready: the index is open and its engine answers a count, in the time that a lane has.

    Open to everybody, so it says nothing of the index; `/api/status` does, and the log has the reason for a 503.
    """
    try:
        context().ready()
    except TreelineError as error:
        log.info("not ready: %s", error)
        raise EngineUnavailable("the index is not ready", "see /api/status, or the service's log") from error
    return json_reply({"status": "ready"})


evaluation_blueprint = APIBlueprint("evaluation", __name__, url_prefix="/api", tag="Evaluation")


@evaluation_blueprint.get("/eval")
@evaluation_blueprint.input(Parameters, location="query", arg_name="parameters")
@evaluation_blueprint.output(EvalBody)
@evaluation_blueprint.doc(operation_id="evaluation", responses=NOT_MODIFIED)
def evaluation(parameters: Parameters) -> Response:
    """The runs of `treeline eval`, newest first, without the single queries' values."""
    runs, unreadable = result_files(context().settings)
    tag = entity_tag(*((run.name, run.modified) for run in runs), *unreadable)
    if (same := not_modified(tag)) is not None:
        return same
    left_out = {"texts": True, "worst": True, "systems": {"__all__": {"values"}}}
    rows = [{"name": run.name} | run.evaluation.model_dump(exclude=left_out) for run in runs]  # type: ignore[arg-type]
    return json_reply({"runs": rows, "unreadable": unreadable}, tag=tag, cache=REVALIDATE)


feedback_blueprint = APIBlueprint("feedback", __name__, url_prefix="/api", tag="Feedback")


@feedback_blueprint.before_request
def only_json() -> None:
    if request.method == "POST" and not request.is_json:  # what a form on another site could send is refused
        raise UnsupportedMediaType("Feedback is sent as JSON.")


@feedback_blueprint.post("/feedback")
@guard.writes
@guard.votes
@feedback_blueprint.input(FeedbackParameters, location="json", arg_name="body")
@feedback_blueprint.output(FeedbackBody)
@feedback_blueprint.doc(operation_id="feedback", responses=MISSING | BODY)
def feedback(body: FeedbackParameters) -> Response:
    """Say that a result was useful, was not, or was opened.

    Kept are the question's terms, the function's id, counts, and a pseudonym of the voter that differs for every
    question and function, so that nobody takes back or repeats another's vote. With feedback switched off the answer
    says `recorded: false`.
    """
    here = context()
    check_length(body.query, here.settings)
    find(body.function)
    if here.settings.feedback:
        who = guard.voter()
        amount = -1 if body.undo else 1
        here.feedback.record(parse(body.query).words, body.function, body.signal, amount, who.id, who.most)
    return json_reply({"recorded": here.settings.feedback})
