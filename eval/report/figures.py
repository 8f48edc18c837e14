"""The tables of an evaluation, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from treeline.eval.report.document import PAPER_HEAD, Document

NONE = "–"


class Table(NamedTuple):
    """Cells as text; the first column names the row. `best` are the rows that stand out."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    best: frozenset[int] = frozenset()

    def transpose(self) -> Table:
        """The same with rows for columns."""
        head, *rows = zip(self.head, *self.rows, strict=True)
        return Table(self.title, head, rows)


def tables(document: Document, *, brief: bool = False) -> Iterator[Table]:
    """Every table that the document has figures for; a `brief` one has the main metrics alone."""
    metrics = [metric for metric in document["metrics"] if not (brief and metric.get("detail"))]
    yield _means(document, metrics, brief=brief)
    headline, systems = document["headline"], document["systems"]
    label = label_of(document, headline)
    yield from _groups(f"{label} by group", {one["name"]: one["groups"].get(headline, {}) for one in systems})
    for tag in dict.fromkeys(tag for one in systems for tag in one.get("breakdowns", {})):
        cells = {one["name"]: one["breakdowns"].get(tag, {}) for one in systems}
        means = {name: {value: cell["mean"] for value, cell in row.items()} for name, row in cells.items()}
        yield from _groups(f"{label} by {tag}, mean over questions", means)
    if any("macro" in one for one in systems):
        head = ["system", *_heads(metrics, headline)]
        rows = [[one["name"], *_cells(one["macro"], metrics, headline)] for one in systems]
        yield Table("Mean over groups", head, rows)
    if document.get("paper"):
        rows = [[figure(row[column], 4) for column in PAPER_HEAD] for row in document["paper"]]
        yield Table("The paper's table, repeated", list(PAPER_HEAD.values()), rows)
    if against := [one for one in systems if headline in one["against_baseline"]]:
        head = ["system", "difference", "95 % interval", "p", "won / lost / tied"]
        rows = [[one["name"], *_comparison(one["against_baseline"][headline])] for one in against]
        yield Table(f"{label}, against {document['baseline']} (paired bootstrap over the questions)", head, rows)


def label_of(document: Document, name: str) -> str:
    return next(str(metric["label"]) for metric in document["metrics"] if metric["name"] == name)


def figure(value: float | str | None, digits: int = 3) -> str:
    return f"{value:.{digits}f}" if isinstance(value, float) else value or NONE


def fact(value: object) -> str:
    return f"{value:,.10g}" if isinstance(value, float) else str(value)


def _means(document: Document, metrics: Sequence[Document], *, brief: bool) -> Table:
    headline = document["headline"]
    times = {"p50": "median ms"} if brief else {"p50": "p50 ms", "p95": "p95 ms"}
    rows = [
        [one["name"], *_cells(one["means"], metrics, headline), *(figure(one["latency"].get(key), 1) for key in times)]
        for one in document["systems"]
    ]
    values = [one["means"].get(headline, {}).get("mean", 0.0) for one in document["systems"]]
    best = frozenset(number for number, value in enumerate(values) if value == max(values))
    return Table("", ["system", *_heads(metrics, headline), *times.values()], rows, best)


def _heads(metrics: Sequence[Document], headline: str) -> Iterator[str]:
    for metric in metrics:
        yield metric["label"]
        if metric["name"] == headline:
            yield "95 % interval"


def _cells(means: Document, metrics: Sequence[Document], headline: str) -> Iterator[str]:
    for metric in metrics:
        mean = means.get(metric["name"])
        yield figure(mean and mean["mean"], 3 if metric["share"] else 2)
        if metric["name"] == headline:
            yield f"{mean['low']:.3f}–{mean['high']:.3f}" if mean else NONE


def _groups(title: str, rows: Mapping[str, Mapping[str, float]]) -> Iterator[Table]:
    columns = list(dict.fromkeys(group for row in rows.values() for group in row))
    if columns:
        cells = [[name, *(figure(row.get(column)) for column in columns)] for name, row in rows.items()]
        yield Table(title, ["system", *columns], cells)


def _comparison(one: Document) -> Iterator[str]:
    yield f"{one['difference']:+.3f}"
    yield f"{one['low']:+.3f} … {one['high']:+.3f}"
    yield "<.001" if one["p"] < 0.001 else figure(one["p"])
    yield " / ".join(str(one[name]) for name in ("wins", "losses", "ties"))
