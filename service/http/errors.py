"""One shape for every error: `{"error": {code, message, hint}}`, or a page with the same text."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from apiflask import APIFlask, HTTPError
from flask import Request, Response, render_template, request
from werkzeug.datastructures import Headers
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from treeline.corpus.errors import (
    EncoderMismatch,
    EngineUnavailable,
    IndexDamaged,
    IndexMissing,
    IndexOutdated,
    InputError,
    TreelineError,
)
from treeline.service.http.response import json_reply


class JsonRequest(Request):
    """A request whose bad JSON gets a specific error."""

    def on_json_loading_failed(self, e: ValueError | None) -> Any:
        if e is None:  # no JSON content type
            return super().on_json_loading_failed(e)
        # A body without a length is truncated at the limit instead of refused.
        if self.content_length is None and len(self.get_data()) >= (self.max_content_length or 0):
            raise RequestEntityTooLarge from e
        raise BadRequest("The body is not valid JSON.") from e


log = logging.getLogger(__name__)

RETRY_SECONDS = "2"
OF_THE_BODY = frozenset({"content-type", "content-length"})
HINTS = {
    400: "check the request against /docs",
    404: "check the address, or search for it",
    405: "see /docs for the methods of this address",
    413: "send less",
    415: "send JSON with Content-Type: application/json",
    422: "check the parameters against /docs",
    500: "try again; if it happens again, report it with the request id",
}

# The validator's messages in plain words.
PLAINER = {"Extra inputs are not permitted": "there is no such parameter", "Field required": "it is missing"}
STATUSES = {"indexing_off": 403, "job_running": 409}
WORDS = {404: "there is nothing at this address"}
WHOLE_BODY = "_schema"  # the validator's key for the whole body


def status_of(error: TreelineError) -> int:
    """400 for bad input, 503 while there is no usable index, else 500."""
    if error.code in STATUSES:
        return STATUSES[error.code]
    if isinstance(error, (IndexDamaged, IndexMissing, IndexOutdated, EncoderMismatch, EngineUnavailable)):
        return 503
    return 400 if isinstance(error, InputError) else 500


def for_people() -> bool:
    """Whether the request is a browser's for a page, not a program's."""
    if request.path.startswith(("/api/", "/openapi", "/healthz", "/readyz", "/metrics")):
        return False
    return request.accept_mimetypes.best_match(["text/html", "application/json"]) == "text/html"


def error_reply(
    status: int, code: str, message: str, hint: str = "", headers: dict[str, str] | None = None
) -> Response:
    """The envelope, or its page."""
    hint = hint or HINTS.get(status, "")
    if for_people():
        page = render_template("error.html", status=status, code=code, message=message, hint=hint)
        response = Response(page, status=status, headers=headers)
        response.headers["Cache-Control"] = "no-store"
        return response
    return json_reply({"error": {"code": code, "message": message, "hint": hint}}, status=status, headers=headers)


def init_app(app: APIFlask) -> None:
    app.config["VALIDATION_ERROR_SCHEMA"] = app.config["HTTP_ERROR_SCHEMA"] = ENVELOPE_SCHEMA

    @app.errorhandler(TreelineError)
    def known(error: TreelineError) -> Response:
        status = status_of(error)
        headers = {"Retry-After": RETRY_SECONDS} if status == 503 else None
        return error_reply(status, error.code, error.message, error.hint, headers)

    @app.error_processor
    def refuse(error: HTTPError) -> Response:
        message, hint = error.message or HTTPStatus(error.status_code).phrase, ""
        if error.status_code == app.config["VALIDATION_ERROR_STATUS_CODE"] and error.detail:
            message, hint = "The request is not valid: " + complaint(error.detail), HINTS[422]
        headers = {name: str(value) for name, value in Headers(error.headers) if name.lower() not in OF_THE_BODY}
        return error_reply(error.status_code, slug(error.status_code), message, hint, headers)

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> Response | HTTPException:
        if error.code is None or error.code < 400:  # a redirect
            return error
        headers = {
            name: value for name, value in error.get_headers() if name.lower() not in {"content-type", "content-length"}
        }
        stock = error.description == type(error).description  # werkzeug's own text is long and vague
        message = WORDS.get(error.code) if stock else None
        return error_reply(error.code, slug(error.code), message or error.description or error.name, "", headers)

    @app.errorhandler(Exception)
    def unforeseen(error: Exception) -> Response:
        log.exception("unforeseen error at %s %s", request.method, request.path)
        return error_reply(500, "internal_error", "Something went wrong here, not with your request.")


def complaint(detail: Any) -> str:
    """A validation error in one sentence: `k: must be at least 1; mode: …`."""
    complaints: list[str] = []
    for fields in detail.values() if isinstance(detail, dict) else []:
        for field, messages in fields.items() if isinstance(fields, dict) else []:
            text = " and ".join(map(str, messages)) if isinstance(messages, list) else str(messages)
            text = PLAINER.get(text, text)
            if field == WHOLE_BODY:
                complaints.append("the body is not a JSON object")
                continue
            complaints.append(f"{field}: {text[:1].lower()}{text[1:]}")
    return "; ".join(complaints) or "it does not follow the schema"


def slug(status: int) -> str:
    """`404` → `not_found`."""
    if status == 422:
        return "bad_input"
    return HTTPStatus(status).phrase.lower().replace(" ", "_").replace("-", "_")


ENVELOPE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "For programs; does not change."},
                "message": {"type": "string", "description": "What was wrong."},
                "hint": {"type": "string", "description": "What to do about it."},
            },
            "required": ["code", "message", "hint"],
        }
    },
    "required": ["error"],
}
