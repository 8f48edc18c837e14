"""GET and POST /api/sources, /api/sources/job and /api/sources/stop: what an index is made of, and changes of it."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, request
from werkzeug.exceptions import UnsupportedMediaType

from treeline.corpus.errors import InputError, TreelineError
from treeline.service import jobs
from treeline.service.api.file_answers import JobBody, JobsBody, SourceBody, SourcesBody
from treeline.service.api.parameters import (
    BODY,
    PROBLEMS,
    RUNNING,
    ChangeParameters,
    IndexParameters,
    Parameters,
    refuse_repeats,
)
from treeline.service.http import guard
from treeline.service.http.context import context
from treeline.service.http.response import json_reply

blueprint = APIBlueprint("sources", __name__, url_prefix="/api/sources", tag="Sources")
blueprint.before_request(refuse_repeats)


@blueprint.before_request
def only_json() -> None:
    if request.method == "POST" and not request.is_json:  # what a form on another site could send is refused
        raise UnsupportedMediaType("A change is sent as JSON.")


@blueprint.get("")
@guard.writes
@blueprint.input(IndexParameters, location="query", arg_name="parameters")
@blueprint.output(SourcesBody)
@blueprint.doc(operation_id="sources", responses=PROBLEMS)
def sources(parameters: IndexParameters) -> Response:
    """The sources of an index. It needs the scope `write`, because it names folders of the server."""
    settings = context().settings
    index = one_index(parameters.index)
    rows = [SourceBody(name=name, updatable=updatable(name)) for name in jobs.sources_of(settings, index)]
    return json_reply(SourcesBody(index=index, sources=rows).json_bytes())


@blueprint.get("/job")
@guard.writes
@blueprint.input(Parameters, location="query", arg_name="parameters")
@blueprint.output(JobsBody)
@blueprint.doc(operation_id="job")
def job(parameters: Parameters) -> Response:
    """The change that runs, with its progress, or the last one."""
    return json_reply(jobs_body(jobs.current(context().settings)).json_bytes())


@blueprint.post("")
@guard.writes
@blueprint.input(ChangeParameters, location="json", arg_name="body")
@blueprint.output(JobsBody, status_code=202)
@blueprint.doc(operation_id="change", responses=PROBLEMS | BODY | RUNNING)
def change(body: ChangeParameters) -> Response:
    """Add, update or remove a source. It runs on its own; `GET /api/sources/job` has its progress.

    `TREELINE_WRITE_ROOTS` and `TREELINE_WRITE_GIT` decide what may be added. One change runs at a time.
    """
    new_job = jobs.start(context().settings, body.action, body.source, one_index(body.index))
    return json_reply(jobs_body(new_job).json_bytes(), status=202)


@blueprint.post("/stop")
@guard.writes
@blueprint.input(Parameters, location="json", arg_name="body")
@blueprint.output(JobsBody)
@blueprint.doc(operation_id="stop", responses={400: PROBLEMS[400], 422: PROBLEMS[422]} | BODY)
def stop(body: Parameters) -> Response:
    """Stop the change that runs. What it has read is kept: the same change goes on from there."""
    settings = context().settings
    jobs.require_on(settings)
    return json_reply(jobs_body(jobs.stop(settings)).json_bytes())


def jobs_body(job_record: jobs.Job | None) -> JobsBody:
    return JobsBody(job=JobBody.model_validate(job_record) if job_record else None)


def one_index(given_name: str) -> str:
    names = context().indexes.choose(given_name)
    if len(names) > 1:
        raise InputError("a change is of one index", f"choose from: {', '.join(context().indexes.names)}")
    return names[0]


def updatable(name: str) -> bool:
    try:
        return jobs.check_source(name, context().settings) == name
    except TreelineError:
        return False
