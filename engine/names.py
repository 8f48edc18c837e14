"""What an index may be called, so that both engines can have it."""

from __future__ import annotations

import re

from corpus.errors import InputError

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


def check_name(name: str) -> str:
    """The name, when it is one."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot be the name of an index",
            "use lower-case letters, digits, dots, dashes and underscores, beginning with a letter or digit",
        )
    return name
