"""The figures of `treeline bench --scale` as a picture: four small charts in one SVG, readable without a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import log10
from typing import Any

WIDTH, HEIGHT = 380, 230  # of one chart
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 34, 36
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37")
Step = dict[str, Any]
Series = tuple[str, Callable[[Step], float | None]]  # None: not measured at that step

CHARTS: tuple[tuple[str, Sequence[Series]], ...] = (
    (
        "answer, ms (hybrid)",
        (("p50", lambda step: step["times"]["hybrid"]["p50"]), ("p95", lambda step: step["times"]["hybrid"]["p95"])),
    ),
    ("indexing, functions a second", (("rate", lambda step: step["rate"]),)),
    ("disk, MB", (("disk", lambda step: step["disk_mb"]),)),
    (
        "memory, MB",
        (
            ("loading", lambda step: step["loader_mb"]),
            ("searching", lambda step: step["searcher_mb"]),
            ("server", lambda step: step.get("server_mb")),
        ),
    ),
)


def svg(found: dict[str, Any]) -> str:
    """All charts over the number of functions."""
    steps = found["steps"]
    charts = [
        f'<g transform="translate({number % 2 * WIDTH} {number // 2 * HEIGHT})">{chart(title, series, steps)}</g>'
        for number, (title, series) in enumerate(CHARTS)
    ]
    size = f'width="{2 * WIDTH}" height="{2 * HEIGHT}" viewBox="0 0 {2 * WIDTH} {2 * HEIGHT}"'
    style = 'font-family="sans-serif" font-size="11"'
    label = escape(f"Growth on the {found['engine']} engine")
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img" aria-label="{label}">'
        f"{background}{''.join(charts)}</svg>\n"
    )


def chart(title: str, series: Sequence[Series], steps: Sequence[Step]) -> str:
    sizes = [step["functions"] for step in steps]
    every = {name: [value(step) for step in steps] for name, value in series}
    values = {name: row for name, row in every.items() if any(value is not None for value in row)}
    across, up = nice(max(sizes)), nice(max(value for row in values.values() for value in row if value is not None))

    def x(size: float) -> float:
        return LEFT + size / across * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / up * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="16" font-weight="bold">{escape(title)}</text>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        height = y(up * share)
        parts.append(f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{short(up * share)}</text>')
        parts.append(
            f'<text x="{x(across * share):.1f}" y="{HEIGHT - 18}" text-anchor="middle">{short(across * share)}</text>'
        )
    for number, (name, row) in enumerate(values.items()):
        colour = COLOURS[number]
        points = [(x(size), y(value)) for size, value in zip(sizes, row, strict=True) if value is not None]
        line = " ".join(f"{left:.1f},{top:.1f}" for left, top in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{colour}"/>' for left, top in points]
        if len(values) > 1:
            parts.append(
                f'<text x="{WIDTH - RIGHT - 70 * (len(values) - number) + 10}" y="16" fill="{colour}">{name}</text>'
            )
    return "".join(parts)


def nice(most: float) -> float:
    """The next of 1, 2, 4, 5, 10 times a power of ten."""
    if most <= 0:
        return 1.0
    power = 10.0 ** int(log10(most)) if most >= 1 else 1.0
    return next(step * power for step in (1, 2, 4, 5, 10) if step * power >= most)


def short(value: float) -> str:
    """`250000` as `250k`."""
    for limit, sign in ((1_000_000, "M"), (1_000, "k")):
        if value >= limit:
            return f"{value / limit:g}{sign}"
    return f"{value:g}"
