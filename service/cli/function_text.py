"""One function for people: its place, its code, what is around it; and the functions that are like it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from treeline.corpus.function import Function
from treeline.search.alike import Alike
from treeline.search.question.exact import Written
from treeline.search.question.structure import Neighbour
from treeline.service.cli.answer_text import INDENT, code_lines, headline
from treeline.service.shown.neighbour_words import distinct_functions, neighbours_told
from treeline.service.shown.summary import summary
from treeline.service.shown.visible import visible

NOTHING = "nothing known here"  # names are resolved within a repository: library code is not in the graph


def show(function: Function, callers: Sequence[Neighbour], written: Written, callees: Sequence[Neighbour]) -> None:
    """The whole function; its docstring is shown before its code where the code does not have it."""
    console = Console(highlight=False)
    console.print(headline(function.address), soft_wrap=True)
    console.print(Text(f"id {function.id}", style="dim"), soft_wrap=True)
    if function.url:
        console.print(Text(visible(function.url), style="dim"), soft_wrap=True)
    more = written.told(more=bool(distinct_functions(callers)))
    listed = f'; {more} (treeline search "what calls {written.symbol}")' if more else ""
    for relation, found, besides in (("called by", callers, listed), ("calls", callees, "")):
        told = f"{relation} {neighbours_told(found, by_name=True) or NOTHING}{besides}"
        console.print(Text(visible(told), style="green"), soft_wrap=True)
    console.print()
    if docstring := function.docstring_outside:
        console.print(Text(f"{visible(docstring)}\n"), soft_wrap=True)
    for line in code_lines(function, full=True):
        console.print(line, soft_wrap=True)


def show_similar(function: Function, like: Alike, bodies: Sequence[Function]) -> None:
    """Nearest first, each with its cosine and what its docstring says first."""
    console = Console(highlight=False)
    console.print(Text("similar to ") + headline(function.address), soft_wrap=True)
    if like.label:
        console.print(Text(f"cluster {like.cluster} ({visible(like.label)})", style="yellow"), soft_wrap=True)
    if not like.hits:
        console.print("nothing alike is in the index, or it has no vectors")
        return
    known = {body.id: body for body in bodies}
    for rank, (hit, same_cluster) in enumerate(like.hits, 1):
        mark = Text("  same cluster", style="yellow") if same_cluster else Text()
        console.print(Text(f"{rank:>2}. {hit.score:.2f}  ") + headline(hit.address) + mark, soft_wrap=True)
        if hit.id in known and (told := summary(known[hit.id].docstring)):
            console.print(Text(f"{INDENT}{visible(told)}"), soft_wrap=True)
