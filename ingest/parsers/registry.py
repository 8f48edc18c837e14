"""Which languages there are, by name and by file suffix."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from treeline.ingest.parsers import languages
from treeline.ingest.parsers.grammar import Grammar

# Source code that nothing here reads: whoever loads a folder of it is told so.
UNREAD = frozenset(
    """.bash .c .cc .clj .cpp .cs .cxx .dart .erl .ex .exs .f90 .groovy .h .hpp .hs .ipynb .jl .kt .kts .lua .m .ml .mm
    .pl .pm .ps1 .pyi .pyx .r .rs .scala .sh .sql .svelte .swift .vue .zig""".split()
)


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
