"""GET /api/search and GET /api/suggest."""

from __future__ import annotations

import time

from apiflask import APIBlueprint
from flask import Response

from treeline.search.alike import clusters_of
from treeline.service.api.answers import SearchShape, SuggestShape
from treeline.service.api.parameters import SearchParameters, SuggestParameters, refuse_repeats
from treeline.service.api.problems import PROBLEMS, UNCHANGED
from treeline.service.http.asking import ask, tag_of, with_votes
from treeline.service.http.context import context
from treeline.service.http.reply import NEVER, REVALIDATE, json_reply, not_modified, server_timing
from treeline.service.shown.answer_rows import answer_row

blueprint = APIBlueprint("search", __name__, url_prefix="/api", tag="Search")
blueprint.before_request(refuse_repeats)


@blueprint.get("/search")
@blueprint.input(SearchParameters, location="query", arg_name="parameters")
@blueprint.output(SearchShape)
@blueprint.doc(operation_id="search", responses=PROBLEMS | UNCHANGED)
def search(parameters: SearchParameters) -> Response:
    """Find functions by what they do."""
    here = context()
    query = with_votes(parameters.query(here.settings, explain=parameters.explain))
    key = tag_of(query)
    tag = f"{key}{parameters.explain:d}{parameters.code:d}"
    if (unchanged := not_modified(tag)) is not None:
        return unchanged
    answer = ask(query, key)
    searcher = here.searcher
    body = answer_row(
        answer,
        searcher.info,
        explain=parameters.explain,
        code=parameters.code,
        clusters=lambda: clusters_of(searcher),
        last_offset=here.settings.max_offset,
    )
    timing = {"Server-Timing": server_timing(answer.timings)}
    if answer.degraded:  # what a slow lane left out must not be kept
        return json_reply(body, cache=NEVER, headers=timing)
    return json_reply(body, tag=tag, cache=REVALIDATE, headers=timing)


@blueprint.get("/suggest")
@blueprint.input(SuggestParameters, location="query", arg_name="parameters")
@blueprint.output(SuggestShape)
@blueprint.doc(operation_id="suggest", responses=PROBLEMS)
def suggest(parameters: SuggestParameters) -> Response:
    """Function names that begin like this, most common first."""
    started = time.perf_counter()
    names = context().searcher.suggest(parameters.prefix, parameters.k)
    body = {"prefix": parameters.prefix, "names": names, "timings": {"total": elapsed(started)}}
    return json_reply(body, cache="private, max-age=60")


def elapsed(started: float) -> float:
    """Milliseconds since then."""
    return round((time.perf_counter() - started) * 1_000, 3)
