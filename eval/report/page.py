"""An evaluation as one self-contained page: no network, good on a phone, light and dark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.io import to_html  # type: ignore[import-untyped]
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from treeline.eval.report.document import Document
from treeline.eval.report.figures import fact, label_of, tables

# Okabe & Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C8C8C")
# A radar chart of more systems cannot be read.
RADAR_SYSTEMS = 5
GREY = "#888888"
FAINT = "rgba(136,136,136,.25)"


def plots(document: Document) -> Iterator[tuple[str, str, go.Figure]]:
    """Title, one sentence on how to read it, and the figure, for every plot the document has numbers for."""
    label = label_of(document, document["headline"])
    yield f"{label} by system", "The lines are 95 % bootstrap intervals over the questions.", bars(document)
    if len(document["systems"]) > 1 and len(_shares(document)) > 2:
        yield "All measures", "Further out is better; every axis runs from 0 to 1.", radar(document)
    if any(system["latency"] for system in document["systems"]):
        yield "Quality against time", "Up is better, left is faster (median of one question).", latency(document)
    difference = differences(document)
    if difference is not None:
        caption = f"{document['focus']} minus {document['baseline']}, question by question: above zero it won."
        yield "Where it wins and loses", caption, difference


def bars(document: Document) -> go.Figure:
    systems = [system for system in document["systems"] if document["headline"] in system["means"]]
    means = [system["means"][document["headline"]] for system in systems]
    figure = go.Figure(
        go.Bar(
            y=[system["name"] for system in systems],
            x=[mean["mean"] for mean in means],
            orientation="h",
            marker_color=[_colour(document, system) for system in systems],
            error_x={
                "type": "data",
                "array": [mean["high"] - mean["mean"] for mean in means],
                "arrayminus": [mean["mean"] - mean["low"] for mean in means],
                "color": GREY,
            },
            text=[f"{mean['mean']:.3f}" for mean in means],
            textposition="inside",
            insidetextanchor="start",
            hovertemplate="%{y}: %{x:.4f}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed")
    return _style(figure, height=90 + 34 * len(systems))


def radar(document: Document) -> go.Figure:
    shares = _shares(document)
    corners = [label.replace(", ", "<br>") for label in shares.values()]
    figure = go.Figure()
    for system in _radar_systems(document):
        values = [system["means"].get(name, {"mean": 0.0})["mean"] for name in shares]
        figure.add_trace(
            go.Scatterpolar(
                r=[*values, values[0]],
                theta=[*corners, corners[0]],
                name=system["name"],
                line_color=_colour(document, system),
                hovertemplate="%{theta}: %{r:.3f}<extra>" + system["name"].replace("<", "") + "</extra>",
            )
        )
    figure.update_polars(radialaxis={"range": [0, 1], "color": GREY, "gridcolor": FAINT}, bgcolor="rgba(0,0,0,0)")
    figure.update_polars(angularaxis={"color": GREY, "gridcolor": FAINT}, gridshape="linear")
    # Labels are outside the figure's width: leave room for them, also on a phone.
    return _style(figure, height=440).update_layout(margin={"l": 75, "r": 75, "t": 40, "b": 40}, font_size=11)


def latency(document: Document) -> go.Figure:
    headline = document["headline"]
    figure = go.Figure()
    for system in document["systems"]:
        if system["latency"] and headline in system["means"]:
            figure.add_trace(
                go.Scatter(
                    x=[system["latency"]["p50"]],
                    y=[system["means"][headline]["mean"]],
                    mode="markers+text",
                    text=[system["name"]],
                    textposition="top center",
                    marker={"size": 12, "color": _colour(document, system)},
                    name=system["name"],
                    hovertemplate="p50 %{x:.2f} ms, %{y:.4f}<extra></extra>",
                )
            )
    figure.update_xaxes(title="milliseconds (p50)", rangemode="tozero")
    figure.update_yaxes(title=label_of(document, headline))
    figure.update_layout(showlegend=False)
    return _style(figure, height=380)


def differences(document: Document) -> go.Figure | None:
    """Focus minus baseline per question, largest loss first; None if single values were not kept."""
    by_name = {system["name"]: system.get("values", {}) for system in document["systems"]}
    ours = by_name.get(document["focus"], {}).get(document["headline"], {})
    theirs = by_name.get(document["baseline"], {}).get(document["headline"], {})
    if document["focus"] == document["baseline"] or not ours or not theirs:
        return None
    changes = sorted((ours[query] - theirs[query], query) for query in ours if query in theirs)
    texts = document["texts"]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(changes))),
            y=[difference for difference, _ in changes],
            marker_color=[COLOURS[3] if difference < 0 else COLOURS[2] for difference, _ in changes],
            customdata=[str(texts.get(query, query)).replace("<", "‹") for _, query in changes],
            hovertemplate="%{customdata}: %{y:+.3f}<extra></extra>",
        )
    )
    figure.update_xaxes(showticklabels=False, title="questions, the largest loss first")
    return _style(figure, height=320)


def _colour(document: Document, system: Document) -> str:
    """A system has the same colour in every plot."""
    names = [other["name"] for other in document["systems"]]
    return COLOURS[names.index(system["name"]) % len(COLOURS)]


def _radar_systems(document: Document) -> list[Document]:
    """Baseline, focus, and the best of the rest."""
    headline = document["headline"]
    systems = [system for system in document["systems"] if system["name"] in (document["baseline"], document["focus"])]
    rest = [system for system in document["systems"] if system not in systems and headline in system["means"]]
    rest.sort(key=lambda system: -system["means"][headline]["mean"])
    return (systems + rest)[:RADAR_SYSTEMS]


def _shares(document: Document) -> dict[str, str]:
    return {metric["name"]: metric["label"] for metric in document["metrics"] if metric["share"]}


def _style(figure: go.Figure, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13, "color": GREY},
        legend={"orientation": "h", "y": -0.12},
    )
    figure.update_xaxes(gridcolor=FAINT, zerolinecolor=GREY, automargin=True)
    figure.update_yaxes(gridcolor=FAINT, zerolinecolor=GREY, automargin=True)
    return figure


CONFIG = {"responsive": True, "displaylogo": False, "displayModeBar": False}
STYLE = """
:root { color-scheme: light dark; --text: #1b1b1f; --soft: #5c5f66; --paper: #fff; --line: #d9dbe0; --mark: #eef4fb; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8ec; --soft: #a4a8b0; --paper: #16181c; --line: #34373d; --mark: #1f2a38; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--paper); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .5rem 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .25rem; }
p { margin: .25rem 0 .75rem; } .soft { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .35rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } thead th { color: var(--soft); font-weight: 600; }
tr.best td { background: var(--mark); } small { color: var(--soft); }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; }
ol { padding-left: 1.2rem; } li { margin: .6rem 0; overflow-wrap: anywhere; } code { font-size: .9em; }
"""


def page(document: Document) -> str:
    """The whole page as HTML."""
    title = f"Treeline: {document['dataset']}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(document['about'])}, {document['queries']:,} questions.</p>",
        f"<p class=soft>{escape(_provenance(document))}</p>",
        *_tables(document),
    ]
    for name, caption, figure in plots(document):
        plot = to_html(figure, include_plotlyjs=False, full_html=False, config=CONFIG)
        parts += [f"<h2>{escape(name)}</h2>", f"<p class=soft>{escape(caption)}</p>", plot]
    parts += [_worst(document), _facts(document)]
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{escape(title)}</title>"
        f'<meta name=viewport content="width=device-width, initial-scale=1"><style>{STYLE}</style>'
        f"<script>{get_plotlyjs()}</script></head><body>{''.join(parts)}</body></html>\n"
    )


def _provenance(document: Document) -> str:
    commit = document.get("commit") or "no commit"
    note = " with uncommitted changes" if document.get("changed") else ""
    return f"Made {document.get('made', 'just now')} at {commit}{note}."


def _tables(document: Document) -> Iterator[str]:
    for title, head, rows, best in tables(document):
        if title:
            yield f"<h2>{escape(title)}</h2>"
        yield _table(head, [list(map(escape, row)) for row in rows], best)


def _worst(document: Document) -> str:
    items = []
    for case in document["worst"]:
        results = "".join(_location(result) for result in case["returned"])
        items.append(f"<li><b>{case['value']:.3f}</b> {escape(case['query'])}{results}</li>")
    if not items:
        return ""
    caption = f"The worst questions for {escape(document['focus'])}, with what it returned"
    return f"<h2>{caption}</h2><ol>{''.join(items)}</ol>"


def _location(result: Document) -> str:
    where = escape(f"{result['repo']} {result['path']}")
    return f"<div><code>{escape(result['name'])}</code> <small>{where}</small></div>"


def _facts(document: Document) -> str:
    rows = [[escape(name), escape(fact(value))] for name, value in document["facts"].items()]
    notes = "".join(f"<p class=soft>{escape(note)}</p>" for note in document["notes"])
    return f"<h2>What this rests on</h2>{_table((), rows)}{notes}"


def _table(head: Iterable[str], rows: Sequence[Sequence[str]], best: Collection[int] = ()) -> str:
    """A table of cells that are HTML already; the rows with the numbers `best` stand out."""
    headings = "".join(f"<th>{escape(heading)}</th>" for heading in head)
    body = "".join(
        f"<tr{' class=best' if number in best else ''}>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
        for number, row in enumerate(rows)
    )
    return f"<div class=wide><table><thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table></div>"
