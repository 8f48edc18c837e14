"""View models of results. Everything is computed here, so templates only lay it out."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial

from markupsafe import Markup

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address, Function
from treeline.rerank.candidates import Candidate
from treeline.search.answer import CONTAINERS, Answer, Result
from treeline.search.excerpt import needle_of
from treeline.search.lanes.graph import relation_of
from treeline.search.occurrences import Span
from treeline.search.plan import Plan
from treeline.service.present.highlight import Find, Snippet, mark_prose, nowhere, preview
from treeline.service.present.text import STAGES, code_markup, file_address, summary, visible, web_address

LANES = {
    "keyword": "Keyword",
    "dense": "Meaning",
    "graph": "Call graph",
    "text_calls": "Calls in text",
    "reading": "Read with the question",
}
SCOPE_ENDS = {"file": "/", "section": " > "}  # by kind; in the name of anything else a dot
BAR_WIDTH = 120
NO_TITLES: Mapping[str, str] = {}


@frozen
class PlaceView:
    """A function's name and location, ready to show (hidden characters written out) and link."""

    id: str
    scope: str
    name: str
    repo: str
    path: str
    language: str
    lines: str
    href: str
    source: str
    file: str = ""  # its URL in the code view


@frozen
class LaneView:
    """One bar of "why here"."""

    label: str
    rank: int
    share: str
    width: float
    stage: str


@frozen
class ResultView:
    """One result of the list."""

    rank: int
    ranks: str  # its own and those of its copies
    place: PlaceView
    summary: Markup
    code: Snippet
    first_line: int  # 0: its other lines have no number
    lanes: tuple[LaneView, ...]
    score: str
    cluster: int | None  # from the re-ranker
    tree_distance: str
    moved: int
    reason: str
    relation: str  # in the call graph, or `unresolved`
    index: str  # where it comes from, if several indexes were asked
    members: tuple[tuple[PlaceView, str], ...]  # matches inside a file or class, each with its first line
    copies: tuple[PlaceView, ...]  # other results on this page with the same text


def result_views(
    answer: Answer, words: frozenset[str], search: str, titles: Mapping[str, str] = NO_TITLES
) -> list[ResultView]:
    """The page's results. Links carry the search; all bars have one scale, so they can be compared. `titles` are of the
    indexes."""
    shares = [one.share for result in answer.results for one in result.candidate.contributions]
    largest = max(shares, default=0.0) or 1.0
    find = finder(answer.plan)
    return [
        replace(
            _view(result, copies, search, words, find, largest),
            index=visible(titles.get(answer.indexes.get(result.function.id, ""), "")),
        )
        for result, copies in fold_copies(answer.by_file, answer.headings)
    ]


def fold_copies(results: Sequence[Result], headings: Container[int]) -> list[tuple[Result, list[Result]]]:
    """Each result with its later copies (the same text). A result below its own heading is not folded."""
    groups: dict[str, tuple[Result, list[Result]]] = {}
    for result in results:
        text = " ".join(result.function.original_string.split())
        if text in groups and result.rank not in headings:
            groups[text][1].append(result)
        else:
            groups[text if text not in groups else f"{text}\0{result.rank}"] = (result, [])
    return list(groups.values())


def spans_of(ranks: Sequence[int]) -> str:
    """`3–5, 9`"""
    starts = (rank for rank in ranks if rank - 1 not in ranks)
    ends = (rank for rank in ranks if rank + 1 not in ranks)
    return ", ".join(
        f"{first}–{last}" if last > first else f"{first}" for first, last in zip(starts, ends, strict=True)
    )


def _view(
    result: Result,
    copies: Sequence[Result],
    search: str,
    words: frozenset[str],
    find: Find,
    largest: float,
) -> ResultView:
    function, candidate = result.function, result.candidate
    first_line = (function.address.lines or (1, 1))[0]
    return ResultView(
        rank=result.rank,
        ranks=spans_of([one.rank for one in (result, *copies)]),
        place=place_view(function.id, function.address, search),
        summary=code_markup(summary(function.docstring), partial(mark_prose, words=words)),
        code=preview(
            function.language,
            function.original_string,
            words,
            first_line,
            find,
            whole_text=has_whole_text(function),
        ),
        first_line=first_line if has_whole_text(function) else 0,
        lanes=lane_views(candidate, largest),
        score=f"{candidate.score:.4f}",
        cluster=candidate.cluster,
        tree_distance="" if candidate.tree_distance is None else f"{candidate.tree_distance:.1f}",
        moved=candidate.moved,
        reason=visible(candidate.reason),
        relation=relation_of(candidate),
        index="",
        members=tuple((place_view(one.id, one.address), visible(one.signature)) for one in result.members),
        copies=tuple(place_view(one.function.id, one.function.address, search) for one in copies),
    )


def finder(plan: Plan) -> Find:
    """The places of the exact text, expression or call that a plan asks for."""
    if plan.has_requirements or plan.route.kind == "structural":
        return in_time(needle_of(plan).occurrences)
    return nowhere


def in_time(find: Find) -> Find:
    """The same, without places in a text in which an expression takes too long."""

    def places(text: str) -> Sequence[Span]:
        try:
            return find(text)
        except TimeoutError:
            return ()

    return places


def has_whole_text(function: Function) -> bool:
    """Whether a unit's text is what its lines of the file say. A class's has its methods' signatures alone."""
    if function.kind not in CONTAINERS or function.address.lines is None:
        return True
    first, last = function.address.lines
    return last - first == function.original_string.strip("\n").count("\n")


def place_view(function: str, address: Address, search: str = "") -> PlaceView:
    scope, mark, name = address.func_name.rpartition(SCOPE_ENDS.get(address.kind, "."))
    lines = address.lines
    return PlaceView(
        id=function,
        scope=visible(scope + mark),
        name=visible(name),
        repo=visible(address.repo),
        path=visible(address.path),
        language=visible(address.language),
        lines="" if lines is None else f"{lines[0]}–{lines[1]}" if lines[1] != lines[0] else str(lines[0]),
        href=f"/functions/{function}" + (f"?{search}" if search else ""),
        source=web_address(address.url),
        file=file_address(address.repo, address.path, lines[0] if lines else 0),
    )


def lane_views(candidate: Candidate, largest: float) -> tuple[LaneView, ...]:
    return tuple(
        LaneView(
            label=LANES.get(one.lane, one.lane),
            rank=one.rank,
            share=f"{one.share:.4f}",
            width=round(max(1.0, BAR_WIDTH * one.share / largest), 1),
            stage=STAGES.get(one.stage, one.stage),
        )
        for one in candidate.contributions
    )
