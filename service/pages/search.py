"""The search page: results with their reasons, filters, switches and paging; its state is its address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from apiflask import APIBlueprint
from flask import Response, render_template, request
from pydantic import ValidationError

from treeline.corpus.errors import InputError
from treeline.rerank.registry import FUSIONS
from treeline.search.answer import Answer
from treeline.search.lanes.graph import BELOW
from treeline.search.overview import clusters_of
from treeline.search.query import parse
from treeline.service.api.answers import facets
from treeline.service.api.parameters import Question, SearchParameters
from treeline.service.http import guard
from treeline.service.http.context import context, search_or_cached
from treeline.service.http.errors import for_people, status_of
from treeline.service.http.response import server_timing
from treeline.service.pages.results import LANES, result_views
from treeline.service.present.highlight import question_words
from treeline.service.present.text import ROUTES, STAGES

blueprint = APIBlueprint("search_page", __name__, enable_openapi=False)

PAGE_SIZE = 10
TAKEN = 100  # results as JSON or CSV
COMPARED = ("index", "language", "repo", "path", "kind")  # what a comparison keeps of a search
MOST_CHOICES = 12  # of a filter
# The ways to look that most people need. `text` and `callers` phrase the question; everything else is under Advanced.
LOOKS = (
    ("", "Best", "By words, meaning and the call graph together"),
    ("text", "Exact text", "Code that has these words exactly as they are, in a row"),
    ("callers", "Callers", "What calls, uses or extends a function or class"),
)
MODES = (
    ("hybrid", "Everything"),
    ("keyword", "Keywords only"),
    ("dense", "Meaning only"),
    ("graph", "Call graph only"),
)
FUSION_LABELS = {"default": "Default", "adaptive": "Weighted by question", "rrf": "Reciprocal ranks"}
STRUCTURAL = re.compile(r"\b(call|use|extend|inherit|implement)(s|ers?|ed)?\b", re.IGNORECASE)


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
    settings = context().settings
    state = search_state()
    common = {
        "state": state,
        "unknown": unknown_parameters(),
        "looks": LOOKS,
        "modes": MODES,
        "fusions": {name: FUSION_LABELS.get(name, name) for name in ("default", *FUSIONS)},
        "diversity": state["diversity"] or f"{settings.diversity:g}",
        "usual_diversity": f"{settings.diversity:g}",
        "diversities": DIVERSITIES,
        "feedback_on": settings.feedback,
        "indexes": context().indexes.names,
        "link": lambda **change: link(state, **change),
    }
    if not state["q"]:
        page_ = render_template("search.html", answer=None, examples=EXAMPLES, **common)
        return Response(page_, headers={"Cache-Control": "no-cache"})
    try:
        page, query = wanted(state)
        answer = search_or_cached(query.query(settings))
    except InputError as error:
        if status_of(error) != 400 or not for_people():
            raise
        page_ = render_template("search.html", answer=None, problem=error, **common)
        return Response(page_, status=400, headers={"Cache-Control": "no-store"})
    words = question_words(answer.plan.text)
    looked_for = state | {"q": answer.plan.rephrased}
    html = render_template(
        "search.html",
        answer=answer,
        results=result_views(answer, words, query_string(looked_for), clusters_of(context().searcher)),
        page=page,
        pages=pages(answer, page),
        filters=facet_choices(answer, state),
        lanes=LANES,
        below=BELOW,
        widened=", then ".join(STAGES.get(stage, stage) for stage in answer.relaxed),
        map_address="/api/map?" + query_string(state | {"q": answer.query.text, "look": "", "page": ""}),
        json_address="/api/search?"
        + (wider := query_string(state | {"q": answer.query.text, "look": "", "page": ""}) + f"&k={TAKEN}"),
        csv_address=f"/api/search.csv?{wider}",
        compare_address="/compare?" + query_string({"q": state["q"], **{name: state[name] for name in COMPARED}}),
        understood=ROUTES.get(answer.route, answer.route),
        functions=context().searcher.info.functions,
        index_name=context().searcher.info.name,
        index_empty=not context().searcher.info.functions,
        may_vote=settings.feedback and guard.may_vote(),
        **common,
    )
    headers = {"Cache-Control": "private, no-cache", "Server-Timing": server_timing(answer.timings)}
    return guard.give_token(Response(html, headers=headers))


def wanted(state: dict[str, str]) -> tuple[int, Question]:
    """The page number and the question that a page's address asks for."""
    given = {name: value for name, value in state.items() if value and name not in {"page", "look"}}
    given["q"] = phrased(state["q"], state["look"])
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


def phrased(question: str, look: str) -> str:
    """The question as the way of looking puts it."""
    if look == "text" and not (question.startswith(('"', "/")) and question.endswith(question[0])):
        return '"' + question.replace('"', '\\"') + '"'
    if look == "callers" and not STRUCTURAL.search(question):
        return f"what calls {question}"
    return question


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


def facet_choices(answer: Answer, state: dict[str, str]) -> dict[str, list[Choice]]:
    """The values of language and repository among the results, each a link that turns it on or off."""
    found: dict[str, list[Choice]] = {}
    asked = {"language": answer.plan.filters.language, "repo": answer.plan.filters.repo}
    for name, counts in facets(answer).items():
        on = asked[name]
        values = ({} if not on or on in counts else {on: 0}) | counts
        found[name] = [
            Choice(value, count, link(state, **{name: "" if value == on else value}), value == on)
            for value, count in list(values.items())[:MOST_CHOICES]
        ]
    return found


# What the address of a search may carry; `map` is the script's.
SWITCHES = ("look", "mode", "diversity", "rerank", "fusion", "expand", "callees", "as_typed", "feedback")
STATE = ("q", "index", *SWITCHES, "language", "repo", "path", "kind", "page")
SCRIPTS = ("map",)
DEFAULTS = {
    "mode": "hybrid",
    "diversity": "0.5",
    "rerank": "default",
    "fusion": "default",
    "expand": "false",
    "callees": "false",
    "as_typed": "false",
    "feedback": "true",
    "page": "1",
}
MOST_NAMED = 5  # parameters that are told to be unknown


def search_state() -> dict[str, str]:
    """What this request's address says of a search; a filter in the question is set like one of the page's own, and
    takes the place of what was set before it was typed."""
    state = {name: request.args.get(name, "").strip() for name in STATE}
    try:
        said = parse(state["q"])
    except InputError:  # told to whoever asks the question
        return state
    if not said.words:
        return state
    filters = {
        "language": said.filters.language,
        "repo": said.filters.repo,
        "path": said.filters.path_prefix,
        "kind": said.filters.kind,
    }
    return state | {"q": said.text} | {name: value for name, value in filters.items() if value}


def unknown_parameters() -> list[str]:
    """What it carries and no search has: left out of the question and of all links, and told."""
    return [name for name in request.args if name not in STATE + SCRIPTS][:MOST_NAMED]


def link(state: dict[str, str], **change: str | int) -> str:
    """The search with some of its state changed; back to page 1 unless the page is what changes."""
    return "/search?" + query_string({**state, "page": ""} | {name: str(value) for name, value in change.items()})


def query_string(state: dict[str, str]) -> str:
    """As the query of an address, without what is so anyway."""
    return urlencode({name: value for name, value in state.items() if value and DEFAULTS.get(name) != value})


# How different the results are, in the steps of the page's slider.
DIVERSITIES = {"0": "off", "0.25": "low", "0.5": "balanced", "0.75": "high", "1": "one of each"}

EXAMPLES = (
    "function that retries with exponential backoff",
    "sort list of dictionaries by key",
    "convert bytes to a human readable size",
    "remove html tags from a string",
    "find the longest common prefix",
    "how to check if a port is in use",
)
