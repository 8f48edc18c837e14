"""The figures of `treeline bench --scale` as four small charts on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from corpus.errors import InputError


def plot(found: dict[str, Any], file: Path) -> None:
    """Four small charts over the number of functions, as a page of its own."""
    steps = found["steps"]
    if not steps:
        raise InputError("there is nothing to plot", "run `treeline bench --scale` first")
    sizes = [step["functions"] for step in steps]
    titles = ("Answer, ms", "Indexing, functions a second", "Disk, MB", "Memory, MB")
    figure = make_subplots(rows=2, cols=2, subplot_titles=titles)
    for name in ("p50", "p95"):
        times = [step["times"]["hybrid"][name] for step in steps]
        figure.add_trace(go.Scatter(x=sizes, y=times, name=f"hybrid {name}", mode="lines+markers"), 1, 1)
    figure.add_trace(go.Scatter(x=sizes, y=[step["rate"] for step in steps], name="rate"), 1, 2)
    figure.add_trace(go.Scatter(x=sizes, y=[step["disk_mb"] for step in steps], name="disk"), 2, 1)
    for name in ("loader_mb", "searcher_mb"):
        figure.add_trace(go.Scatter(x=sizes, y=[step[name] for step in steps], name=name.removesuffix("_mb")), 2, 2)
    figure.update_xaxes(title_text="functions", rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(title=f"Growth on the {found['engine']} engine", height=700)
    file.write_text(figure.to_html(include_plotlyjs=True, full_html=True), encoding="utf-8")
