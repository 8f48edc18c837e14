"""A load's summary for people: one line for what came in, one for what was left out, one for how fast."""

from __future__ import annotations

from shlex import quote

import click
from rich.console import Console

from treeline.corpus.counting import counted
from treeline.ingest.pipeline import Summary

REASONS_SHOWN = 5


def show(summary: Summary) -> None:
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
