"""The benchmarks' pictures as SVG: growth in four charts, and encoders by quality and speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from treeline.encoder.protocol import ONNX

WIDTH, HEIGHT = 380, 230  # of one chart
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 34, 36
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#9a6700", "#57606a")
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


def scale_svg(found: dict[str, Any]) -> str:
    """All charts over the number of functions."""
    return growth_svg(f"Growth on the {found['engine']} engine", CHARTS, found["steps"])


def growth_svg(label: str, charts: Sequence[tuple[str, Sequence[Series]]], steps: Sequence[Step]) -> str:
    """Charts in two columns over the number of units."""
    parts = [
        f'<g transform="translate({number % 2 * WIDTH} {number // 2 * HEIGHT})">{chart(title, series, steps)}</g>'
        for number, (title, series) in enumerate(charts)
    ]
    height = -(-len(charts) // 2) * HEIGHT
    size = f'width="{2 * WIDTH}" height="{height}" viewBox="0 0 {2 * WIDTH} {height}"'
    style = 'font-family="sans-serif" font-size="11"'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img" aria-label="{escape(label)}">'
        f"{background}{''.join(parts)}</svg>\n"
    )


def chart(title: str, series: Sequence[Series], steps: Sequence[Step]) -> str:
    sizes = [step["functions"] for step in steps]
    every = {name: [value(step) for step in steps] for name, value in series}
    values = {name: row for name, row in every.items() if any(value is not None for value in row)}
    every_value = [value for row in values.values() for value in row if value is not None]
    across, up = nice(max(sizes)), nice(max(every_value, default=0))

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
        line = " ".join(f"{rest:.1f},{top:.1f}" for rest, top in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{rest:.1f}" cy="{top:.1f}" r="3" fill="{colour}"/>' for rest, top in points]
        if len(values) > 1:
            parts.append(
                f'<text x="{WIDTH - RIGHT - 70 * (len(values) - number) + 10}" y="16" fill="{colour}">{name}</text>'
            )
    return "".join(parts)


def nice(most: float) -> float:
    """The next round number: 1, 2, 4, 5 or 10 times a power of ten."""
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


# The chart of encoders: one dot each, names on the right.
DOTS_WIDTH, DOTS_HEIGHT = 660, 340
DOTS_LEFT, DOTS_RIGHT, DOTS_TOP, DOTS_BOTTOM = 56, 190, 20, 44


def display_name(name: str) -> str:
    """An encoder's name without its folder, with `int8` if it is one."""
    short = Path(name.removeprefix(ONNX)).name
    return f"{short}, int8" if name.startswith(ONNX) else short


def encoders_svg(found: dict[str, Any]) -> str:
    """Mean quality over all sets (up is better) against functions per second (right is faster)."""
    points: list[tuple[str, float, float]] = [
        (
            display_name(row["encoder"]),
            row["functions_a_second"],
            sum(one["mean"] for one in row["quality"].values()) / len(row["quality"]),
        )
        for row in found["encoders"]
    ]
    first, last = floor(log10(min(rate for _, rate, _ in points))), ceil(log10(max(rate for _, rate, _ in points)))
    last = max(last, first + 1)
    low, high = (floor(min(y for *_, y in points) * 20) - 1) / 20, (ceil(max(y for *_, y in points) * 20) + 1) / 20

    def x(rate: float) -> float:
        return DOTS_LEFT + (log10(rate) - first) / (last - first) * (DOTS_WIDTH - DOTS_LEFT - DOTS_RIGHT)

    def y(quality: float) -> float:
        return DOTS_HEIGHT - DOTS_BOTTOM - (quality - low) / (high - low) * (DOTS_HEIGHT - DOTS_TOP - DOTS_BOTTOM)

    parts = ['<rect width="100%" height="100%" fill="#fff"/>']
    for step in range(round((high - low) * 20) + 1):
        value = low + step / 20
        parts.append(f'<path d="M{DOTS_LEFT} {y(value):.1f}H{DOTS_WIDTH - DOTS_RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{DOTS_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for power in range(first, last + 1):
        parts.append(f'<path d="M{x(10**power):.1f} {DOTS_TOP}V{DOTS_HEIGHT - DOTS_BOTTOM}" stroke="#ddd"/>')
        position = f'x="{x(10**power):.1f}" y="{DOTS_HEIGHT - DOTS_BOTTOM + 16}" text-anchor="middle"'
        parts.append(f"<text {position}>{short(10**power)}</text>")
    for number, (name, rate, quality) in enumerate(points):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<circle cx="{x(rate):.1f}" cy="{y(quality):.1f}" r="6" fill="{colour}"/>')
        position = f'x="{DOTS_WIDTH - DOTS_RIGHT + 14}" y="{DOTS_TOP + 10 + 18 * number}"'
        parts.append(f'<text {position} fill="{colour}">{escape(name)} {quality:.3f}</text>')
    middle = (DOTS_LEFT + DOTS_WIDTH - DOTS_RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{DOTS_HEIGHT - 8}" text-anchor="middle">functions read in a second</text>')
    parts.append(f'<text x="{DOTS_LEFT}" y="13">mean of {escape(", ".join(found["questions"]))}</text>')
    size = f'width="{DOTS_WIDTH}" height="{DOTS_HEIGHT}" viewBox="0 0 {DOTS_WIDTH} {DOTS_HEIGHT}"'
    label = "Quality of encoders against the functions they read in a second"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>\n'
    )
