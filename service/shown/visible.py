"""Untrusted text made safe to look at: characters that hide or reorder text are shown, links lead only to the web."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import urlsplit

# Controls but tab and newline, bidirectional controls, zero-width and other characters that nobody can see.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
WEB = frozenset({"http", "https"})


def code_point(character: str) -> str:
    return f"U+{ord(character):04X}"


def described(character: str) -> str:
    """`U+202E RIGHT-TO-LEFT OVERRIDE`"""
    return f"{code_point(character)} {unicodedata.name(character, 'CONTROL')}"


def visible(text: str) -> str:
    """The text with every hidden character written out as `[U+202E]`; still to be escaped for HTML.

    Nothing is left that moves a terminal's cursor, reads otherwise than it runs, or speaks to an agent alone.
    """
    return INVISIBLE.sub(lambda match: f"[{code_point(match[0])}]", text.replace("\r\n", "\n"))


def web_address(url: str) -> str:
    """The URL when it leads to the web, else nothing: no `javascript:`, `data:` or `file:` becomes a link."""
    if INVISIBLE.search(url) or url != url.strip():
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in WEB and parts.netloc else ""
