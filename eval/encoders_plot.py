"""Quality against speed as a picture: one dot an encoder, the speed on a logarithmic axis."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10

from treeline.eval.encoders import Found, shown
from treeline.eval.scale_plot import short

COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#9a6700", "#57606a")
WIDTH, HEIGHT = 660, 340
LEFT, RIGHT, TOP, BOTTOM = 56, 190, 20, 44


def svg(found: Found) -> str:
    """The mean over all sets of questions (up is better) over functions a second (right is faster)."""
    points: list[tuple[str, float, float]] = [
        (
            shown(row["encoder"]),
            row["functions_a_second"],
            sum(one["mean"] for one in row["quality"].values()) / len(row["quality"]),
        )
        for row in found["encoders"]
    ]
    first, last = floor(log10(min(rate for _, rate, _ in points))), ceil(log10(max(rate for _, rate, _ in points)))
    last = max(last, first + 1)
    low, high = (floor(min(y for *_, y in points) * 20) - 1) / 20, (ceil(max(y for *_, y in points) * 20) + 1) / 20

    def x(rate: float) -> float:
        return LEFT + (log10(rate) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(quality: float) -> float:
        return HEIGHT - BOTTOM - (quality - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = ['<rect width="100%" height="100%" fill="#fff"/>']
    for step in range(round((high - low) * 20) + 1):
        value = low + step / 20
        parts.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for power in range(first, last + 1):
        parts.append(f'<path d="M{x(10**power):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        place = f'x="{x(10**power):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"'
        parts.append(f"<text {place}>{short(10**power)}</text>")
    for number, (name, rate, quality) in enumerate(points):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<circle cx="{x(rate):.1f}" cy="{y(quality):.1f}" r="6" fill="{colour}"/>')
        place = f'x="{WIDTH - RIGHT + 14}" y="{TOP + 10 + 18 * number}"'
        parts.append(f'<text {place} fill="{colour}">{escape(name)} {quality:.3f}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">functions read in a second</text>')
    parts.append(f'<text x="{LEFT}" y="13">mean of {escape(", ".join(found["questions"]))}</text>')
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    label = "Quality of encoders against the functions they read in a second"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>\n'
    )
