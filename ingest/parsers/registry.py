"""Which languages there are, by name and by file suffix."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ingest.parsers import languages
from ingest.parsers.grammar import Grammar


@cache
def grammars() -> dict[str, Grammar]:
    """Every language that has a file in `languages/`, by name."""
    found = {}
    for module in iter_modules(languages.__path__):
        grammar: Grammar = import_module(f"{languages.__name__}.{module.name}").GRAMMAR
        found[grammar.name] = grammar
    return found


@cache
def by_suffix() -> dict[str, Grammar]:
    return {suffix: grammar for grammar in grammars().values() for suffix in grammar.suffixes}
