"""The document of an evaluation in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from treeline.eval.report.document import PAPER_HEAD, Document
from treeline.eval.report.results import SAME, Change

# More groups than this do not fit beside each other.
MOST_COLUMNS = 8


def show(document: Document, console: Console, *, worst: int = 5) -> None:
    """Print means, comparisons, worst queries and facts."""
    console.print(f"\n[bold]{document['dataset']}[/bold]: {document['about']}, {document['queries']} queries")
    console.print(_means(document, console.width))
    if any(system["groups"] for system in document["systems"]):
        console.print(_groups(document))
    for table in _breakdowns(document):
        console.print(table)
    if any("macro" in system for system in document["systems"]):
        console.print(_macro(document))
    if "paper" in document:
        console.print(_paper(document))
    if document["baseline"] and len(document["systems"]) > 1:
        console.print(_comparisons(document))
    if worst and document["worst"]:
        _worst(document, console, worst)
    for name, value in document["facts"].items():
        console.print(
            f"[dim]{name}: {value:,.10g}[/dim]" if isinstance(value, float) else f"[dim]{name}: {value}[/dim]"
        )
    for note in document["notes"]:
        console.print(f"[dim]{note}[/dim]")


def show_changes(changes: Sequence[Change], before: Document, comparable: bool, console: Console) -> None:
    """Print the means that moved since the last result."""
    since = f"{before['commit'] or 'an uncommitted tree'}, {before['made']}"
    if not comparable:
        console.print(f"[yellow]The last result ({since}) was made on other questions or another index.[/yellow]")
    visible = [change for change in changes if abs(change.difference) >= SAME]
    if not visible:
        console.print(f"[dim]No mean moved since the last result ({since}).[/dim]")
        return
    console.print(f"Since the last result ({since}):")
    for change in sorted(visible, key=lambda change: change.difference):
        colour = "red" if change.difference < 0 else "green"
        console.print(
            f"  {change.system}, {change.metric}: {change.before:.3f} → {change.now:.3f} "
            f"[{colour}]({change.difference:+.3f})[/{colour}]"
        )


def _means(document: Document, width: int) -> Table:
    """Systems as columns while they fit, else as rows with the most important metrics."""
    few = len(document["systems"]) * 9 + 32 <= width
    return _measures_as_rows(document) if few else _systems_as_rows(document, width)


def _measures_as_rows(document: Document) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for system in document["systems"]:
        table.add_column(escape(system["name"]), justify="right")
    for metric in document["metrics"]:
        means = [system["means"].get(metric["name"]) for system in document["systems"]]
        headline = metric["name"] == document["headline"]
        style = "bold" if headline else ""
        table.add_row(metric["label"], *(_mean(mean, metric["share"]) for mean in means), style=style)
        if headline:
            table.add_row("  95 % from", *(_limit(mean, "low") for mean in means), style="dim")
            table.add_row("  95 % to", *(_limit(mean, "high") for mean in means), style="dim")
    for name in ("p50", "p95"):
        table.add_row(f"{name} ms", *(_time(system["latency"], name) for system in document["systems"]))
    return table


def _systems_as_rows(document: Document, width: int) -> Table:
    names = max(len(system["name"]) for system in document["systems"])
    room = max(0, (width - names - 40) // 12)
    headline = next(metric for metric in document["metrics"] if metric["name"] == document["headline"])
    rest = sorted((metric for metric in document["metrics"] if metric != headline), key=lambda metric: metric["share"])
    table = Table(box=None, pad_edge=False)
    table.add_column("system", no_wrap=True)
    table.add_column(headline["label"], justify="right", no_wrap=True)
    for metric in rest[:room]:
        table.add_column(metric["label"], justify="right")
    table.add_column("p50 ms", justify="right", no_wrap=True)
    table.add_column("p95 ms", justify="right", no_wrap=True)
    for system in document["systems"]:
        mean = system["means"].get(headline["name"])
        interval = f"{_mean(mean, True)} [dim]{_limit(mean, 'low')}–{_limit(mean, 'high')}[/dim]"
        cells = [_mean(system["means"].get(metric["name"]), metric["share"]) for metric in rest[:room]]
        times = [_time(system["latency"], name) for name in ("p50", "p95")]
        table.add_row(escape(system["name"]), interval, *cells, *times)
    return table


def _mean(mean: Document | None, share: bool) -> str:
    return "–" if mean is None else f"{mean['mean']:.3f}" if share else f"{mean['mean']:.2f}"


def _limit(mean: Document | None, side: str) -> str:
    return "–" if mean is None else f"{mean[side]:.3f}"


def _time(latency: Document, name: str) -> str:
    return f"{latency[name]:.1f}" if latency else "–"


def _groups(document: Document) -> Table:
    headline = document["headline"]
    rows = {system["name"]: system["groups"].get(headline, {}) for system in document["systems"]}
    return _table_of_groups(f"{headline} by group", rows)


def _breakdowns(document: Document) -> Iterator[Table]:
    """The headline by each tag of the questions."""
    tags = dict.fromkeys(tag for system in document["systems"] for tag in system.get("breakdowns", {}))
    for tag in tags:
        rows = {
            system["name"]: {value: cell["mean"] for value, cell in system["breakdowns"].get(tag, {}).items()}
            for system in document["systems"]
        }
        yield _table_of_groups(f"{document['headline']} by {tag}, mean over questions", rows)


def _table_of_groups(title: str, rows: Mapping[str, Mapping[str, float]]) -> Table:
    """Systems as rows while the groups fit beside each other, else groups as rows."""
    columns = list(dict.fromkeys(group for row in rows.values() for group in row))
    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    if len(columns) <= MOST_COLUMNS:
        table.add_column("system")
        for column in columns:
            table.add_column(column, justify="right")
        for name, row in rows.items():
            table.add_row(name, *(_share(row.get(column)) for column in columns))
    else:
        table.add_column("group")
        for name in rows:
            table.add_column(escape(name), justify="right")
        for column in columns:
            table.add_row(column, *(_share(row.get(column)) for row in rows.values()))
    return table


def _macro(document: Document) -> Table:
    """The mean over groups with its interval."""
    table = Table(title="mean over groups", box=None, pad_edge=False, title_justify="left")
    for column in ("system", "95 % interval", *(metric["label"] for metric in document["metrics"])):
        table.add_column(column, justify="left" if column == "system" else "right")
    for system in document["systems"]:
        headline = system["macro"][document["headline"]]
        cells = [_mean(system["macro"].get(metric["name"]), metric["share"]) for metric in document["metrics"]]
        interval = f"{_limit(headline, 'low')}–{_limit(headline, 'high')}"
        table.add_row(escape(system["name"]), interval, *cells)
    return table


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _paper(document: Document) -> Table:
    table = Table(title="the paper's table, repeated", box=None, pad_edge=False, title_justify="left")
    for column in PAPER_HEAD:
        table.add_column(PAPER_HEAD[column], justify="left" if column == "label" else "right")
    for row in document["paper"]:
        table.add_row(*(_cell(row[column]) for column in PAPER_HEAD))
    return table


def _cell(value: str | float | None) -> str:
    return "–" if value is None else value if isinstance(value, str) else f"{value:.4f}"


def _comparisons(document: Document) -> Table:
    headline = document["headline"]
    title = f"{headline}, against {document['baseline']} (paired bootstrap)"
    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    for column in ("system", "difference", "95 % interval", "p", "won/lost/tied"):
        table.add_column(column, justify="left" if column == "system" else "right", no_wrap=True)
    for system in document["systems"]:
        comparison = system["against_baseline"].get(headline)
        if comparison:
            table.add_row(
                escape(system["name"]),
                f"{comparison['difference']:+.3f}",
                f"{comparison['low']:+.3f} … {comparison['high']:+.3f}",
                "<.001" if comparison["p"] < 0.001 else f"{comparison['p']:.3f}",
                "/".join(str(comparison[name]) for name in ("wins", "losses", "ties")),
            )
    return table


def _worst(document: Document, console: Console, count: int) -> None:
    console.print(f"Worst for {document['focus']}, with what it returned:")
    for case in document["worst"][:count]:
        console.print(f"  [bold]{case['value']:.3f}[/bold] {escape(case['query'])}", highlight=False)
        for result in case["returned"][:3]:
            where = escape(f"{result['repo']} {result['path']}")
            console.print(f"        {escape(result['name'])}  [dim]{where}[/dim]", highlight=False)
