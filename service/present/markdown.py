"""Renders a repository's Markdown as safe HTML: no raw HTML, no images, links only to the web and to the repository's
own files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from treeline.service.present.text import visible, web_address

LONGEST = 30_000  # characters; the rest is not shown
TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>]*>", re.DOTALL)


def render_markdown(text: str, file_address: Callable[[str], str], folder: str = "") -> Markup:
    """The HTML of a document in `folder`. `file_address` returns the page of a path of the repository."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    for rule in ("html_block", "html_inline"):
        markdown.add_render_rule(rule, _without_tags)
    markdown.add_render_rule("image", _image)
    tokens = markdown.parse(visible(text[:LONGEST]))
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                _point(child, file_address, folder)
        if token.type.startswith("heading"):  # the page has its own h1 and h2
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    html = markdown.renderer.render(tokens, markdown.options, {})
    return Markup(html)  # noqa: S704 - the renderer escapes text, tags are left out, links are checked


def _point(link: Token, file_address: Callable[[str], str], folder: str) -> None:
    """Keep a link to the web, turn a relative one into the file's page, and drop any other."""
    href = str(link.attrs.get("href", ""))
    link.attrs = {}
    if address := web_address(href):
        link.attrs = {"href": address, "rel": "noopener noreferrer nofollow"}
        return
    try:
        parts = urlsplit(href)
    except ValueError:
        return
    if parts.scheme or parts.netloc or not parts.path:
        return
    path = posixpath.normpath(posixpath.join("/", folder, unquote(parts.path))).lstrip("/")
    if path != ".":
        link.attrs = {"href": file_address(path)}


def _without_tags(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    text = TAG.sub("", tokens[at].content).strip("\n")
    return str(escape(text)) if text.strip() else ""


def _image(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    """The image's description, because pages load nothing from other sites."""
    return str(escape(tokens[at].content))
