"""Searching over HTTP: results as JSON and CSV, completion of names and filters, and the results as a tree."""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO

from apiflask import APIBlueprint
from flask import Response

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.corpus.roles import NAMES
from treeline.graph.layout import draw
from treeline.search.files import Files
from treeline.search.tree import result_graph
from treeline.service.api.answers import MapBody, MapNodeBody, SearchBody
from treeline.service.api.bodies import CompleteBody, DegradationBody, SuggestBody
from treeline.service.api.function_answers import CommitsBody, ImpactBody
from treeline.service.api.functions import find
from treeline.service.api.parameters import (
    MISSING,
    NOT_MODIFIED,
    PROBLEMS,
    CommitParameters,
    CompleteParameters,
    ImpactParameters,
    Question,
    SearchParameters,
    SuggestParameters,
    refuse_repeats,
)
from treeline.service.http import guard
from treeline.service.http.context import answer_tag, context, search_or_cached, votes_on
from treeline.service.http.response import (
    NEVER,
    REVALIDATE,
    json_reply,
    milliseconds_since,
    not_modified,
    server_timing,
)
from treeline.service.present.text import summary, visible

blueprint = APIBlueprint("search", __name__, url_prefix="/api", tag="Search")
blueprint.before_request(refuse_repeats)


@blueprint.get("/search")
@blueprint.input(SearchParameters, location="query", arg_name="parameters")
@blueprint.output(SearchBody)
@blueprint.doc(operation_id="search", responses=PROBLEMS | NOT_MODIFIED)
def search(parameters: Question) -> Response:
    """Find code by what it does."""
    return search_reply(parameters)


@blueprint.post("/search")
@guard.reads
@blueprint.input(SearchParameters, location="json", arg_name="parameters")
@blueprint.output(SearchBody)
@blueprint.doc(operation_id="search_text", responses=PROBLEMS)
def search_text(parameters: Question) -> Response:
    """Find code by a text that is too long for a URL: an issue, a log, a diff."""
    return search_reply(parameters)


@blueprint.post("/impact")
@guard.reads
@blueprint.input(ImpactParameters, location="json", arg_name="parameters")
@blueprint.output(ImpactBody)
@blueprint.doc(operation_id="impact", responses=MISSING)
def impact(parameters: ImpactParameters) -> Response:
    """The definitions that a change touches, what depends on them, and the files that likely have to change too."""
    from treeline.search.impact import change_of, impact_of, only_repository, parse_diff

    with context().searcher.searcher() as current:
        unit = find(parameters.function) if parameters.function else None
        changes = [change_of(unit)] if unit else parse_diff(parameters.diff)
        repo = parameters.repo or (unit.repo if unit else only_repository(current.engine))
        body = ImpactBody.of(impact_of(current, changes, repo, parameters.k), changes)
    return json_reply(body.json_bytes(), cache=NEVER)


@blueprint.get("/commits")
@blueprint.input(CommitParameters, location="query", arg_name="parameters")
@blueprint.output(CommitsBody)
@blueprint.doc(operation_id="commits", responses=PROBLEMS)
def commits(parameters: CommitParameters) -> Response:
    """Commits by what they are about, what changed lately, and who knows a subject; none without a history."""
    if bool(parameters.q.strip()) == bool(parameters.path):
        raise InputError("commits are found by a question or by a file", "give q or path")
    answer = context().searcher.commits(parameters.q, parameters.path, parameters.k)
    return json_reply(CommitsBody.of(answer).json_bytes(), cache=NEVER)


def search_reply(parameters: Question) -> Response:
    """The answer as JSON, or that it is unchanged."""
    here = context()
    explain, code = parameters.switch("explain"), parameters.switch("code")
    query = parameters.query(here.settings, explain=explain)
    votes = votes_on(query)
    key = answer_tag(query, votes)
    tag = f"{key}{explain:d}{code:d}"
    if (same := not_modified(tag)) is not None:
        return same
    answer = search_or_cached(query, votes, key)
    body = SearchBody.of(
        answer,
        here.searcher_of(answer).info,
        explain=explain,
        code=code,
        clusters=here.clusters,
        last_offset=here.settings.max_offset,
    )
    timing = {"Server-Timing": server_timing(answer.timings)}
    if answer.degraded:  # what a slow lane left out must not be kept
        return json_reply(body.json_bytes(), cache=NEVER, headers=timing)
    return json_reply(body.json_bytes(), tag=tag, cache=REVALIDATE, headers=timing)


@blueprint.get("/suggest")
@blueprint.input(SuggestParameters, location="query", arg_name="parameters")
@blueprint.output(SuggestBody)
@blueprint.doc(operation_id="suggest", responses=PROBLEMS)
def suggest(parameters: SuggestParameters) -> Response:
    """Function names that begin like this, most common first."""
    begin = time.perf_counter()
    names = context().searcher.suggest(parameters.prefix, parameters.k)
    body = SuggestBody(prefix=parameters.prefix, names=names, timings={"total": milliseconds_since(begin)})
    return json_reply(body.json_bytes(), cache="private, max-age=60")


@blueprint.get("/complete")
@blueprint.input(CompleteParameters, location="query", arg_name="parameters")
@blueprint.output(CompleteBody)
@blueprint.doc(operation_id="complete", responses=PROBLEMS)
def complete(parameters: CompleteParameters) -> Response:
    """Values of a filter that begin like this: repositories, languages, kinds, and paths folder by folder."""
    begin = time.perf_counter()
    name, prefix = parameters.filter, parameters.prefix
    with context().searcher.searcher() as current:
        if name == "path":
            values = Files(current).complete_path(prefix, parameters.repo)
        else:
            facets = current.engine.facets() | {"role": dict.fromkeys(NAMES, 0)}
            counts = facets.get({"lang": "language"}.get(name, name), {})
            values = complete_value(counts, prefix, anywhere=name == "repo")
    body = CompleteBody(
        filter=name, prefix=prefix, values=values[: parameters.k], timings={"total": milliseconds_since(begin)}
    )
    return json_reply(body.json_bytes(), cache="private, max-age=60")


def complete_value(counts: Mapping[str, int], prefix: str, *, anywhere: bool) -> list[str]:
    """The values that begin with this in whatever case, then (`anywhere`) those that have it elsewhere; each time the
    most frequent first."""
    lowercase = prefix.lower()
    starts = {value: value.lower().startswith(lowercase) for value in counts if value}
    values = [value for value, first in starts.items() if first or (anywhere and lowercase in value.lower())]
    return sorted(values, key=lambda value: (not starts[value], -counts[value], value))


CSV_COLUMNS = ("rank", "score", "kind", "name", "repo", "path", "first_line", "last_line", "language", "url", "about")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would run


@blueprint.get("/search.csv")
@blueprint.input(SearchParameters, location="query", arg_name="parameters")
@blueprint.doc(
    operation_id="search_csv",
    responses=PROBLEMS
    | {200: {"description": "The results.", "content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def search_csv(parameters: Question) -> Response:
    """The results as a table for a spreadsheet."""
    here = context()
    answer = search_or_cached(parameters.query(here.settings, explain=False))
    table = StringIO()
    writer = csv.writer(table)
    writer.writerow(CSV_COLUMNS)
    for result in answer.results:
        address = result.function.address
        lines = address.lines or ("", "")
        about = summary(result.function.docstring)
        row = (
            address.kind,
            address.func_name,
            address.repo,
            address.path,
            *lines,
            address.language,
            address.url,
            about,
        )
        writer.writerow((result.rank, f"{result.candidate.score:.6f}", *map(_cell, row)))
    headers = {"Content-Disposition": 'attachment; filename="treeline.csv"', "Cache-Control": NEVER}
    return Response(table.getvalue(), mimetype="text/csv", headers=headers)


def _cell(value: object) -> str:
    """Text that a spreadsheet takes as text."""
    text = visible(str(value))
    return f"'{text}" if text.startswith(FORMULA) else text


PAGE = 10  # asks what the list beside it asked, so that one search serves both


@blueprint.get("/map")
@blueprint.input(SearchParameters, location="query", arg_name="parameters")
@blueprint.output(MapBody)
@blueprint.doc(operation_id="map", responses=PROBLEMS | NOT_MODIFIED)
def map_of_results(parameters: Question) -> Response:
    """The tree of the results in the Poincaré disk, each with its rank before and after re-ranking."""
    here = context()
    query = replace(parameters.query(here.settings, explain=False), k=PAGE, offset=0)
    votes = votes_on(query)
    key = answer_tag(query, votes)
    tag = f"{key}map"
    if (same := not_modified(tag)) is not None:
        return same
    answer = search_or_cached(query, votes, key)
    begin = time.perf_counter()
    rows = list(answer.candidates[: here.settings.map_depth])
    addresses = [candidate.address for candidate in rows]
    disk = draw(result_graph(rows, clusters=here.settings.clusters), addresses)
    cluster_at = {node.rank: node.cluster for node in disk.nodes}
    clusters = [cluster_at[rank] for rank in range(1, len(rows) + 1)]
    timings = dict(answer.timings) | {"map": milliseconds_since(begin)}
    body = MapBody(
        query=answer.plan.words,
        nodes=[MapNodeBody.of(node, rows) for node in disk.nodes],
        clusters=cluster_places(addresses, clusters),
        distortion=disk.distortion,
        degraded=[DegradationBody.model_validate(lane) for lane in answer.degraded],
        timings=timings,
    )
    headers = {"Server-Timing": server_timing(timings)}
    if answer.degraded:
        return json_reply(body.json_bytes(), cache=NEVER, headers=headers)
    return json_reply(body.json_bytes(), tag=tag, cache=REVALIDATE, headers=headers)


MAJORITY = 0.6  # of a cluster's members that its label holds
LABEL_STEPS = 2


def cluster_places(addresses: Sequence[Address], clusters: Sequence[int | None]) -> list[str]:
    """A label for each cluster: the innermost folder, file or class with most of its members; '' if none has."""
    count = max((cluster for cluster in clusters if cluster is not None), default=-1) + 1
    places = [Counter[tuple[str, ...]]() for _ in range(count)]
    for address, cluster in zip(addresses, clusters, strict=True):
        if cluster is not None:
            steps = (address.repo, *address.path.split("/"), *address.scopes[:-1])
            places[cluster].update(steps[:length] for length in range(1, len(steps) + 1))
    return ["/".join(_innermost(each)[-LABEL_STEPS:]) for each in places]


def _innermost(places: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    members = sum(count for steps, count in places.items() if len(steps) == 1)
    return max((steps for steps, count in places.items() if count >= MAJORITY * members), key=len, default=())
