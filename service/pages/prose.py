"""Words of the program for people: a message becomes a sentence, what stands in backticks becomes code."""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup, escape

from treeline.service.shown.visible import visible

QUOTED = re.compile(r"`([^`]+)`")
TITLES = {
    "index_missing": "There is nothing to search yet",
    "encoder_mismatch": "The index needs another encoder",
    "engine_unavailable": "The index cannot be reached",
    "not_found": "Not here",
    "too_many_requests": "Slowly, please",
}


def title(code: str, status: int = 500) -> str:
    """What an error's page is headed with."""
    return TITLES.get(code, "Something went wrong" if status >= 500 else "That did not work")


def sentence(text: str) -> Markup:
    """`try `this`` → `Try <code>this</code>.`, escaped."""
    text = visible(text.strip())
    text = text[:1].upper() + text[1:]
    if text and text[-1] not in ".!?…":
        text += "."
    return coded(text)


def coded(text: str, escaped: Callable[[str], Markup] = escape) -> Markup:
    """What stands in backticks as code, the rest as it is, all of it escaped."""
    return Markup("").join(
        Markup("<code>{}</code>").format(escaped(part)) if number % 2 else escaped(part)
        for number, part in enumerate(QUOTED.split(text))
    )
