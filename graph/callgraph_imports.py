"""What an imported name stands for: a symbol or a module of the same repository, or something from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.callgraph_classes import ONE_SCOPE, Classes, File, last_of
from graph.callgraph_modules import Modules
from graph.callgraph_names import dialect
from graph.references import Import

IMPORTED = "import"
PASSES = 5  # files that a name may be handed on through (`from .url import parse_url` in a package's `__init__`)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a dotted name has led to so far: symbols, or files when it is a module."""

    nodes: Sequence[int] = ()
    files: Sequence[File] = ()
    how: str = ""
    outside: bool = False  # imported, and not from this repository


class Imports:
    """The imports of one repository."""

    def __init__(self, files: Mapping[str, File], modules: Modules, classes: Classes) -> None:
        self._files, self._modules, self._classes = files, modules, classes
        self._aliases = {
            path: {seen.alias: seen for seen in file.imports if seen.alias} for path, file in files.items()
        }

    def find(self, file: File, name: str, passes: int = PASSES) -> Scope | None:
        """What `name` was imported as in this file; nothing when it was not."""
        seen = self._aliases[file.path].get(name)
        if seen is not None:
            return self._meaning(file, seen, passes)
        for star in file.imports:
            if star.name == "*" and passes:
                for module in self._module(file, star.module):
                    found = self.exported(module, name, passes - 1)
                    if found is not None and not found.outside:
                        return found
        return self._package(file, name, passes) if file.language == "python" else None

    def exported(self, module: File, name: str, passes: int = PASSES) -> Scope | None:
        """A symbol that a module defines or hands on."""
        node = module.nodes.get(name)
        if node is not None:
            return Scope((node,), how=IMPORTED)
        return self.find(module, name, passes) if passes else None

    def submodule(self, package: File, name: str) -> list[File]:
        """`package.name` where that is a file and not a symbol (Python)."""
        if package.language != "python" or not package.path.endswith("__init__.py"):
            return []
        return self._module(package, "." + name)

    def _package(self, file: File, name: str, passes: int) -> Scope | None:
        """`import a.b` binds `a`; what follows is looked for inside it."""
        dotted = [seen for seen in file.imports if not seen.name and seen.alias.startswith(name + ".")]
        if not dotted:
            return None
        files = self._module(file, name)
        return Scope(files=files, how=IMPORTED) if files else self._meaning(file, dotted[0], passes)

    def _meaning(self, file: File, seen: Import, passes: int) -> Scope:
        files = self._module(file, seen.module)
        if not seen.name:
            if files:
                return Scope(self._default(file, files, seen.alias), files, IMPORTED)
            return self._class(file, last_of(seen.module))
        for module in files:
            found = self.exported(module, seen.name, passes - 1) if passes else None
            if found is not None:
                return Scope(found.nodes, found.files, IMPORTED, found.outside)
        if seen.name == "default" and files:
            return Scope(self._default(file, files, seen.alias), files, IMPORTED)
        inside = self._module(file, seen.module + ("" if seen.module.endswith(".") else ".") + seen.name)
        if inside:
            # Java and PHP import a class by the name of its file; Python may mean the file itself.
            return Scope([module.nodes[seen.name] for module in inside if seen.name in module.nodes], inside, IMPORTED)
        return self._class(file, seen.name)

    def _class(self, file: File, name: str) -> Scope:
        """PHP and Ruby name the class and not the file; elsewhere an import that leads nowhere is from outside."""
        found = self._classes.named(name) if file.language in ONE_SCOPE else ()
        return Scope(found, how=IMPORTED) if len(found) == 1 else Scope(outside=True)

    def _default(self, file: File, files: Sequence[File], alias: str) -> Sequence[int]:
        """What a script's module is when it is called itself: the symbol of that name, or its only one."""
        if dialect(file.language) != "javascript":
            return ()
        top = {name: node for module in files for name, node in module.nodes.items() if name and "." not in name}
        if alias in top:
            return (top[alias],)
        return tuple(top.values()) if len(top) == 1 else ()

    def _module(self, file: File, module: str) -> list[File]:
        return [self._files[path] for path in self._modules.files(file.language, file.path, module)]
