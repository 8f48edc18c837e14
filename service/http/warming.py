"""What a worker's first questions would pay for, done before anybody asks: templates, colours, clusters, the codes.

The second question of a new worker took .2 s of import, the first page .15 s.
"""

from __future__ import annotations

import logging
import threading

from flask import Flask

from treeline.corpus.errors import TreelineError
from treeline.search.alike import clusters_of
from treeline.search.query import Query
from treeline.service.shown.highlight import preview

log = logging.getLogger(__name__)

QUESTIONS = ("read a file", "sort a list")  # the first of a process goes without the codes (engine.product_codes)


def warm_up(app: Flask) -> None:
    """Neither metrics nor kept answers know of it."""
    for name in app.jinja_env.list_templates():
        app.jinja_env.get_template(name)
    try:
        searcher = app.extensions["treeline"].searcher
        clusters_of(searcher)
        for question in QUESTIONS:
            for result in searcher.search(Query(question, explain=True)).results:
                preview(result.function.language, result.function.original_string, frozenset())
    except TreelineError as error:
        log.info("not warmed up: %s", error)


def warm_up_aside(app: Flask) -> None:
    """Whoever asks meanwhile is answered, and an engine that is away holds nobody up."""
    threading.Thread(target=warm_up, args=(app,), name="warming", daemon=True).start()
