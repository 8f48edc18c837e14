"""A function's page: its code, its path in the repository's tree, callers, callees and similar functions."""

from __future__ import annotations

from itertools import islice

import numpy as np
from apiflask import APIBlueprint
from flask import Response, render_template, request
from markupsafe import Markup

from treeline.corpus.counting import counted
from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address, Function
from treeline.graph.tree import FUNCTION, KINDS
from treeline.search.location import Locations
from treeline.search.occurrences import Needle
from treeline.search.overview import locations
from treeline.search.query import parse
from treeline.search.relatives import Neighbour
from treeline.search.structural_answer import UnresolvedCalls
from treeline.service.api.functions import find
from treeline.service.http.context import context
from treeline.service.pages.results import PlaceView, has_whole_text, in_time, place_view
from treeline.service.pages.search import link, search_state
from treeline.service.present.highlight import Find, Snippet, mark_prose, nowhere, question_words, whole
from treeline.service.present.text import distinct_functions, file_address, visible

blueprint = APIBlueprint("function_page", __name__, url_prefix="/functions", enable_openapi=False)

SIMILAR = 8
MOST_NEIGHBOURS = 30
MOST_SIBLINGS = 15


@frozen
class Step:
    """One node on the path from the repository to the function."""

    label: str
    kind: str
    href: str = ""


@frozen
class Sibling:
    """Another function of the same class or file."""

    label: str
    href: str
    here: bool


@frozen
class Siblings:
    """The siblings shown, and how many more come before and after them."""

    rows: list[Sibling]
    before: int = 0
    after: int = 0


@frozen
class LikeView:
    """One row of the panel of similar functions."""

    place: PlaceView
    percent: int


@frozen
class UnresolvedView:
    """A note that more functions have an unresolved call of this name, and a link to the search that lists them."""

    message: str
    href: str


@blueprint.get("/<function_id>")
def function(function_id: str) -> Response:
    unit = find(function_id)
    state = search_state()
    question = state["q"][: context().settings.max_query_length]
    words = question_words(words_of(question))
    searcher = context().searcher
    places = locations(searcher)
    callers = searcher.callers(function_id)
    page = render_template(
        "function.html",
        function=unit,
        place=place_view(unit.id, unit.address),
        question=question,
        back=link(state, q=question, page=state["page"]),
        docstring=mark_prose(unit.docstring_outside, words),
        code=(snippet := whole(unit.language, unit.original_string, words, places_of(question))),
        not_shown=not_shown(snippet),
        first_line=(unit.address.lines or (1, 1))[0] if has_whole_text(unit) else 0,
        steps=steps(unit, places),
        siblings=siblings(unit, places),
        callers=neighbour_views(callers),
        unresolved=unresolved_view(searcher.unresolved_calls(unit), bool(distinct_functions(callers))),
        callees=neighbour_views(searcher.callees(function_id)),
        similar=likes(function_id),
    )
    return Response(page, headers={"Cache-Control": "private, no-cache"})


@blueprint.get("/<function_id>/similar")
def similar(function_id: str) -> Response:
    """The panel of similar functions alone, to unfold in a list of results."""
    find(function_id)
    return Response(
        render_template("similar.html", similar=likes(function_id)), headers={"Cache-Control": "private, max-age=60"}
    )


@blueprint.get("/<function_id>/code")
def code(function_id: str) -> Response:
    """The whole code alone, to unfold a preview."""
    unit = find(function_id)
    question = request.args.get("q", "")[: context().settings.max_query_length]
    words = question_words(words_of(question))
    snippet = whole(unit.language, unit.original_string, words, places_of(question))
    rest = Markup('\n<span class="c">{}</span>').format(not_shown(snippet)) if snippet.more else ""
    return Response(f"{snippet.html}{rest}", mimetype="text/html", headers={"Cache-Control": "private, max-age=60"})


def not_shown(code: Snippet) -> str:
    """The note under a function that is too long for a page."""
    return f"{counted(code.more, 'more line')} not shown; the button copies all of it." if code.more else ""


def words_of(question: str) -> str:
    """The words of a query to mark in the code; the whole text if it does not parse."""
    try:
        return parse(question).words
    except InputError:
        return question


def places_of(question: str) -> Find:
    """The places of a query's exact text and expression; nowhere if it does not parse."""
    try:
        parts = parse(question)
        return in_time(Needle.of_text(parts.phrases, parts.regex).occurrences)
    except InputError:
        return nowhere


def steps(unit: Function, places: Locations | None) -> list[Step]:
    """The path from the repository to the function, from the tree, or from the address if there is no tree."""
    *folders, file = unit.path.split("/")
    folder_paths = [(name, "/".join(folders[: at + 1]) + "/") for at, name in enumerate(folders)]
    outer = [
        Step(visible(unit.repo), "repository", file_address(unit.repo)),
        *(Step(visible(name), "folder", file_address(unit.repo, path)) for name, path in folder_paths),
        Step(visible(file), "file", file_address(unit.repo, unit.path, (unit.address.lines or (0, 0))[0])),
    ]
    leaf = places.tree.leaf(unit.id) if places is not None else None
    if places is not None and leaf is not None:
        tree = places.tree
        inner = [node for node in tree.path(leaf)[1:] if KINDS[tree.kinds[node]] in ("class", "function")]
        return [*outer, *(Step(visible(tree.labels[node]), KINDS[tree.kinds[node]]) for node in inner)]
    *scopes, name = unit.func_name.split(".")
    return [
        *outer,
        *(Step(visible(scope), "class") for scope in scopes),
        Step(visible(name), "function"),
    ]


def siblings(unit: Function, places: Locations | None) -> Siblings:
    """The functions under the same node of the tree; if there are too many, those nearest to it."""
    leaf = places.tree.leaf(unit.id) if places is not None else None
    if places is None or leaf is None:
        return Siblings([])
    tree = places.tree
    nodes = np.flatnonzero((tree.parents == tree.parents[leaf]) & (tree.kinds == FUNCTION))
    first = max(0, min(int(np.searchsorted(nodes, leaf)) - MOST_SIBLINGS // 2, len(nodes) - MOST_SIBLINGS))
    rows = [
        Sibling(visible(tree.labels[node]), f"/functions/{places.ids[node]}", node == leaf)
        for node in nodes[first : first + MOST_SIBLINGS].tolist()
    ]
    return Siblings(rows, first, len(nodes) - first - len(rows))


def neighbour_views(calls: list[Neighbour]) -> list[PlaceView]:
    """The functions among a function's callers or callees."""
    functions = islice((one for one in calls if one.id), MOST_NEIGHBOURS)
    return [
        place_view(one.id, Address(one.repo, one.path, one.name, one.language, f"#L{one.line}")) for one in functions
    ]


def unresolved_view(calls: UnresolvedCalls, more: bool) -> UnresolvedView | None:
    message = calls.message(more=more)
    return UnresolvedView(visible(message), link({}, q=f"what calls {calls.symbol}")) if message else None


def likes(function_id: str) -> list[LikeView]:
    hits = context().searcher.similar(function_id, SIMILAR)
    return [LikeView(place_view(hit.id, hit.address), round(100 * max(0.0, hit.score))) for hit in hits]
