"""From the module of an import to the files of the same repository that it means, language by language."""

from __future__ import annotations

import posixpath
import sys
from collections import defaultdict
from collections.abc import Iterable

SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue")
ROOTS = frozenset({"", "src", "lib", "python", "source", "app"})  # where absolute Python imports usually begin


class Modules:
    """The files of one repository, by what imports call them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = sorted(paths)
        self._known = set(self._paths)
        self._folders: dict[str, list[str]] = defaultdict(list)
        self._tails: dict[str, list[str]] = defaultdict(list)
        for path in self._paths:
            self._folders[posixpath.dirname(path)].append(path)
            self._tails[_stem(path).rpartition("/")[2]].append(path)

    def files(self, language: str, importer: str, module: str) -> list[str]:
        """The files that `module`, imported in the file `importer`, stands for; none when it is from outside."""
        if not module:
            return []
        if language == "python":
            return self._python(importer, module)
        if language in ("javascript", "typescript"):
            return self._script(importer, module)
        if language == "go":
            return self._go(module)
        return self._by_tail(module.replace("\\", ".").replace("/", ".").strip("."))

    def _python(self, importer: str, module: str) -> list[str]:
        if module.startswith("."):
            level = len(module) - len(module.lstrip("."))
            folder = posixpath.dirname(importer)
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            inside = module[level:].replace(".", "/")
            return self._python_file(posixpath.join(folder, inside) if inside else folder)
        tail = module.replace(".", "/")
        beside = posixpath.join(posixpath.dirname(importer), tail)
        standard = module.partition(".")[0] in sys.stdlib_module_names
        found = []
        for path in self._tails.get(tail.rpartition("/")[2], ()):
            stem = _stem(path)
            if stem == tail or stem.endswith("/" + tail):
                root = stem[: len(stem) - len(tail)].rstrip("/")
                # An absolute import begins at a source root: a folder that is no package itself.
                if root in ROOTS or (not standard and (stem == beside or f"{root}/__init__.py" not in self._known)):
                    found.append(path)
        if standard:
            found = [path for path in found if "/" in tail or _stem(path) == tail]
        return _nearest(found, importer)

    def _python_file(self, stem: str) -> list[str]:
        ends = (".py", ".pyi", "/__init__.py", "/__init__.pyi")
        return [path for end in ends if (path := (stem + end).lstrip("/")) in self._known][:1]

    def _script(self, importer: str, module: str) -> list[str]:
        if not module.startswith("."):
            return []
        stem = posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))
        tries = [stem, *(stem + end for end in SCRIPTS), *(f"{stem}/index{end}" for end in SCRIPTS)]
        without_end = posixpath.splitext(stem)
        if without_end[1] in SCRIPTS:  # TypeScript names the compiled file: './a.js' is a.ts
            tries += [without_end[0] + end for end in SCRIPTS]
        return [path for path in tries if path in self._known][:1]

    def _go(self, module: str) -> list[str]:
        parts = module.split("/")
        for start in range(len(parts)):
            folder = "/".join(parts[start:])
            if folder in self._folders:
                return self._folders[folder]
        # The repository's own root: github.com/owner/name has no folder of that name inside.
        return self._folders.get("", []) if len(parts) == 3 and "." in parts[0] else []

    def _by_tail(self, module: str) -> list[str]:
        """Java, PHP, Ruby: the longest end of the dotted name that is the end of a path."""
        parts = module.split(".")
        for start in range(len(parts)):
            tail = "/".join(parts[start:])
            found = [path for path in self._tails.get(parts[-1], ()) if f"/{_stem(path)}".endswith("/" + tail)]
            if found:
                return found if len(found) == 1 else []
        return []


def _stem(path: str) -> str:
    """A path without its suffix, and a package's `__init__` as its folder."""
    return posixpath.splitext(path)[0].removesuffix("/__init__")


def _nearest(paths: list[str], importer: str) -> list[str]:
    """Of several files that a module may mean, the one that shares most of the importer's folders."""
    if len(paths) < 2:
        return paths
    return [max(paths, key=lambda path: (len(posixpath.commonprefix([path, importer])), -len(path)))]
