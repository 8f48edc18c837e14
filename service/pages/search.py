"""The search page: explained results, filters, switches and paging. Its state is in the URL, unless it is too long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from apiflask import APIBlueprint
from flask import Response, render_template, request
from pydantic import ValidationError

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.engine.protocol import values_of
from treeline.rerank.registry import FUSIONS
from treeline.search.answer import Answer
from treeline.search.plan import Plan
from treeline.search.query import BY_NAME, commit_question, parse
from treeline.search.settings import Settings
from treeline.search.structural_answer import REST
from treeline.search.structure import is_issue
from treeline.service.api.answers import facets
from treeline.service.api.parameters import Question, SearchParameters
from treeline.service.http import guard
from treeline.service.http.context import context, search_or_cached
from treeline.service.http.errors import for_people, status_of
from treeline.service.http.response import REVALIDATE, server_timing
from treeline.service.pages.results import LANES, result_views
from treeline.service.present.highlight import question_words
from treeline.service.present.text import ROUTES, describe_commits, widened_to

blueprint = APIBlueprint("search_page", __name__, enable_openapi=False)

PAGE_SIZE = 10
DOWNLOADS = 100  # results in a JSON or CSV download
MOST_CHOICES = 12  # per filter
# The search modes that most people need. `text` and `callers` rephrase the query; the rest is under Advanced.
LOOKS = (
    ("", "Best", "By words, meaning and the call graph together"),
    ("text", "Exact text", "Code that contains exactly this text"),
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


@frozen
class Choice:
    """A filter's value: its number of results, its link, and whether it is on."""

    label: str
    count: int
    href: str
    chosen: bool


@blueprint.route("/search", methods=["GET", "POST"])  # a long text does not fit into a URL
@guard.reads
def search() -> Response:
    """The search page. An empty query shows the empty page; after an error the switches keep their state."""
    settings = context().settings
    state, usual = search_state(), defaults(settings)
    common = {
        "state": state,
        "unknown": unknown_parameters(),
        "looks": LOOKS,
        "modes": MODES,
        "fusions": {name: FUSION_LABELS.get(name, name) for name in ("default", *FUSIONS)},
        "usual": usual,
        "diversity": state["diversity"] or usual["diversity"],
        "diversities": DIVERSITIES,
        "feedback_on": settings.feedback,
        "indexes": context().index_titles,
        "link": lambda **change: link(state, **change),
        "unfiltered": link(state, **dict.fromkeys(FILTERS, "")) if any(state[name] for name in FILTERS) else "",
    }
    if not state["q"]:
        page_ = render_template("search.html", answer=None, examples=EXAMPLES, **common)
        return Response(page_, headers={"Cache-Control": "no-cache"})
    try:
        page, asked = requested_page(state)
        query = asked.query(settings)
        question, filters = commit_question(query)
        if question:
            commits = list(describe_commits(context().searcher.commits(question, "", query.k, filters)))
            page_ = render_template("search.html", answer=None, commits=commits, **common)
            return Response(page_, headers={"Cache-Control": REVALIDATE})
        answer = search_or_cached(query)
    except InputError as error:
        if status_of(error) != 400 or not for_people():
            raise
        page_ = render_template("search.html", answer=None, problem=error, **common)
        return Response(page_, status=400, headers={"Cache-Control": "no-store"})
    words = question_words(answer.plan.text)
    looked_for = state | {"q": answer.plan.corrected_text}
    html = render_template(
        "search.html",
        answer=answer,
        results=result_views(answer, words, query_string(looked_for), context().index_titles),
        page=page,
        pages=pages(answer, page),
        filters=facet_choices(answer, state),
        lanes=LANES,
        below=REST,
        widened=widened_to(answer),
        map_address="/api/map?" + query_string(state | {"q": answer.query.text, "look": "", "page": ""}),
        json_address="/api/search?"
        + (wider := query_string(state | {"q": answer.query.text, "look": "", "page": ""}) + f"&k={DOWNLOADS}"),
        csv_address=f"/api/search.csv?{wider}",
        compare_address="/compare?" + query_string({name: state[name] for name in ("q", "index", *FILTERS)}),
        reading=reading_of(answer.plan),
        functions=(functions := context().indexes.functions(context().index_names)),
        index_name=context().index_titles[context().index_names[0]],
        index_empty=not functions,
        may_vote=settings.feedback and guard.may_vote(),
        **common,
    )
    headers = {"Cache-Control": "private, no-cache", "Server-Timing": server_timing(answer.timings)}
    return guard.give_token(Response(html, headers=headers))


def requested_page(state: dict[str, str]) -> tuple[int, Question]:
    """The page number and the question in the page's URL."""
    parameters = {name: value for name, value in state.items() if value and name not in {"page", "look"}}
    parameters["q"] = rephrase(state["q"], state["look"])
    try:
        page = int(state["page"] or 1)
        if page < 1:
            raise ValueError
        return page, SearchParameters.model_validate(parameters | {"k": PAGE_SIZE, "offset": (page - 1) * PAGE_SIZE})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{first['loc'][0]}: {first['msg'].lower()}", "choose from the controls above") from error
    except ValueError as error:
        raise InputError(f"there is no page {state['page'][:20]!r}", "pages count from 1") from error


# Route → the way to its results, and another way to ask.
READINGS = {
    "conceptual": "Ranked by meaning and by its words. Text in quotes is matched exactly, and so is a /pattern/.",
    "identifier": "What has this name comes first, then what has its words or means the same.",
    "structural": "Answered from the call graph first, then by words and meaning.",
    "mixed": "Names are matched as they are written, the other words by meaning too.",
    "issue": "Its first line, its names and the lines of its tracebacks were searched. Nothing in it is a filter.",
    "exact": "Only what contains it is listed, names first. Capital letters count where there are any.",
}


def reading_of(plan: Plan) -> tuple[str, str]:
    """The way the question was read, in a few words, and what that means for the results."""
    if plan.regex:
        return "understood as a regular expression", READINGS["exact"]
    if plan.phrases:
        return "understood as exact text", READINGS["exact"]
    kind = plan.route.kind
    return ROUTES.get(kind, kind), READINGS.get(kind, "")


def rephrase(question: str, look: str) -> str:
    """The query text as this search mode phrases it."""
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
    """The languages and repositories of the results, each a link that toggles the filter."""
    choices: dict[str, list[Choice]] = {}
    for name, counts in facets(answer).items():
        on = answer.plan.filters.values(name).include
        values = {value: 0 for value in on if value not in counts} | counts
        choices[name] = [
            Choice(value, count, link(state, **{name: _toggle(state[name], on, value)}), value in on)
            for value, count in list(values.items())[:MOST_CHOICES]
        ]
    return choices


def _toggle(text: str, on: Sequence[str], value: str) -> str:
    """The filter with this value as well, or without it."""
    if value not in on:
        return ",".join(filter(None, (text, value)))
    exclude = (f"-{one}" for one in values_of(text).exclude)
    return ",".join([*(one for one in on if one != value), *exclude])


# The parameters of a search URL; `map` is for the script.
SWITCHES = ("look", "mode", "quality", "diversity", "rerank", "fusion", "expand", "as_typed", "feedback")
FILTERS = tuple(name for name, switch in BY_NAME.items() if switch.scope == "filter")
STATE = ("q", "index", *SWITCHES, *FILTERS, "page")
SCRIPTS = ("map",)
LINKED = 8_000  # characters of a text in the page's links: a server reads 16 kB
MOST_NAMED = 5  # unknown parameters that the page lists


def search_state() -> dict[str, str]:
    """The search in this request's URL. A filter typed in the query overrides the page's own."""
    state = {name: request.values.get(name, "").strip() for name in STATE}
    if is_issue(state["q"]):  # nothing in it is a filter
        return state
    try:
        typed_query = parse(state["q"])
    except InputError:  # reported when the query is run
        return state
    if not typed_query.words:
        return state
    own = {name: getattr(typed_query.filters, name) for name in FILTERS}
    return state | {"q": typed_query.text} | {name: value for name, value in own.items() if value}


def unknown_parameters() -> list[str]:
    """Parameters in the URL that no search has. They are ignored, dropped from all links, and reported."""
    return [name for name in request.args if name not in STATE + SCRIPTS][:MOST_NAMED]


def link(state: dict[str, str], **change: str | int) -> str:
    """The URL of the search with some state changed; back to page 1 unless `page` itself changes."""
    return "/search?" + query_string({**state, "page": ""} | {name: str(value) for name, value in change.items()})


def query_string(state: dict[str, str]) -> str:
    """The state as a query string, without defaults."""
    usual = defaults(context().settings)
    state = state | {"q": state["q"][:LINKED]}
    return urlencode({name: value for name, value in state.items() if value and usual.get(name) != value})


def defaults(settings: Settings) -> dict[str, str]:
    """The values of switches that the URL does not set."""
    values = {name: BY_NAME[name].default_in(settings) for name in SWITCHES if name in BY_NAME}
    texts = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in values.items()}
    return {"page": "1"} | {name: text.lower() for name, text in texts.items()}


# The steps of the page's diversity slider.
DIVERSITIES = {"0": "off", "0.25": "low", "0.5": "balanced", "0.75": "high", "1": "one of each"}

EXAMPLES = (
    "function that retries with exponential backoff",
    "sort list of dictionaries by key",
    "convert bytes to a human readable size",
    "remove html tags from a string",
    "find the longest common prefix",
    "how to check if a port is in use",
)
