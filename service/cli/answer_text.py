"""An answer for people: each result with its place, what its docstring says first, and highlighted code."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from treeline.corpus.counting import counted
from treeline.corpus.function import Address, Function
from treeline.engine.protocol import IndexInfo
from treeline.graph.corpus_clusters import CorpusClusters
from treeline.rerank.candidates import Candidate
from treeline.search.alike import cluster_of
from treeline.search.answer import Answer, Result
from treeline.search.question.exact import relation_of
from treeline.service.shown.visible import visible

LINES_SHOWN = 8
INDENT = " " * 4
BODY_INDENT = 4  # of a body that no closing word or bracket ends, below its `def`
CLOSING = ("}", ")", "]", "end")


def show(
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
        click.echo(f"treeline: without {lane.lane}: {visible(lane.reason)}", err=True)
    if answer.spelt.words:
        told = f"{answer.spelt.sentence} (--as-typed looks for it as it is)\n"
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
    for told in filter(None, (*answer.hints, answer.unfound)):
        console.print(Text(visible(f"{told}\n"), style="bold"), soft_wrap=True)
    all_clusters = clusters() if explain else None
    for result in answer.results:
        if heading := answer.headings.get(result.rank):
            console.print(Text(visible(f"── {heading} ──\n"), style="dim"), soft_wrap=True)
        for line in _result(result, all_clusters, explain=explain, full=full):
            console.print(line, soft_wrap=True)
    console.print(Text(_footer(answer, info), style="dim"), soft_wrap=True)


def _result(result: Result, clusters: CorpusClusters | None, *, explain: bool, full: bool) -> Iterator[Text]:
    function = result.function
    head = Text(f"{result.rank:>2}. ") + headline(function.address)
    if relation := relation_of(result.candidate):
        head.append(f"  {relation}", style="green")
    yield head
    if explain:
        for line in _why(result.candidate, clusters):
            yield Text(INDENT + line, style="yellow")
    for code in code_lines(function, full=full):
        yield Text(INDENT) + code if code else code
    yield Text()


def headline(address: Address) -> Text:
    """What a function is called and where it lives."""
    head = Text().append(visible(address.func_name), style="bold")
    head.append(f"  {visible(address.repo)}", style="cyan")
    head.append(f"  {visible(place(address))}", style="dim")
    return head


def place(address: Address) -> str:
    """The file with its lines, in the form that editors jump to."""
    lines = address.lines
    return f"{address.path}:{lines[0]}" if lines else address.path


def code_lines(function: Function, *, full: bool) -> Iterator[Text]:
    """Its code with colours: all of it, or the first lines and how many more there are."""
    lines = level(visible(function.original_string.strip("\n"))).split("\n")
    shown = lines if full else lines[:LINES_SHOWN]
    syntax = Syntax("", function.language or "text", theme="ansi_dark", background_color="default")
    for line in syntax.highlight("\n".join(shown)).split("\n"):
        line.rstrip()
        yield line
    if len(lines) > len(shown):
        yield Text(f"… {len(lines) - len(shown)} more lines", style="dim")


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
    relaxed = f", relaxed: {', '.join(answer.relaxed)}" if answer.relaxed else ""
    first, last = answer.results[0].rank, answer.results[-1].rank
    return (
        f"{first}–{last} of {answer.total:,} from {counted(info.functions, 'function')} in {info.name!r}"
        f"{_narrowed(answer)}"
        f" · {answer.route}{relaxed} · {answer.timings.get('total', 0.0):.0f} ms"
    )


def _narrowed(answer: Answer) -> str:
    return f", {visible(answer.query.narrowed)}" if answer.query.narrowed else ""
