"""Makes the page of settings from their table; `make docs` writes it and a test checks it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from treeline.search.settings import PREFIX, Settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "settings.md"
HEAD = """# Settings

Every setting is an environment variable. This page is made from the table in `search/settings.py` by `make docs`.
Invalid values and unknown names that begin with `TREELINE_` are refused.

| variable | default | what it does |
|---|---|---|
"""


def page() -> str:
    rows = (
        f"| `{PREFIX}{row.name.upper()}` | {format_default(row.default)} | {row.metadata['help']} |\n"
        for row in fields(Settings)
    )
    return HEAD + "".join(rows)


def format_default(default: object) -> str:
    """A value as one writes it in the variable."""
    if isinstance(default, bool):
        return "`yes`" if default else "`no`"
    return f"`{default}`" if default != "" else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
