"""The names that the files of one folder share in Go and Java, where a package is a folder."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from treeline.graph.callgraph_file import File
from treeline.graph.references import CLASSES

PACKAGE_IS_A_FOLDER = frozenset({"go", "java"})


class Packages:
    """The first symbol of each name in a package. They are listed once: a folder may have ten thousand files, and each
    of them asks for the names that it does not define itself."""

    def __init__(self, files: Iterable[File], kinds: Sequence[str]) -> None:
        self._symbols: dict[tuple[str, str, str], int] = {}
        self._classes: dict[tuple[str, str, str], int] = {}
        for file in files:
            if file.language in PACKAGE_IS_A_FOLDER:
                for name, node in file.nodes.items():
                    self._symbols.setdefault(_key(file, name), node)
                    if kinds[node] in CLASSES:
                        self._classes.setdefault(_key(file, name), node)

    def symbol(self, file: File, name: str) -> int | None:
        """What this name is in the package of a file; nothing in other languages."""
        return self._symbols.get(_key(file, name))

    def owner(self, file: File, name: str) -> int | None:
        """The class or interface of this name in the package of a file."""
        return self._classes.get(_key(file, name))


def _key(file: File, name: str) -> tuple[str, str, str]:
    return file.language, posixpath.dirname(file.path), name
