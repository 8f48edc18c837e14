"""Resolves imported names: to a symbol or file of the same repository, or to something outside it."""

from __future__ import annotations

import posixpath
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from treeline.corpus.frozen import frozen
from treeline.graph.callgraph.classes import ONE_SCOPE, Classes, File
from treeline.graph.callgraph.storage import BY_IMPORT
from treeline.graph.references import Import, last_of

RUST_ROOTS = ("mod.rs", "lib.rs", "main.rs")
RUST_PATHS = frozenset({"crate", "super"})
INNER_CLASSES = frozenset({"java", "kotlin"})  # imported by the name of the outer class
PASSES = 5  # re-exports that are followed (`from .url import parse_url` in a package's `__init__`)


@frozen
class Scope:
    """The meaning of a dotted name so far: symbols, or the files of a module."""

    nodes: Sequence[int] = ()
    files: Sequence[File] = ()
    how: str = ""
    outside: bool = False  # imported, and not from this repository


class Imports:
    """The imports of one repository."""

    def __init__(self, files: Mapping[str, File], modules: Modules, classes: Classes) -> None:
        self._files, self._modules, self._classes = files, modules, classes
        # Made for a file when it is first needed, because after an edit few are.
        self._by_alias: dict[str, dict[str, Import]] = {}
        self._dotted: dict[str, list[Import]] = {}
        self._star_modules: dict[str, list[File]] = {}
        self._through_stars: dict[tuple[str, str, int], Scope | None] = {}

    def find(self, file: File, name: str, passes: int = PASSES) -> Scope | None:
        """The meaning of an imported name in this file; None if it is not imported."""
        entry = self._aliases(file).get(name)
        if entry is not None:
            return self._meaning(file, entry, passes)
        return self._star_import(file, name, passes) or self._package(file, name, passes)

    def _aliases(self, file: File) -> dict[str, Import]:
        aliases = self._by_alias.get(file.path)
        if aliases is None:
            aliases = self._by_alias[file.path] = {entry.alias: entry for entry in file.imports if entry.alias}
        return aliases

    def export(self, module: File, name: str, passes: int = PASSES) -> Scope | None:
        """A symbol that a module defines or re-exports."""
        node = module.nodes.get(name)
        if node is not None:
            return Scope((node,), how=BY_IMPORT)
        return self.find(module, name, passes) if passes else None

    def rust_path(self, file: File, parts: Sequence[str]) -> tuple[Scope, int] | None:
        """The meaning of a path such as `crate::routing::get`, and how many parts after the first it used."""
        for length in range(len(parts), 0, -1):
            module = self._rust_module(file, parts[:length])
            if module is not None and length == len(parts):
                return Scope(files=(module,), how=BY_IMPORT), length - 1
            if module is not None:
                return self.export(module, parts[length]) or Scope(outside=True), length
        return None

    def _rust_module(self, file: File, parts: Sequence[str]) -> File | None:
        if parts[0] in RUST_PATHS:
            modules = self._module(file, ".".join(parts))
        else:
            scope = self.find(file, parts[0])
            return scope.files[0] if scope is not None and scope.files and len(parts) == 1 else None
        return modules[0] if modules else None

    def submodule(self, package: File, name: str) -> list[File]:
        """The file of `package.name` (Python)."""
        if package.language != "python" or not package.path.endswith("__init__.py"):
            return []
        return self._module(package, "." + name)

    def _star_import(self, file: File, name: str, passes: int) -> Scope | None:
        """The symbol that a star import binds to this name. It may shadow a built-in.

        Cached by the number of passes left, because modules that star-import each other repeat the same lookups.
        """
        modules = self._star_imported(file)
        if not modules or not passes:
            return None
        key = (file.path, name, passes)
        if key not in self._through_stars:
            scopes = (self._own(module, name, passes - 1) for module in modules)
            self._through_stars[key] = next((scope for scope in scopes if scope and not scope.outside), None)
        return self._through_stars[key]

    def elixir_module(self, file: File, own: int | None, parts: Sequence[str]) -> tuple[Scope, int]:
        """The module that an expression begins with, by its whole name, an alias or as one inside its own, and how many
        parts the name has."""
        count = next((at for at, part in enumerate(parts) if not part[:1].isupper()), len(parts))
        entry = self._aliases(file).get(parts[0])
        whole = ".".join([entry.module if entry else parts[0], *parts[1:count]])
        nodes = (self._classes.inner_classes(own, whole) if own is not None else ()) or self._classes.by_full_name(
            whole
        )
        return Scope(nodes[:1], how=BY_IMPORT) if nodes else Scope(outside=True), count

    def elixir_function(self, file: File, name: str) -> Scope | None:
        """The function of an imported module that a bare call reaches."""
        modules = (
            node for entry in file.imports if entry.name == "*" for node in self._classes.by_full_name(entry.module)
        )
        function = next((member for node in modules if (member := self._classes.member(node, name)) is not None), None)
        return None if function is None else Scope((function,), how=BY_IMPORT)

    def _own(self, module: File, name: str, passes: int) -> Scope | None:
        """A symbol that a module itself defines or imports by name."""
        node = module.nodes.get(name)
        if node is not None:
            return Scope((node,), how=BY_IMPORT)
        entry = self._aliases(module).get(name)
        return self._meaning(module, entry, passes) if entry else self._package(module, name, passes)

    def _star_imported(self, file: File) -> list[File]:
        """All files that this one star-imports, directly or through others, nearest first."""
        if file.path not in self._star_modules:
            modules = {file.path: file}
            waiting = deque(self._all_of(file))
            while waiting:
                module = waiting.popleft()
                if module.path not in modules:
                    modules[module.path] = module
                    waiting += self._all_of(module)
            self._star_modules[file.path] = list(modules.values())[1:]
        return self._star_modules[file.path]

    def _all_of(self, file: File) -> list[File]:
        return [module for entry in file.imports if entry.name == "*" for module in self._module(file, entry.module)]

    def _package(self, file: File, name: str, passes: int) -> Scope | None:
        """Python's `import a.b` binds `a`; the rest of the name is looked up inside it."""
        if file.language != "python":
            return None
        dotted = self._dotted.get(file.path)
        if dotted is None:
            dotted = [entry for entry in file.imports if not entry.name and "." in entry.alias]
            self._dotted[file.path] = dotted
        entries = [entry for entry in dotted if entry.alias.startswith(name + ".")]
        if not entries:
            return None
        files = self._module(file, name)
        return Scope(files=files, how=BY_IMPORT) if files else self._meaning(file, entries[0], passes)

    def _meaning(self, file: File, entry: Import, passes: int) -> Scope:
        files = self._module(file, entry.module)
        if not entry.name:
            if files:
                return Scope(self._default(file, files, entry.alias), files, BY_IMPORT)
            return self._class(file, last_of(entry.module))
        for module in files:
            scope = self.export(module, entry.name, passes - 1) if passes else None
            if scope is not None:
                return Scope(scope.nodes, scope.files, BY_IMPORT, scope.outside)
        for module in files if file.language in INNER_CLASSES else ():
            node = module.nodes.get(f"{last_of(entry.module)}.{entry.name}")
            if node is not None:
                return Scope((node,), how=BY_IMPORT)
        if entry.name == "default" and files:
            return Scope(self._default(file, files, entry.alias), files, BY_IMPORT)
        inside = self._module(file, entry.module + ("" if entry.module.endswith(".") else ".") + entry.name)
        if inside:
            # Java and PHP import a class by its file's name; in Python it may be the file itself.
            return Scope(
                [module.nodes[entry.name] for module in inside if entry.name in module.nodes], inside, BY_IMPORT
            )
        return self._class(file, entry.name, entry.module)

    def _class(self, file: File, name: str, module: str = "") -> Scope:
        """PHP and Ruby import the class, not the file. Elsewhere an import that does not resolve is from outside."""
        if file.language == "kotlin":  # a file may have any name, and hold functions
            top = {
                other.path: node
                for node in self._classes.with_last(name)
                if (other := self._classes.file_of[node]).language == "kotlin" and name in other.nodes
            }
            folder = "/" + module.replace(".", "/")
            inside = [node for path, node in top.items() if f"/{posixpath.dirname(path)}".endswith(folder)]
            nodes: Sequence[int] = inside or (list(top.values()) if len(top) == 1 else [])
            return Scope(nodes[:1], how=BY_IMPORT) if len(nodes) == 1 else Scope(outside=not inside)
        nodes = self._classes.by_name(name) if file.language in ONE_SCOPE else ()
        return Scope(nodes, how=BY_IMPORT) if len(nodes) == 1 else Scope(outside=True)

    def _default(self, file: File, files: Sequence[File], alias: str) -> Sequence[int]:
        """The default export of a script's module: the symbol of the alias's name, or its only symbol."""
        if dialect(file.language) != "javascript":
            return ()
        top = {name: node for module in files for name, node in module.nodes.items() if name and "." not in name}
        if alias in top:
            return (top[alias],)
        return tuple(top.values()) if len(top) == 1 else ()

    def _module(self, file: File, module: str) -> list[File]:
        return [self._files[path] for path in self._modules.files(file.language, file.path, module)]


SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue")
ROOTS = frozenset({"", "src", "lib", "python", "source", "app"})  # where absolute Python imports usually begin


class Modules:
    """Finds the files of one repository by the module names that imports use."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = sorted(paths)
        self._known = set(self._paths)
        self._folders: dict[str, list[str]] = defaultdict(list)
        self._tails: dict[str, list[str]] = defaultdict(list)
        for path in self._paths:
            self._folders[posixpath.dirname(path)].append(path)
            self._tails[_stem(path).rpartition("/")[2]].append(path)

    def files(self, language: str, importer: str, module: str) -> list[str]:
        """The files of `module` as the file `importer` imports it; none if it is from outside."""
        rules = {"python": self._python, "javascript": self._script, "rust": self._rust, "dart": self._dart}
        if not module or language == "go":
            return self._go(module) if module else []
        if rule := rules.get(dialect(language)):
            return rule(importer, module)
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
        sibling = posixpath.join(posixpath.dirname(importer), tail)
        standard = module.partition(".")[0] in sys.stdlib_module_names
        paths = []
        for path in self._tails.get(tail.rpartition("/")[2], ()):
            stem = _stem(path)
            if stem == tail or stem.endswith("/" + tail):
                root = stem[: len(stem) - len(tail)].rstrip("/")
                # An absolute import starts at a source root: a folder that is not itself a package.
                if root in ROOTS or (not standard and (stem == sibling or f"{root}/__init__.py" not in self._known)):
                    paths.append(path)
        if standard:
            paths = [path for path in paths if "/" in tail or _stem(path) == tail]
        return _nearest(paths, importer)

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

    def _rust(self, importer: str, module: str) -> list[str]:
        """A module path from the crate's root, from this module, or from another crate of the repository."""
        parts = module.split(".")
        folder, name = posixpath.split(importer)
        here = folder if name in RUST_ROOTS else importer.removesuffix(".rs")
        if parts[0] == "crate":
            base = self._crate(folder)
        elif parts[0] in ("self", "super"):
            base = here
        else:
            names = (parts[0], parts[0].replace("_", "-"))
            crates = [path for path in self._tails.get("lib", ()) if path.endswith("src/lib.rs")]
            matches = [path for path in crates if posixpath.dirname(path).split("/")[-2:-1] in ([one] for one in names)]
            base = posixpath.dirname(matches[0]) if len(matches) == 1 else None
            inside = posixpath.join(here, parts[0])
            if base is None and (f"{inside}.rs" in self._known or f"{inside}/mod.rs" in self._known):
                base, parts = here, ["self", *parts]
        if base is None:
            return []
        for part in parts:
            if part == "super":
                base = posixpath.dirname(base)
        stem = posixpath.join(base, *(part for part in parts[1:] if part not in ("self", "super")))
        tries = [f"{stem}.rs", *(posixpath.join(stem, root) for root in RUST_ROOTS)]
        return [path for path in tries if path in self._known][:1]

    def _dart(self, importer: str, module: str) -> list[str]:
        """A path from the importing file, or from the `lib` folder of a package of the repository."""
        if module.startswith("dart:"):
            return []
        if not module.startswith("package:"):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))
            return [path] if path in self._known else []
        package, _, inside = module.removeprefix("package:").partition("/")
        stem = posixpath.splitext(inside)[0].rpartition("/")[2]
        paths = [path for path in self._tails.get(stem, ()) if f"/{path}".endswith(f"/lib/{inside}")]
        by_name = [path for path in paths if f"/{path}".endswith(f"/{package}/lib/{inside}")]
        # A package may be in a folder of another name.
        return next((one for one in (by_name, paths) if len(one) == 1), [])

    def _crate(self, folder: str) -> str | None:
        """The folder of the crate's root."""
        while True:
            if any(posixpath.join(folder, root) in self._known for root in ("lib.rs", "main.rs")):
                return folder
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    def _go(self, module: str) -> list[str]:
        parts = module.split("/")
        for start in range(len(parts)):
            folder = "/".join(parts[start:])
            if folder in self._folders:
                return self._folders[folder]
        # The repository's root package: github.com/owner/name is not a folder inside it.
        return self._folders.get("", []) if len(parts) == 3 and "." in parts[0] else []

    def _by_tail(self, module: str) -> list[str]:
        """Java, PHP, Ruby: the files whose path ends in the longest possible tail of the dotted name."""
        parts = module.split(".")
        for start in range(len(parts)):
            tail = "/".join(parts[start:])
            paths = [path for path in self._tails.get(parts[-1], ()) if f"/{_stem(path)}".endswith("/" + tail)]
            if paths:
                return paths if len(paths) == 1 else []
        return []


def _stem(path: str) -> str:
    """A path without its suffix; for a package's `__init__`, its folder."""
    return posixpath.splitext(path)[0].removesuffix("/__init__")


def _nearest(paths: list[str], importer: str) -> list[str]:
    """Of several files that a module may be, the one that shares the most folders with the importer."""
    if len(paths) < 2:
        return paths
    return [max(paths, key=lambda path: (len(posixpath.commonprefix([path, importer])), -len(path)))]


def dialect(language: str) -> str:
    """TypeScript's built-ins are JavaScript's."""
    return "javascript" if language == "typescript" else language
