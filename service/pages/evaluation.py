"""The evaluation's dashboard, from the files that `treeline eval` wrote."""

from __future__ import annotations

from collections import Counter

from apiflask import APIBlueprint
from flask import Response, render_template, request
from werkzeug.exceptions import NotFound

from treeline.service.evaluation.figures import chart_data, chosen, metrics_by_query, query_rows
from treeline.service.evaluation.files import result_files
from treeline.service.evaluation.words import words
from treeline.service.http.context import context
from treeline.service.http.headers import allow_plotly_styles
from treeline.service.shown.visible import web_address

blueprint = APIBlueprint("evaluation_page", __name__, enable_openapi=False)


@blueprint.get("/eval")
def evaluation() -> Response:
    allow_plotly_styles()
    settings = context().settings
    runs, unreadable = result_files(settings)
    wanted = request.args.get("run", "")
    run = chosen(runs, wanted)
    if wanted and (run is None or run.name != wanted):
        raise NotFound("There is no such run of the evaluation.")
    if run is None:
        return Response(render_template("eval.html", run=None, runs=[], unreadable=unreadable))
    result = run.evaluation
    metric = request.args.get("metric", result.headline)
    if metric not in {one.name for one in result.metrics}:
        raise NotFound("This run has no such metric.")
    try:
        texts = words(result, settings)
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
