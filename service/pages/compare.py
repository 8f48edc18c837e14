"""Compares two rankings of one query side by side, and shows which results moved."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, render_template, request
from markupsafe import Markup
from pydantic import ValidationError

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.search.answer import Answer
from treeline.service.api.parameters import SearchParameters
from treeline.service.http.context import context, search_or_cached
from treeline.service.pages.results import PlaceView, place_view
from treeline.service.pages.search import EXAMPLES, FILTERS, link, query_string
from treeline.service.present.text import code_markup, summary, visible

blueprint = APIBlueprint("compare_page", __name__, enable_openapi=False)

RESULTS = 10
# The rankings that can be compared: the label of each, and its switches.
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "usual": ("As usual", {}),
    "plain": ("Without diversity", {"diversity": "0"}),
    "diverse": ("One of each part of the code", {"diversity": "1"}),
    "keyword": ("Keywords only", {"mode": "keyword"}),
    "dense": ("Meaning only", {"mode": "dense"}),
    "graph": ("Call graph only", {"mode": "graph"}),
    "fused": ("Without re-ranking", {"rerank": "none"}),
    "rrf": ("Reciprocal ranks", {"fusion": "rrf"}),
    "expanded": ("With words of the best results", {"expand": "true"}),
    "paper": ("The paper's algorithm 2", {"rerank": "algorithm2"}),
}
FIRST, SECOND = "plain", "usual"


@frozen
class Row:
    """One result, and its rank in the other ranking."""

    rank: int
    place: PlaceView
    about: Markup
    other: int | None  # its rank there; None if it was not ranked

    @property
    def moved(self) -> str:
        if self.other is None:
            return "only here"
        if self.other == self.rank:
            return "same place"
        return f"{'up' if self.rank < self.other else 'down'} from {self.other}"


@frozen
class Column:
    """The best results of one ranking."""

    title: str
    href: str
    rows: list[Row]
    total: int
    milliseconds: float | None
    left_out: tuple[str, ...]


@blueprint.get("/compare")
def compare() -> Response:
    state = {name: request.args.get(name, "").strip() for name in ("q", "index", *FILTERS)}
    ways = request.args.get("a", FIRST), request.args.get("b", SECOND)
    for way in ways:
        if way not in WAYS:
            raise InputError(f"there is no way of ranking {way[:40]!r}", f"choose from: {', '.join(WAYS)}")
    columns: list[Column] = []
    if state["q"]:
        answers = [answer_of(state, way) for way in ways]
        ranks = [{candidate.id: rank for rank, candidate in enumerate(answer.candidates, 1)} for answer in answers]
        columns = [
            column(state, way, answer, there) for way, answer, there in zip(ways, answers, reversed(ranks), strict=True)
        ]
    page = render_template(
        "compare.html",
        state=state,
        ways=[(name, label) for name, (label, _) in WAYS.items()],
        chosen=ways,
        columns=columns,
        shared=len({row.place.id for row in columns[0].rows} & {row.place.id for row in columns[1].rows})
        if columns
        else 0,
        swapped="/compare?" + query_string({**state, "a": ways[1], "b": ways[0]}),
        examples=EXAMPLES,
    )
    return Response(page, headers={"Cache-Control": "private, no-cache"})


def answer_of(state: dict[str, str], way: str) -> Answer:
    switches = {name: value for name, value in state.items() if value} | WAYS[way][1] | {"k": RESULTS}
    try:
        parameters = SearchParameters.model_validate(switches)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{first['loc'][0]}: {first['msg'].lower()}", "correct the address") from error
    return search_or_cached(parameters.query(context().settings))


def column(state: dict[str, str], way: str, answer: Answer, there: dict[str, int]) -> Column:
    label, switches = WAYS[way]
    rows = [
        Row(
            result.rank,
            place_view(result.function.id, result.function.address, query_string(state)),
            code_markup(visible(summary(result.function.docstring))),
            there.get(result.function.id),
        )
        for result in answer.results
    ]
    time = None if "cache" in answer.timings else answer.timings.get("total")
    return Column(label, link(state | switches), rows, answer.total, time, tuple(one.reason for one in answer.degraded))
