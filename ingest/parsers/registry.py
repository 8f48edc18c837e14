"""Which languages there are, by name and by file suffix."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ingest.parsers import languages
from ingest.parsers.grammar import Grammar


@cache
def _all() -> tuple[Grammar, ...]:
    modules = (import_module(f"{languages.__name__}.{module.name}") for module in iter_modules(languages.__path__))
    return tuple(grammar for module in modules for grammar in module.GRAMMARS)


@cache
def grammars() -> dict[str, Grammar]:
    """Every language that has a file in `languages/`, by name (a dialect comes after its language)."""
    found: dict[str, Grammar] = {}
    for grammar in _all():
        found.setdefault(grammar.name, grammar)
    return found


@cache
def by_suffix() -> dict[str, Grammar]:
    return {suffix: grammar for grammar in _all() for suffix in grammar.suffixes}
