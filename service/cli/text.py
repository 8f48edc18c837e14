"""Answers, functions and load summaries as text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from treeline.corpus.counting import counted
from treeline.corpus.function import Address, Function
from treeline.engine.protocol import IndexInfo
from treeline.rerank.candidates import Candidate
from treeline.search.answer import Answer, Member, Result
from treeline.search.lanes.graph import UnresolvedCalls, relation_of
from treeline.search.overview import Similar, cluster_of
from treeline.search.structure import Neighbour
from treeline.service.present.text import ROUTES, STAGES, describe_neighbours, distinct_functions, summary, visible

if TYPE_CHECKING:
    from treeline.graph.corpus_clusters import CorpusClusters
    from treeline.ingest.pipeline import Summary

LINES_SHOWN = 8
PROJECT_SUFFIX = re.compile(r"\.[0-9a-f]{10}$")  # of the index of a project, which is called like its folder
INDENT = " " * 4
BODY_INDENT = 4  # of a body that no closing word or bracket ends, below its `def`
CLOSING = ("}", ")", "]", "end")


def show_answer(
    answer: Answer,
    info: IndexInfo,
    *,
    explain: bool,
    full: bool,
    clusters: Callable[[], CorpusClusters | None] = lambda: None,
) -> None:
    """Print it; colours only where a terminal shows them. `clusters` are those of the index."""
    console = Console(highlight=False)
    for lane in answer.degraded:
        what = "the index is damaged" if lane.lane == "index" else f"without {lane.lane}"
        click.echo(f"treeline: {what}: {visible(lane.reason)}", err=True)
    if answer.corrections.words:
        told = f"{answer.corrections.sentence} (--as-typed looks for it as it is)\n"
        console.print(Text(told, style="bold"), soft_wrap=True)
    if answer.exact:
        console.print(Text(visible(f"{answer.exact.sentence}\n"), style="bold"), soft_wrap=True)
    if answer.total and not answer.results:
        console.print(
            f"there are only {counted(answer.total, 'result')}: --offset {answer.query.offset} skips them all"
        )
        return
    if not answer.results:
        where = f"{counted(info.functions, 'function')}{_narrowed(answer)}"
        console.print(f"nothing found in index {info.name!r} ({where})", markup=False, soft_wrap=True)
        for why in answer.hints:
            console.print(visible(why), markup=False, soft_wrap=True)
        return
    for told in filter(None, (*answer.hints, answer.no_match)):
        console.print(Text(visible(f"{told}\n"), style="bold"), soft_wrap=True)
    all_clusters = clusters() if explain else None
    for result in answer.results:
        if heading := answer.headings.get(result.rank):
            console.print(Text(visible(f"── {heading} ──\n"), style="dim"), soft_wrap=True)
        for line in _result(result, all_clusters, explain=explain, full=full, colours=console.is_terminal):
            console.print(line, soft_wrap=True)
    console.print(Text(_footer(answer, info), style="dim"), soft_wrap=True)


def _result(
    result: Result, clusters: CorpusClusters | None, *, explain: bool, full: bool, colours: bool
) -> Iterator[Text]:
    function = result.function
    head = Text(f"{result.rank:>2}. ") + headline(function.address)
    if relation := relation_of(result.candidate):
        head.append(f"  {relation}", style="green")
    yield head
    if explain:
        for line in _why(result.candidate, clusters):
            yield Text(INDENT + line, style="yellow")
    for code in code_lines(function, full=full, colours=colours):
        yield Text(INDENT) + code if code else code
    for member in result.members:
        yield Text(INDENT) + member_line(member)
    yield Text()


def member_line(member: Member) -> Text:
    """`› 12 def acquire(self, timeout=None):`, the line number first."""
    lines = member.address.lines
    line = Text("› ", style="green").append(f"{lines[0]} " if lines else "", style="dim")
    return line.append(visible(member.signature))


def headline(address: Address) -> Text:
    """What a function is called and where it lives."""
    head = Text().append(visible(address.func_name), style="bold")
    head.append(f"  {visible(address.repo)}", style="cyan")
    head.append(f"  {visible(location(address))}", style="dim")
    return head


def location(address: Address) -> str:
    """The file with its lines, in the form that editors jump to."""
    lines = address.lines
    return f"{address.path}:{lines[0]}" if lines else address.path


def code_lines(function: Function, *, full: bool, colours: bool = True) -> Iterator[Text]:
    """Its code: all of it, or the first lines and how many more there are."""
    lines = level(visible(function.original_string.strip("\n"))).split("\n")
    shown = lines if full else lines[:LINES_SHOWN]
    yield from highlighted(shown, function.language) if colours else map(Text, shown)
    if len(lines) > len(shown):
        yield Text(f"… {len(lines) - len(shown)} more lines", style="dim")


def highlighted(lines: list[str], language: str) -> Iterator[Text]:
    from rich.syntax import Syntax  # with pygments a tenth of a second, for terminals only

    syntax = Syntax("", language or "text", theme="ansi_dark", background_color="default")
    for line in syntax.highlight("\n".join(lines)).split("\n"):
        line.rstrip()
        yield line


def level(code: str) -> str:
    """A function is cut out from its `def` on, so its first line has lost the indentation that the others have."""
    first, _, rest = code.partition("\n")
    lines = [line for line in rest.split("\n") if line.strip()]
    outermost = min(lines, key=_depth, default="")
    inner = 0 if outermost.lstrip().startswith(CLOSING) else BODY_INDENT
    surplus = max(0, _depth(outermost) - inner)
    return "\n".join([first, *(line[surplus:] for line in rest.split("\n"))]) if rest else first


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _why(candidate: Candidate, clusters: CorpusClusters | None) -> Iterator[str]:
    lanes = (
        f"{one.lane} #{one.rank}{f' {one.stage}' if one.stage else ''} (score {one.score:.3f}, share {one.share:.4f})"
        for one in candidate.contributions
    )
    yield f"score {candidate.score:.4f} = {' + '.join(lanes)}"
    notes = [visible(candidate.reason)] if candidate.reason else []
    if candidate.moved:
        notes.append(f"moved {'up' if candidate.moved > 0 else 'down'} {abs(candidate.moved)}")
    cluster, label = cluster_of(candidate, clusters)
    if cluster is not None:
        notes.append(f"cluster {cluster}{f' ({visible(label)})' if label else ''}")
    if candidate.tree_distance is not None:
        notes.append(f"{candidate.tree_distance:.2f} from the nearest result above")
    if notes:
        yield "; ".join(notes)


def _footer(answer: Answer, info: IndexInfo) -> str:
    first, last = answer.results[0].rank, answer.results[-1].rank
    understood = ROUTES.get(answer.route, answer.route)
    stages = ", ".join(STAGES.get(stage, stage) for stage in answer.relaxed)
    widened = f", widened to {stages}" if stages else ""
    return (
        f"{first}–{last} of the best {answer.total:,} of {info.functions:,} in {PROJECT_SUFFIX.sub('', info.name)}"
        f"{_narrowed(answer)} · {understood}{widened} · {answer.timings.get('total', 0.0):.0f} ms"
    )


def _narrowed(answer: Answer) -> str:
    return f", {visible(answer.plan.narrowed)}" if answer.plan.narrowed else ""


NO_NEIGHBOURS = "nothing known here"  # names are resolved within a repository: library code is not in the graph


def show_function(
    function: Function, callers: Sequence[Neighbour], unresolved: UnresolvedCalls, callees: Sequence[Neighbour]
) -> None:
    """The whole function; its docstring is shown before its code where the code does not have it."""
    console = Console(highlight=False)
    console.print(headline(function.address), soft_wrap=True)
    console.print(Text(f"id {function.id}", style="dim"), soft_wrap=True)
    if function.url:
        console.print(Text(visible(function.url), style="dim"), soft_wrap=True)
    more = unresolved.message(more=bool(distinct_functions(callers)))
    listed = f'; {more} (treeline search "what calls {unresolved.symbol}")' if more else ""
    for relation, found, besides in (("called by", callers, listed), ("calls", callees, "")):
        told = f"{relation} {describe_neighbours(found, by_name=True) or NO_NEIGHBOURS}{besides}"
        console.print(Text(visible(told), style="green"), soft_wrap=True)
    console.print()
    if docstring := function.docstring_outside:
        console.print(Text(f"{visible(docstring)}\n"), soft_wrap=True)
    for line in code_lines(function, full=True, colours=console.is_terminal):
        console.print(line, soft_wrap=True)


def show_similar(function: Function, like: Similar, bodies: Sequence[Function]) -> None:
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


REASONS_SHOWN = 5


def show_summary(summary: Summary) -> None:
    console = Console(highlight=False)
    counts = [
        (summary.indexed, "indexed"),
        (summary.updated, "updated"),
        (summary.unchanged, "unchanged"),
        (summary.duplicate, "duplicate"),
        (summary.rejected, "rejected"),
    ]
    parts = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing"
    seconds = summary.seconds.get("total", 0.0)
    removed = f"; {summary.removed:,} removed" if summary.removed else ""
    console.print(f"{counted(summary.read, 'record')} read: {parts}{removed}")
    for reason, count in list(summary.reasons.items())[:REASONS_SHOWN]:
        console.print(f"  {count:,} × {reason}", markup=False)
    if summary.rejects_file:
        console.print(f"  each with file and line: {summary.rejects_file}", markup=False, soft_wrap=True)
    if summary.passed_over:
        shown = [f"{count:,} × {reason}" for reason, count in list(summary.passed_over.items())[:REASONS_SHOWN]]
        more = ", …" if len(summary.passed_over) > REASONS_SHOWN else ""
        console.print(f"  passed over: {', '.join(shown)}{more}", markup=False, soft_wrap=True)
    for source in summary.empty:
        console.print(f"  no function in {source}", markup=False, soft_wrap=True)
    for source in summary.gone:
        command = f"treeline index --name {summary.index} --remove {quote(source)}"
        console.print(f"  no longer there: {source} ({command} takes it out)", markup=False, soft_wrap=True)
    if not summary.total:
        click.echo(f"treeline: index {summary.index!r} is empty: there is nothing to search in it", err=True)
    if not summary.published:
        console.print(f"index {summary.index!r} is up to date: {counted(summary.total, 'function')} ({seconds:.1f} s)")
        return
    written = summary.indexed + summary.updated
    rate = f", {counted(round(written / seconds), 'function')} a second" if written >= seconds > 1 else ""
    resumed = ", taken up where it was broken off" if summary.resumed else ""
    encoders = " + ".join(summary.encoders) or "none"
    console.print(
        f"index {summary.index!r} ({summary.engine}) now holds {counted(summary.total, 'function')}, encoder {encoders}"
        f" ({seconds:.1f} s{rate}{resumed})",
        markup=False,
        soft_wrap=True,
    )
