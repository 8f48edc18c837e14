"""The Flask application factory: API, pages and documents from settings."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from apiflask import APIFlask

from treeline.corpus.errors import TreelineError
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.settings import Settings, from_environment
from treeline.service.api import files, functions, search, sources, status
from treeline.service.api.parameters import declare_limits, declare_refusals
from treeline.service.feedback import open_feedback
from treeline.service.http import errors, guard, observe, response
from treeline.service.http.context import Context
from treeline.service.http.errors import JsonRequest
from treeline.service.http.response import OrjsonProvider
from treeline.service.pages import PAGES, reference
from treeline.service.present.text import code_markup, sentence, title, visible

log = logging.getLogger(__name__)

API = (
    search.blueprint,
    functions.blueprint,
    files.blueprint,
    sources.blueprint,
    status.feedback_blueprint,
    status.evaluation_blueprint,
    status.blueprint,
)


class Application(APIFlask):
    """Skips Flask's check for coroutines at every request: no view is one."""

    request_class = JsonRequest

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func


def create_app(settings: Settings | None = None, searcher: LiveSearcher | None = None) -> APIFlask:
    """An application over the index that the settings name, or over a searcher that is already open.

    It starts without an index too, and then answers every query with what to do, until there is one.
    """
    settings = settings or from_environment()
    app = Application(__name__, title="Treeline", version=version("treeline-search"), docs_path=None, json_errors=True)
    app.json = OrjsonProvider(app)
    for words in (visible, sentence, code_markup):
        app.add_template_filter(words)
    app.add_template_global(title, "problem_title")
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body
    app.config["DESCRIPTION"] = "Find code by what it does."
    store = open_feedback(settings)
    here = Context(settings, store, lambda: searcher or open_searcher(settings, without_encoder=True))
    app.extensions["treeline"] = here

    errors.init_app(app)
    observe.init_app(app, settings, here.ready.info)
    guard.init_app(app, settings)
    response.init_app(app, settings)
    for blueprint in (*API, *PAGES):
        app.register_blueprint(blueprint)

    @app.spec_processor
    def limits(spec: dict[str, Any] | str) -> dict[str, Any] | str:
        if isinstance(spec, dict):
            spec["tags"] = [{"name": tag} for tag in reference.ORDER]  # blueprints share tags; list each once
            declare_refusals(declare_limits(spec, settings), settings)
        return spec

    try:
        here.searcher  # noqa: B018 - open it now, not at the first query
    except TreelineError as error:
        log.warning("no index is open yet: %s", error)
    return app
