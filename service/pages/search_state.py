"""The state of a search, which is its page's address: what of it is known, and links that keep it or change it."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import request

from treeline.corpus.errors import InputError
from treeline.search.query import parse

# What the address of a search may carry; `map` is the script's.
SWITCHES = ("mode", "rerank", "fusion", "expand", "callees", "as_typed", "feedback")
STATE = ("q", *SWITCHES, "language", "repo", "path", "page")
SCRIPTS = ("map",)
DEFAULTS = {
    "mode": "hybrid",
    "rerank": "default",
    "fusion": "default",
    "expand": "false",
    "callees": "false",
    "as_typed": "false",
    "feedback": "true",
    "page": "1",
}
MOST_NAMED = 5  # parameters that are told to be unknown


def asked_state() -> dict[str, str]:
    """What this request's address says of a search; a filter in the question is set like one of the page's own, and
    takes the place of what was set before it was typed."""
    state = {name: request.args.get(name, "").strip() for name in STATE}
    try:
        said = parse(state["q"])
    except InputError:  # told to whoever asks the question
        return state
    if not said.words:
        return state
    filters = {"language": said.filters.language, "repo": said.filters.repo, "path": said.filters.path_prefix}
    return state | {"q": said.text} | {name: value for name, value in filters.items() if value}


def unknown_parameters() -> list[str]:
    """What it carries and no search has: left out of the question and of all links, and told."""
    return [name for name in request.args if name not in STATE + SCRIPTS][:MOST_NAMED]


def link(state: dict[str, str], **change: str | int) -> str:
    """The search with some of its state changed; back to page 1 unless the page is what changes."""
    return "/search?" + in_address({**state, "page": ""} | {name: str(value) for name, value in change.items()})


def in_address(state: dict[str, str]) -> str:
    """As the query of an address, without what is so anyway."""
    return urlencode({name: value for name, value in state.items() if value and DEFAULTS.get(name) != value})
