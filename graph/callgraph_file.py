"""A file of the repository whose call graph is made."""

from __future__ import annotations

from dataclasses import dataclass, field

from treeline.graph.references import Import


@dataclass(slots=True)
class File:
    """Its symbols' nodes by qualified name, and its imports."""

    path: str
    language: str
    nodes: dict[str, int] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
