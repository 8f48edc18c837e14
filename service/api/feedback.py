"""POST /api/feedback: a thumb or an open, counted per (question, function)."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, request
from werkzeug.exceptions import UnsupportedMediaType

from treeline.search.query import parse
from treeline.search.question.checking import read_whole
from treeline.service.api.answers import FeedbackShape
from treeline.service.api.functions import find
from treeline.service.api.parameters import FeedbackBody
from treeline.service.api.problems import BODY, MISSING
from treeline.service.http import guard
from treeline.service.http.context import context
from treeline.service.http.reply import json_reply

blueprint = APIBlueprint("feedback", __name__, url_prefix="/api", tag="Feedback")


@blueprint.before_request
def only_json() -> None:
    if request.method == "POST" and not request.is_json:  # what a form on another site could send is refused
        raise UnsupportedMediaType("Feedback is sent as JSON.")


@blueprint.post("/feedback")
@guard.writes
@blueprint.input(FeedbackBody, location="json", arg_name="body")
@blueprint.output(FeedbackShape)
@blueprint.doc(operation_id="feedback", responses=MISSING | BODY)
def feedback(body: FeedbackBody) -> Response:
    """Say that a result was useful, was not, or was opened.

    Only the question's terms, the function's id and a count are kept: nothing about who said it. With feedback
    switched off the answer says `recorded: false`.
    """
    here = context()
    read_whole(body.query, here.settings)
    find(body.function)
    if here.settings.feedback:
        here.feedback.record(parse(body.query).words, body.function, body.signal, -1 if body.undo else 1)
    return json_reply({"recorded": here.settings.feedback})
