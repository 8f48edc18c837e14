"""The front page: what it is, what is in it, how good it is, and six questions to try."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from treeline.corpus.errors import TreelineError
from treeline.service.evaluation.figures import headline
from treeline.service.http.context import context
from treeline.service.pages.examples import EXAMPLES

blueprint = APIBlueprint("home", __name__, enable_openapi=False)


@blueprint.get("/")
def home() -> BaseResponse:
    """A question asked at the root of the address, as people type one by hand, is answered where answers are."""
    if "q" in request.args:
        return redirect(f"{url_for('search_page.search')}?{request.query_string.decode('ascii', 'replace')}")
    here = context()
    try:
        index, problem = here.figures(), None
    except TreelineError as error:
        index, problem = None, error
    page = render_template(
        "home.html", examples=EXAMPLES, index=index, problem=problem, figures=headline(here.settings)
    )
    return Response(page, headers={"Cache-Control": "private, no-cache"})
