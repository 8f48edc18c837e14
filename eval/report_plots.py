"""The pictures of an evaluation's page: bars with intervals, radar, quality against latency, per-query differences."""

from __future__ import annotations

from collections.abc import Iterator

import plotly.graph_objects as go  # type: ignore[import-untyped]

from treeline.eval.summary import Document

# Okabe & Ito's colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C8C8C")
# A radar of more systems is a tangle.
RADAR_SYSTEMS = 5
GREY = "#888888"
FAINT = "rgba(136,136,136,.25)"


def plots(document: Document) -> Iterator[tuple[str, str, go.Figure]]:
    """Title, one sentence on how to read it, and the figure; only those that the document has numbers for."""
    label = _labels(document)[document["headline"]]
    yield f"{label} by system", "The lines are 95 % bootstrap intervals over the questions.", bars(document)
    if len(document["systems"]) > 1 and len(_shares(document)) > 2:
        yield "All measures", "Further out is better; every axis runs from 0 to 1.", radar(document)
    if any(system["latency"] for system in document["systems"]):
        yield "Quality against time", "Up is better, left is faster (median of one question).", latency(document)
    difference = differences(document)
    if difference is not None:
        told = f"{document['focus']} minus {document['baseline']}, question by question: above zero it won."
        yield "Where it wins and loses", told, difference


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
    return _styled(figure, height=90 + 34 * len(systems))


def radar(document: Document) -> go.Figure:
    shares = _shares(document)
    corners = [label.replace(", ", "<br>") for label in shares.values()]
    figure = go.Figure()
    for system in _chosen(document):
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
    # Labels stand around the figure and are not part of its width: leave them room, also on a phone.
    return _styled(figure, height=440).update_layout(margin={"l": 75, "r": 75, "t": 40, "b": 40}, font_size=11)


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
    figure.update_yaxes(title=_labels(document)[headline])
    figure.update_layout(showlegend=False)
    return _styled(figure, height=380)


def differences(document: Document) -> go.Figure | None:
    """Focus minus baseline, largest loss first; None when values per question were not kept."""
    by_name = {system["name"]: system.get("values", {}) for system in document["systems"]}
    ours = by_name.get(document["focus"], {}).get(document["headline"], {})
    theirs = by_name.get(document["baseline"], {}).get(document["headline"], {})
    if document["focus"] == document["baseline"] or not ours or not theirs:
        return None
    moved = sorted((ours[query] - theirs[query], query) for query in ours if query in theirs)
    texts = document["texts"]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(moved))),
            y=[difference for difference, _ in moved],
            marker_color=[COLOURS[3] if difference < 0 else COLOURS[2] for difference, _ in moved],
            customdata=[str(texts.get(query, query)).replace("<", "‹") for _, query in moved],
            hovertemplate="%{customdata}: %{y:+.3f}<extra></extra>",
        )
    )
    figure.update_xaxes(showticklabels=False, title="questions, the largest loss first")
    return _styled(figure, height=320)


def _colour(document: Document, system: Document) -> str:
    """A system wears the same colour in every picture."""
    names = [other["name"] for other in document["systems"]]
    return COLOURS[names.index(system["name"]) % len(COLOURS)]


def _chosen(document: Document) -> list[Document]:
    """Baseline and focus, and the best of the rest."""
    headline = document["headline"]
    named = [system for system in document["systems"] if system["name"] in (document["baseline"], document["focus"])]
    rest = [system for system in document["systems"] if system not in named and headline in system["means"]]
    rest.sort(key=lambda system: -system["means"][headline]["mean"])
    return (named + rest)[:RADAR_SYSTEMS]


def _shares(document: Document) -> dict[str, str]:
    return {metric["name"]: metric["label"] for metric in document["metrics"] if metric["share"]}


def _labels(document: Document) -> dict[str, str]:
    return {metric["name"]: metric["label"] for metric in document["metrics"]}


def _styled(figure: go.Figure, height: int) -> go.Figure:
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
