"""Answers, functions and load summaries as text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from shlex import quote
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from treeline.corpus.counting import counted
from treeline.corpus.function import FUNCTION_KINDS, Address, Function
from treeline.engine.protocol import IndexInfo
from treeline.rerank.candidates import Candidate
from treeline.search.answer import Answer, Member, Result
from treeline.search.excerpt import Excerpt, excerpt, needle_of
from treeline.search.lanes.graph import relation_of
from treeline.search.occurrences import Line, Needle
from treeline.search.relatives import Neighbour
from treeline.search.structural_answer import UnresolvedCalls
from treeline.service.cli.files import IndexFiles
from treeline.service.cli.lines import grep_line, is_for_a_person, paint, painted, say, shows_colours
from treeline.service.cli.options import echo
from treeline.service.present.text import (
    ROUTES,
    describe_commit,
    describe_neighbours,
    distinct_functions,
    summary,
    visible,
    visible_name,
    widened_to,
)

if TYPE_CHECKING:
    from treeline.graph.corpus_clusters import CorpusClusters
    from treeline.graph.history import Commit
    from treeline.ingest.pipeline import Summary
    from treeline.search.overview import Similar

NARROWEST = 20  # columns for code
COLOURS = {"c": "bright_black", "s": "green", "n": "yellow", "k": "magenta", "f": "blue", "b": "cyan", "a": "yellow"}
PROJECT_SUFFIX = re.compile(r"\.[0-9a-f]{10}$")  # of a project's index, which is named after its folder
INDENT = " " * 4
BODY_INDENT = 4  # of a body without a closing bracket or word, relative to its `def`
CLOSING = ("}", ")", "]", "end")


def show_answer(
    answer: Answer,
    info: IndexInfo,
    files: IndexFiles,
    *,
    explain: bool,
    full: bool,
    clusters: Callable[[], CorpusClusters | None] = lambda: None,
) -> None:
    """Print the answer: for a person on a terminal, or (`explain`, `full`) who asks for it, else a line for each match.
    `clusters` are those of the index."""
    for lane in answer.degraded:
        what = "the index is damaged" if lane.lane == "index" else f"without {lane.lane}"
        echo(f"treeline: {what}: {lane.reason}", err=True)
    if answer.coverage:
        echo(f"treeline: {answer.coverage}", err=True)
    to_read = is_for_a_person() or explain or full
    for note in _notes(answer, info):
        if to_read:
            say(visible(f"{note}\n"), bold=True)
        else:
            echo(f"treeline: {note}", err=True)
    needle = needle_of(answer.plan)
    if not to_read:
        for result in answer.results:
            for line in _excerpt(answer, needle, result, files).matches:
                click.echo(grep_line(files.path(result.function.address), line, line.column))
        return
    all_clusters = clusters() if explain else None
    for result in answer.by_file:
        if heading := answer.headings.get(result.rank):
            say(visible(f"── {heading} ──\n"), dim=True)
        for row in _result(answer, needle, result, files, all_clusters, explain=explain, full=full):
            say(row)
    if answer.results:
        say(_footer(answer, info, explain=explain), dim=True)


def _notes(answer: Answer, info: IndexInfo) -> Iterator[str]:
    """Sentences on how the question was changed, and on what is missing."""
    if answer.corrections.words:
        yield f"{answer.corrections.sentence} (--as-typed turns correction off)"
    if answer.exact:
        yield answer.exact.sentence
    if answer.total and not answer.results:
        yield f"there are only {counted(answer.total, 'result')}: --offset {answer.query.offset} skips them all"
    elif not answer.results and not answer.hints and not answer.exact:
        name = PROJECT_SUFFIX.sub("", info.name)
        yield f"nothing found in index {name!r} ({counted(info.functions, 'unit')}{_filter_note(answer)})"
    yield from filter(None, (*answer.hints, answer.no_match))


def _excerpt(answer: Answer, needle: Needle, result: Result, files: IndexFiles) -> Excerpt:
    text, first = files.unit(result.function)
    return excerpt(answer.plan, needle, result.function, text, first)


def _result(
    answer: Answer,
    needle: Needle,
    result: Result,
    files: IndexFiles,
    clusters: CorpusClusters | None,
    *,
    explain: bool,
    full: bool,
) -> Iterator[str]:
    unit = result.function
    part = _excerpt(answer, needle, result, files)
    where = f"{files.path(unit.address)}:{part.matches[0].number}".removesuffix(":0")
    relation = relation_of(result.candidate)
    whole = files.text(unit.address) if part.occurrences else None
    in_file = len(needle.occurrences(whole)) if whole else 0
    count = f"{part.occurrences} of {in_file} in this file" if in_file > 1 else ""
    notes = [paint(note, fg="green") for note in (relation, count) if note]
    name = paint(visible_name(unit.func_name), bold=True)
    yield "  ".join([f"{result.rank:>2}. {name}", paint(visible_name(where), fg="cyan"), *notes])
    if explain:
        for line in _why(result.candidate, clusters):
            yield paint(INDENT + line, fg="yellow")
    if full:
        yield from (INDENT + code if code else code for code in code_lines(unit))
    else:
        yield from excerpt_rows(part.lines[:1] if result.members and not part.occurrences else part.lines)
    for member in result.members if not part.occurrences else ():
        yield INDENT + member_line(member)
    yield ""


def excerpt_rows(lines: Sequence[Line]) -> Iterator[str]:
    """The lines with their numbers, cut to the terminal's width; a colon marks those that match, as in grep."""
    indent = min((len(line.text) - len(line.text.lstrip()) for line in lines), default=0)
    digits = max(len(str(line.number)) for line in lines)
    width = max(get_terminal_size().columns - len(INDENT) - digits - 2, NARROWEST)
    for line in lines:
        number = f"{line.number or '':>{digits}}{':' if line.spans else '-'} "
        yield INDENT + paint(number, dim=True) + painted(clip(line, indent, width))


def clip(line: Line, indent: int, width: int) -> Line:
    """The part of a line that fits, with its first match."""
    match = line.spans[0] if line.spans else (0, 0)
    start = indent if match[1] - indent <= width else max(indent, match[0] - width // 3)
    text = line.text[start : start + width]
    spans = tuple((max(0, begin - start), min(end - start, len(text))) for begin, end in line.spans)
    return Line(line.number, text, tuple(span for span in spans if span[0] < span[1]))


def member_line(member: Member) -> str:
    """`› 12 def acquire(self, timeout=None):`, the line number first."""
    lines = member.address.lines
    number = f"{lines[0]} " if lines else ""
    width = max(get_terminal_size().columns - len(INDENT) - len("› ") - len(number), NARROWEST)
    return f"{paint('› ', fg='green')}{paint(number, dim=True)}{visible(member.signature)[:width]}"


def headline(address: Address) -> str:
    """The name and location of a unit."""
    name, repo, file = map(visible_name, (address.func_name, address.repo, location(address)))
    return paint(name, bold=True) + paint(f"  {repo}", fg="cyan") + paint(f"  {file}", dim=True)


def location(address: Address) -> str:
    """`path:line`, as editors understand it."""
    lines = address.lines
    return f"{address.path}:{lines[0]}" if lines else address.path


def code_lines(function: Function) -> list[str]:
    """The code, highlighted."""
    lines = level(visible(function.original_string.strip("\n"))).split("\n")
    return highlight(lines, function.language) if shows_colours() else lines


def highlight(lines: list[str], language: str) -> list[str]:
    from treeline.service.present.tokenizer import unit_pieces  # for terminals only

    rows = [""]
    for css, text in unit_pieces("\n".join(lines), language):
        first, *rest = (paint(line, fg=COLOURS.get(css)) for line in text.split("\n"))
        rows[-1] += first
        rows += rest
    return rows


def level(code: str) -> str:
    """Dedented code: a unit starts at its `def`, so its first line lacks the indentation of the others."""
    first, _, rest = code.partition("\n")
    lines = [line for line in rest.split("\n") if line.strip()]
    outermost = min(lines, key=_depth, default="")
    inner = 0 if outermost.lstrip().startswith(CLOSING) else BODY_INDENT
    surplus = max(0, _depth(outermost) - inner)
    return "\n".join([first, *(line[surplus:] for line in rest.split("\n"))]) if rest else first


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _why(candidate: Candidate, clusters: CorpusClusters | None) -> Iterator[str]:
    from treeline.search.overview import cluster_of

    lanes = (
        f"{one.lane} #{one.rank}{f' {one.stage}' if one.stage else ''} (score {one.score:.3f}, share {one.share:.4f})"
        for one in candidate.contributions
    )
    yield f"score {candidate.score:.4f} = {' + '.join(lanes)}"
    notes = [visible(candidate.reason)] if candidate.reason else []
    if candidate.moved:
        notes.append(f"moved {'up' if candidate.moved > 0 else 'down'} {abs(candidate.moved)}")
    if (cluster := cluster_of(candidate, clusters)) is not None:
        notes.append(f"cluster {cluster}")
    if candidate.tree_distance is not None:
        notes.append(f"{candidate.tree_distance:.2f} from the nearest result above")
    if notes:
        yield "; ".join(notes)


def _footer(answer: Answer, info: IndexInfo, *, explain: bool) -> str:
    first, last = answer.results[0].rank, answer.results[-1].rank
    stages = widened_to(answer)
    name = PROJECT_SUFFIX.sub("", info.name)
    notes = [
        f"{first}–{last} of {counted(answer.total, 'result')} in {name}{_filter_note(answer)}",
        ROUTES.get(answer.route, answer.route) if explain else "",
        f"widened to {stages}" if stages else "",
        f"more with --offset {last}" if last < answer.total else "",
        "--all lists every occurrence" if answer.plan.has_requirements else "",
        f"{answer.timings.get('total', 0.0):.0f} ms",
    ]
    return " · ".join(filter(None, notes))


def _filter_note(answer: Answer) -> str:
    return f", {visible(answer.plan.narrowing_text)}" if answer.plan.narrowing_text else ""


NO_NEIGHBOURS = "nothing known here"  # names are resolved within a repository: library code is not in the graph


def show_function(
    function: Function,
    callers: Sequence[Neighbour],
    text_calls: UnresolvedCalls,
    callees: Sequence[Neighbour],
    commits: Sequence[Commit] = (),
) -> None:
    """The whole unit; a docstring outside its code comes first."""
    say(headline(function.address))
    more = text_calls.message(more=bool(distinct_functions(callers)))
    note = f'; {more} (treeline search "what calls {text_calls.symbol}")' if more else ""
    for relation, neighbours, suffix in (("called by", callers, note), ("calls", callees, "")):
        names = describe_neighbours(neighbours, by_name=True)
        if names or suffix or function.kind in FUNCTION_KINDS:
            say(visible(f"{relation} {names or NO_NEIGHBOURS}{suffix}"), fg="green")
    for commit in commits:
        say(visible(describe_commit(commit)), dim=True)
    say()
    if docstring := function.docstring_outside:
        say(f"{visible(docstring)}\n")
    for line in code_lines(function):
        say(line)


def show_similar(function: Function, like: Similar, bodies: Sequence[Function]) -> None:
    """Print similar units, nearest first, each with its cosine and docstring summary."""
    say(f"similar to {headline(function.address)}")
    if not like.hits:
        say("nothing similar is in the index, or it has no vectors")
        return
    known = {body.id: body for body in bodies}
    for rank, (hit, same_cluster) in enumerate(like.hits, 1):
        mark = paint("  same cluster", fg="yellow") if same_cluster else ""
        say(f"{rank:>2}. {hit.score:.2f}  {headline(hit.address)}{mark}")
        if hit.id in known and (first := summary(known[hit.id].docstring)):
            say(f"{INDENT}{visible(first)}")


REASONS_SHOWN = 5


def show_summary(summary: Summary) -> None:
    counts = [
        (summary.indexed, "indexed"),
        (summary.updated, "updated"),
        (summary.unchanged, "unchanged"),
        (summary.duplicate, "duplicate"),
        (summary.rejected, "rejected"),
    ]
    results = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing"
    seconds = summary.seconds.get("total", 0.0)
    removal = f"; {summary.removed:,} removed" if summary.removed else ""
    echo(f"{counted(summary.read, 'record')} read: {results}{removal}")
    for reason, count in list(summary.reasons.items())[:REASONS_SHOWN]:
        echo(f"  {count:,} × {reason}")
    if summary.rejects_file:
        echo(f"  each with file and line: {summary.rejects_file}")
    if summary.passed_over:
        reasons = [f"{count:,} × {reason}" for reason, count in list(summary.passed_over.items())[:REASONS_SHOWN]]
        more = ", …" if len(summary.passed_over) > REASONS_SHOWN else ""
        echo(f"  passed over: {', '.join(reasons)}{more}")
    for source in summary.empty:
        echo(f"  nothing found in {source}")
    for source in summary.gone:
        command = f"treeline index --name {summary.index} --remove {quote(source)}"
        echo(f"  no longer there: {source} ({command} removes it)")
    if not summary.total:
        echo(f"treeline: index {summary.index!r} is empty: there is nothing to search in it", err=True)
    if not summary.published:
        echo(f"index {summary.index!r} is up to date: {counted(summary.total, 'unit')} ({seconds:.1f} s)")
        return
    units = summary.indexed + summary.updated
    rate = f", {counted(round(units / seconds), 'unit')} a second" if units >= seconds > 1 else ""
    resumption = ", resumed" if summary.resumed else ""
    encoders = " + ".join(summary.encoders) or "none"
    echo(
        f"index {summary.index!r} ({summary.engine}) now holds {counted(summary.total, 'unit')}, encoder {encoders}"
        f" ({seconds:.1f} s{rate}{resumption})"
    )
