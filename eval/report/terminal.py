"""The document of an evaluation in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from treeline.eval.report.document import Document
from treeline.eval.report.figures import Table, fact, tables
from treeline.eval.report.results import SAME, Change

MOST_COLUMNS = 8  # more of a table do not fit beside each other
REST = "All metrics and the worst questions: --html FILE, --json FILE"


def show(document: Document, console: Console) -> None:
    """Print the main figures, the comparisons and what they rest on."""
    console.print(f"\n[bold]{document['dataset']}[/bold]: {document['about']}, {document['queries']:,} questions")
    for table in tables(document, brief=True):
        console.print(_grid(table if table.title and len(table.head) <= MOST_COLUMNS else narrow(table)))
    facts = (value if isinstance(value, str) else f"{name} {fact(value)}" for name, value in document["facts"].items())
    for line in (" · ".join(facts), *document["notes"], REST):
        console.print(f"[dim]{escape(line)}[/dim]")


def narrow(table: Table) -> Table:
    """The table, or what it is turned round, whichever has fewer columns."""
    return table.transpose() if len(table.rows) + 1 < len(table.head) else table


def _grid(table: Table) -> Grid:
    grid = Grid(title=escape(table.title) or None, box=None, pad_edge=False, title_justify="left")
    for number, head in enumerate(table.head):
        grid.add_column(escape(head), justify="right" if number else "left")
    for row in table.rows:
        grid.add_row(*map(escape, row))
    return grid


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
