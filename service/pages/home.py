"""The front page and the dashboard of the evaluation."""

from __future__ import annotations

from collections import Counter

from apiflask import APIBlueprint
from flask import Response, redirect, render_template, request, url_for
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from treeline.corpus.errors import TreelineError
from treeline.service import jobs
from treeline.service.evaluation import (
    chart_data,
    has_results,
    metrics_by_query,
    query_rows,
    query_texts,
    result_files,
    select_run,
)
from treeline.service.http import guard
from treeline.service.http.context import context
from treeline.service.http.response import allow_plotly_styles
from treeline.service.pages.search import EXAMPLES
from treeline.service.present.text import web_address

blueprint = APIBlueprint("home", __name__, enable_openapi=False)


@blueprint.get("/")
def home() -> BaseResponse:
    """The front page. A query typed at the root (`/?q=…`) is redirected to the search page."""
    if "q" in request.args:
        return redirect(f"{url_for('search_page.search')}?{request.query_string.decode('ascii', 'replace')}")
    here = context()
    try:
        index, indexes, problem = here.figures(), here.index_titles, None
    except TreelineError as error:
        index, indexes, problem = None, {}, error
    page = render_template(
        "home.html",
        examples=EXAMPLES,
        index=index,
        indexes=indexes,
        problem=problem,
        is_reading=problem is not None and guard.is_local() and here.is_reading,
    )
    return Response(page, headers={"Cache-Control": "private, no-cache"})


@blueprint.get("/sources")
def sources() -> Response:
    """Add, update and remove sources. The page itself says nothing of them: its script asks the API, with a key where
    one is needed."""
    here = context()
    page = render_template(
        "sources.html",
        on=jobs.is_on(here.settings),
        local=guard.is_local(),
        roots=[str(root) for root in jobs.roots(here.settings)] if guard.is_local() else [],
        git=here.settings.write_git,
        indexes=here.index_titles,
    )
    return Response(page, headers={"Cache-Control": "no-store"})


evaluation_blueprint = APIBlueprint("evaluation_page", __name__, enable_openapi=False)


@evaluation_blueprint.app_context_processor
def evaluation_link() -> dict[str, object]:
    """Whether the menu has the dashboard: only where something was evaluated."""
    return {"has_evaluation": has_results(context().settings)}


@evaluation_blueprint.get("/eval")
def evaluation() -> Response:
    allow_plotly_styles()
    settings = context().settings
    runs, unreadable = result_files(settings)
    run_name = request.args.get("run", "")
    run = select_run(runs, run_name)
    if run_name and (run is None or run.name != run_name):
        raise NotFound("There is no such run of the evaluation.")
    if run is None:
        return Response(render_template("eval.html", run=None, runs=[], unreadable=unreadable))
    result = run.evaluation
    metric = request.args.get("metric", result.headline)
    if metric not in {one.name for one in result.metrics}:
        raise NotFound("This run has no such metric.")
    try:
        texts = query_texts(result, settings)
    except (OSError, ValueError) as error:
        texts = {}
        unreadable.append(f"{settings.eval_data} ({error})")
    names, rows = query_rows(result, metric, texts)
    page = render_template(
        "eval.html",
        run=run,
        runs=sorted(runs, key=lambda one: one.evaluation.dataset),
        names=Counter(one.evaluation.dataset for one in runs),
        unreadable=unreadable,
        result=result,
        metric=metric,
        metrics=metrics_by_query(result),
        texts=texts,
        web_address=web_address,
        charts=chart_data(result),
        query_systems=names,
        queries=rows,
    )
    return Response(page, headers={"Cache-Control": "private, no-cache"})
