"""Resolves the names in one repository to its symbols, as far as static analysis goes.

In this order, first found wins: the own class and what it extends (`self.x`, `this.x`, and a bare name where the
language means it), the same file, imports (followed through re-exports), the same package or the whole repository
where the language has such a scope, and at last a name that only one symbol of the repository has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from graph.callgraph_modules import Modules
from graph.callgraph_names import BUILTINS, COMMON_METHODS, POPULAR_ALIASES, STANDARD_MODULES, dialect
from graph.references import Import, SymbolKind

SELF = frozenset({"self", "cls", "this", "$this", "static", "@"})
PARENT = frozenset({"super", "parent", "base"})
UNKNOWN = "?"
OWN_CLASS, SAME_FILE, IMPORTED, SAME_PACKAGE, ONLY_ONE = (
    "own class", "same file", "import", "same package", "only one of that name",
)  # fmt: skip
HOWS = (OWN_CLASS, SAME_FILE, IMPORTED, SAME_PACKAGE, ONLY_ONE, "has all its methods")
BARE_NAME_IS_OWN_METHOD = frozenset({"java", "ruby"})
PACKAGE_IS_A_FOLDER = frozenset({"go", "java"})
ONE_SCOPE = frozenset({"ruby", "php"})  # autoloaders and `require` make every class visible everywhere
CONSTRUCTORS = ("__init__", "__new__", "constructor", "initialize", "__construct")
REEXPORTS = 5  # files that a name may be passed on through

Nodes = Sequence[int]
NOTHING: tuple[Nodes, str] = ((), "")


@dataclass(slots=True)
class File:
    """One file: its symbols by qualified name, and its imports."""

    path: str
    language: str
    nodes: dict[str, int] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)


@dataclass(slots=True)
class Scope:
    """What a dotted name has led to so far: symbols, or files when it is a module."""

    nodes: Nodes = ()
    files: Sequence[File] = ()
    how: str = ""
    outside: bool = False  # imported, and not from this repository


class Resolver:
    """The names of one repository."""

    def __init__(self, files: Iterable[File], names: Sequence[str], kinds: Sequence[SymbolKind | str]) -> None:
        """`names` and `kinds` by node."""
        self._names, self._kinds = names, kinds
        self._files = {file.path: file for file in files}
        self._modules = Modules(self._files)
        self.members: dict[int, dict[str, int]] = defaultdict(dict)
        self.owner: dict[int, int] = {}
        self.bases: dict[int, list[int]] = defaultdict(list)
        self._functions: dict[str, list[int]] = defaultdict(list)
        self._methods: dict[str, list[int]] = defaultdict(list)
        self._classes: dict[str, list[int]] = defaultdict(list)
        self._aliases: dict[str, dict[str, Import]] = {}
        self._memo: dict[tuple[str, int, str, bool], tuple[Nodes, str]] = {}
        for file in self._files.values():
            self._aliases[file.path] = {seen.alias: seen for seen in file.imports if seen.alias}
            for name, node in file.nodes.items():
                if kinds[node] in ("class", "interface"):
                    self._classes[_last(name)].append(node)
                    if "." in name:
                        self._classes[name].append(node)
        for file in self._files.values():
            for name, node in file.nodes.items():
                self._place(file, name, node)

    def _place(self, file: File, name: str, node: int) -> None:
        """Give a method to its class; the rest are functions of their file."""
        outer, _, last = name.rpartition(".")
        if outer:
            owner = self._class_of(file, outer)
            if owner is not None and owner != node:
                self.owner[node] = owner
                self.members[owner].setdefault(last, node)
        if self._kinds[node] == "function":
            (self._methods if outer else self._functions)[last].append(node)

    def _class_of(self, file: File, name: str) -> int | None:
        """The class that a member's name begins with: in this file, or where the language lets it be elsewhere."""
        here = file.nodes.get(name)
        if here is not None:
            return here
        if file.language in PACKAGE_IS_A_FOLDER:
            for beside in self._modules.folder(file.path):
                node = self._files[beside].nodes.get(name)
                if node is not None and self._kinds[node] in ("class", "interface"):
                    return node
        found = self._classes.get(name, ()) if file.language in ONE_SCOPE else ()
        return found[0] if len(found) == 1 else None

    def resolve(self, file: File, source: str, target: str, *, guess: bool = True) -> tuple[Nodes, str]:
        """The symbols that `target`, written inside `source`, refers to, and how they were found.

        `guess` allows a method of an unknown receiver to be the only one of that name.
        """
        own = self._own_class(file, source)
        key = (file.path, -1 if own is None else own, target, guess)
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self._resolve(file, own, target.split("."), guess)
        return found

    def constructor(self, node: int) -> int | None:
        """What creating an object of this class calls, its own or inherited."""
        for name in (*CONSTRUCTORS, _last(self._names[node])):
            found = self._member(node, name)
            if found is not None and self._kinds[found] == "function":
                return found
        return None

    def _own_class(self, file: File, source: str) -> int | None:
        node = file.nodes.get(source)
        while node is not None and self._kinds[node] not in ("class", "interface"):
            node = self.owner.get(node)
        return node

    def _resolve(self, file: File, own: int | None, parts: list[str], guess: bool) -> tuple[Nodes, str]:
        first, last = parts[0], parts[-1]
        if first in SELF or first in PARENT or first.startswith("@"):
            return self._of_self(file, own, parts, guess)
        if first == UNKNOWN:
            return self._any_method(file, own, last) if guess else NOTHING
        scope = self._name(file, own, first)
        if file.language == "ruby" and last == "new" and len(parts) > 1:
            parts = parts[:-1]  # Ruby creates an object of a class by calling its `new`
        for part in parts[1:]:
            scope = self._inside(scope, part)
        if scope.nodes:
            return scope.nodes, scope.how
        if scope.outside or scope.files:
            return NOTHING
        if len(parts) > 1:
            return self._any_method(file, own, last) if guess and not self._foreign(file, first) else NOTHING
        return self._only_one(file, last)

    def _of_self(self, file: File, own: int | None, parts: list[str], guess: bool) -> tuple[Nodes, str]:
        if len(parts) == 2 and own is not None:
            starts = self.bases.get(own, []) if parts[0] in PARENT else [own]
            found = next((node for start in starts if (node := self._member(start, parts[1])) is not None), None)
            if found is not None:
                return (found,), OWN_CLASS
        if len(parts) == 1:
            return ((own,), OWN_CLASS) if own is not None and parts[0] in ("self", "static", "cls") else NOTHING
        return self._any_method(file, None, parts[-1]) if guess and parts[0] not in PARENT else NOTHING

    def _member(self, node: int, name: str) -> int | None:
        """A member of a class or of the nearest class it extends."""
        seen = {node}
        level = [node]
        while level:
            for holder in level:
                found = self.members[holder].get(name) if holder in self.members else None
                if found is not None:
                    return found
            level = [base for holder in level for base in self.bases.get(holder, ()) if base not in seen]
            seen.update(level)
        return None

    def _name(self, file: File, own: int | None, name: str) -> Scope:
        """A first name: of the own class where the language means it, of the file, imported, of the package."""
        holder = own if file.language in BARE_NAME_IS_OWN_METHOD else None
        while holder is not None:
            member = self._member(holder, name)
            if member is not None:
                return Scope((member,), how=OWN_CLASS)
            holder = self.owner.get(holder)  # what the outer class has is in scope as well
        here = file.nodes.get(name)
        if here is not None:
            return Scope((here,), how=SAME_FILE)
        imported = self._imported(file, name, REEXPORTS)
        if imported is not None:
            return imported
        if file.language in PACKAGE_IS_A_FOLDER:
            for beside in self._modules.folder(file.path):
                node = self._files[beside].nodes.get(name)
                if node is not None:
                    return Scope((node,), how=SAME_PACKAGE)
        classes = self._classes.get(name, ())
        if len(classes) == 1 and name not in BUILTINS.get(dialect(file.language), ()) and self._reaches(file):
            return Scope(classes, how=ONLY_ONE)
        return Scope()

    def _reaches(self, file: File) -> bool:
        """Whether a name that is neither defined nor imported here may still be from another file."""
        return file.language in ONE_SCOPE or not file.imports or any(seen.name == "*" for seen in file.imports)

    def _imported(self, file: File, name: str, passes: int) -> Scope | None:
        seen = self._aliases[file.path].get(name)
        if seen is not None:
            return self._import(file, seen, passes)
        for star in file.imports:
            if star.name == "*" and passes:
                for path in self._modules.files(file.language, file.path, star.module):
                    found = self._exported(self._files[path], name, passes - 1)
                    if found is not None and not found.outside:
                        return found
        # `import a.b` binds `a`; what follows is found by `_inside`.
        dotted = [seen for seen in file.imports if not seen.name and seen.alias.startswith(name + ".")]
        if dotted and file.language == "python":
            files = [
                self._files[path] for path in self._modules.files("python", file.path, name) if path in self._files
            ]
            return Scope(files=files, how=IMPORTED) if files else self._import(file, dotted[0], passes)
        return None

    def _import(self, file: File, seen: Import, passes: int) -> Scope:
        if not seen.name:
            files = self._module(file, seen.module)
            if files:
                return Scope(self._default(file, files, seen.alias), files, IMPORTED)
            return self._imported_class(seen.module.rpartition(".")[2], seen.module, file)
        files = self._module(file, seen.module)
        for module in files:
            found = self._exported(module, seen.name, passes - 1) if passes else None
            if found is not None:
                return Scope(found.nodes, found.files, IMPORTED, found.outside)
        if seen.name == "default" and files:
            nodes = self._default(file, files, seen.alias)
            return Scope(nodes, files, IMPORTED)
        joint = "" if seen.module.endswith(".") else "."
        submodule = self._module(file, seen.module + joint + seen.name) if file.language != "go" else []
        if submodule:
            nodes = [node for module in submodule if (node := module.nodes.get(seen.name)) is not None]
            return Scope(nodes[:1], submodule, IMPORTED)
        return self._imported_class(seen.name, f"{seen.module}.{seen.name}", file)

    def _imported_class(self, name: str, module: str, file: File) -> Scope:
        """PHP and Ruby name the class and not the file; elsewhere an import that leads nowhere is from outside."""
        found = self._classes.get(name, ()) if file.language in ONE_SCOPE and module else ()
        return Scope(found, how=IMPORTED) if len(found) == 1 else Scope(outside=True)

    def _default(self, file: File, files: Sequence[File], alias: str) -> Nodes:
        """What a script's module is when it is called itself: the symbol of that name, or its only one."""
        if dialect(file.language) != "javascript":
            return ()
        top = [(name, node) for module in files for name, node in module.nodes.items() if name and "." not in name]
        same = [node for name, node in top if name == alias]
        return same[:1] or ([top[0][1]] if len(top) == 1 else [])

    def _exported(self, module: File, name: str, passes: int) -> Scope | None:
        node = module.nodes.get(name)
        if node is not None:
            return Scope((node,), how=IMPORTED)
        return self._imported(module, name, passes) if passes else None

    def _module(self, file: File, module: str) -> list[File]:
        return [self._files[path] for path in self._modules.files(file.language, file.path, module)]

    def _inside(self, scope: Scope, name: str) -> Scope:
        """The member of that name of a class, or the symbol or submodule of a module."""
        for node in scope.nodes:
            found = self._member(node, name)
            if found is not None:
                return Scope((found,), how=scope.how)
        for file in scope.files:
            exported = self._exported(file, name, REEXPORTS)
            if exported is not None:
                return Scope(exported.nodes, exported.files, IMPORTED, exported.outside)
        for file in scope.files:
            if file.language == "python":
                relative = self._module(file, "." + name)
                if relative and file.path.endswith("__init__.py"):
                    return Scope(files=relative, how=IMPORTED)
        return Scope(outside=scope.outside or bool(scope.files))

    def _any_method(self, file: File, own: int | None, name: str) -> tuple[Nodes, str]:
        """A method called on something of unknown type, if only one method of the repository has that name."""
        if own is not None and file.language == "go":  # the receiver is a variable of any name
            member = self._member(own, name)
            if member is not None:
                return (member,), OWN_CLASS
        if name in COMMON_METHODS.get(dialect(file.language), ()):
            return NOTHING
        found = self._methods.get(name, ())
        if len(found) > 1:  # a class of the same file is the likelier one
            found = [node for node in found if file.nodes.get(self._names[node]) == node]
        return (found, ONLY_ONE) if len(found) == 1 else NOTHING

    def _only_one(self, file: File, name: str) -> tuple[Nodes, str]:
        """A bare name that only one function of the repository has, where it can be visible without an import."""
        if name in BUILTINS.get(dialect(file.language), ()) or not self._reaches(file):
            return NOTHING
        found = self._functions.get(name, ())
        if not found and file.language == "ruby":
            found = self._methods.get(name, ())
        return (found, ONLY_ONE) if len(found) == 1 else NOTHING

    def _foreign(self, file: File, name: str) -> bool:
        """Whether a receiver is plainly a module of the standard library or a well-known one."""
        if dialect(file.language) != "python":
            return name in BUILTINS.get(dialect(file.language), ())
        return name in STANDARD_MODULES or name in POPULAR_ALIASES or name in BUILTINS["python"]


def _last(name: str) -> str:
    return name.rpartition(".")[2]
