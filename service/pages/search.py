"""The search page: a question's results with their reasons, filters, switches and paging; its state is the URL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiflask import APIBlueprint
from flask import Response, render_template
from pydantic import ValidationError

from treeline.corpus.errors import InputError
from treeline.search.alike import clusters_of
from treeline.search.answer import Answer
from treeline.search.query import Parts
from treeline.search.question.exact import BELOW
from treeline.service.api.parameters import SearchParameters
from treeline.service.http import guard
from treeline.service.http.asking import ask
from treeline.service.http.context import context
from treeline.service.http.errors import for_people, status_of
from treeline.service.http.headers import allow_plotly_styles
from treeline.service.http.reply import server_timing
from treeline.service.pages.examples import EXAMPLES
from treeline.service.pages.rerankers import menu
from treeline.service.pages.results import LANES, STAGES, result_views
from treeline.service.pages.search_state import asked_state, in_address, link, unknown_parameters
from treeline.service.shown.answer_rows import count_rows, facets
from treeline.service.shown.highlight import question_words

blueprint = APIBlueprint("search_page", __name__, enable_openapi=False)

PAGE_SIZE = 10
MODES = (
    ("hybrid", "Hybrid", "Keywords, meaning and the call graph together"),
    ("keyword", "Keyword", "The words of the question, stemmed (BM25)"),
    ("dense", "Meaning", "What the question means (nearest vectors)"),
    ("tfidf", "TF-IDF", "Rare words and word pairs"),
    ("graph", "Call graph", "Who calls, extends or uses a symbol"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter's value: how many results it has, where it leads, and whether it is on."""

    label: str
    count: int
    href: str
    chosen: bool


@blueprint.get("/search")
def search() -> Response:
    """An empty question shows the empty page; one that cannot be answered as asked keeps its switches."""
    allow_plotly_styles()
    settings = context().settings
    state = asked_state()
    common = {
        "state": state,
        "unknown": unknown_parameters(),
        "modes": MODES,
        "rerankers": menu(settings),
        "feedback_on": settings.feedback,
        "link": lambda **change: link(state, **change),
    }
    if not state["q"]:
        page_ = render_template("search.html", answer=None, examples=EXAMPLES, **common)
        return Response(page_, headers={"Cache-Control": "no-cache"})
    try:
        page, query = wanted(state)
        answer = ask(query.query(settings))
    except InputError as error:
        if status_of(error) != 400 or not for_people():
            raise
        page_ = render_template("search.html", answer=None, problem=error, **common)
        return Response(page_, status=400, headers={"Cache-Control": "no-store"})
    words = question_words(answer.spelt.text)
    looked_for = state | {"q": Parts(answer.spelt.text, without=answer.query.without).text}
    html = render_template(
        "search.html",
        answer=answer,
        results=result_views(answer, words, in_address(looked_for), clusters_of(context().searcher)),
        page=page,
        pages=pages(answer, page),
        filters=filters(answer, state),
        lanes=LANES,
        below=BELOW,
        widened=", then ".join(STAGES.get(stage, stage) for stage in answer.relaxed),
        index_name=context().searcher.info.name,
        index_empty=not context().searcher.info.functions,
        may_vote=settings.feedback and guard.may_write(),
        **common,
    )
    headers = {"Cache-Control": "private, no-cache", "Server-Timing": server_timing(answer.timings)}
    return Response(html, headers=headers)


def wanted(state: dict[str, str]) -> tuple[int, SearchParameters]:
    """The page number and the question that a page's address asks for."""
    given = {name: value for name, value in state.items() if value and name != "page"}
    try:
        page = int(state["page"] or 1)
        if page < 1:
            raise ValueError
        return page, SearchParameters.model_validate(given | {"k": PAGE_SIZE, "offset": (page - 1) * PAGE_SIZE})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{first['loc'][0]}: {first['msg'].lower()}", "use the switches of the page") from error
    except ValueError as error:
        raise InputError(f"there is no page {state['page'][:20]!r}", "pages count from 1") from error


def pages(answer: Answer, page: int) -> dict[str, Any]:
    last = max(1, -(-answer.total // PAGE_SIZE))
    return {
        "first": (page - 1) * PAGE_SIZE + 1,
        "to": (page - 1) * PAGE_SIZE + len(answer.results),
        "last": last,
        "near": range(max(1, page - 2), min(last, page + 2) + 1),
        "previous": page - 1 if page > 1 else None,
        "next": page + 1 if page < last and answer.results else None,
    }


def filters(answer: Answer, state: dict[str, str]) -> dict[str, list[Choice]]:
    """The values of language and repository among the results, each a link that turns it on or off."""
    found: dict[str, list[Choice]] = {}
    asked = {"language": answer.query.filters.language, "repo": answer.query.filters.repo}
    for name, counts in facets(answer).items():
        rows = count_rows(counts)
        on = asked[name]
        if on and on not in counts:
            rows.insert(0, {"value": on, "count": 0})
        found[name] = [
            Choice(
                row["value"],
                row["count"],
                link(state, **{name: "" if row["value"] == on else row["value"]}),
                row["value"] == on,
            )
            for row in rows[:12]
        ]
    return found
