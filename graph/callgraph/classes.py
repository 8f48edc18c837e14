"""The classes of one repository: their members, what they extend, and where a member is inherited from."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from treeline.graph.references import CLASSES, CONSTRUCTORS, PRIVATE, Import, last_of


@dataclass(slots=True)
class File:
    """A file: its symbols' nodes by qualified name, its imports, and the types of its names (see `Typing`)."""

    path: str
    language: str
    nodes: dict[str, int] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)


PACKAGE_IS_A_FOLDER = frozenset({"go", "java", "kotlin"})


class _Package(NamedTuple):
    """The first symbol and the first class of each name in a package, and the file that declares a variable."""

    symbols: dict[str, int]
    classes: dict[str, int]
    holding: dict[str, File]


class Packages:
    """Looks up names in packages that are folders; the first symbol of a name wins.

    A package is read once, because a folder may have ten thousand files, and each looks up every name it does not
    define; and only when it is needed, because after an edit few are.
    """

    def __init__(self, files: Iterable[File], kinds: Sequence[str]) -> None:
        self._kinds = kinds
        self._files: dict[tuple[str, str], list[File]] = defaultdict(list)
        self._packages: dict[tuple[str, str], _Package] = {}
        for file in files:
            if file.language in PACKAGE_IS_A_FOLDER:
                self._files[file.language, _package(file.path)].append(file)

    def symbol(self, file: File, name: str) -> int | None:
        """The symbol of this name in the file's package."""
        return self._of(file).symbols.get(name)

    def holding(self, file: File, name: str) -> File | None:
        """The file of the same package that declares a variable of this name."""
        return self._of(file).holding.get(name)

    def owner(self, file: File, name: str) -> int | None:
        """The class or interface of this name in the file's package."""
        return self._of(file).classes.get(name)

    def _of(self, file: File) -> _Package:
        """The package of a file; empty in languages whose packages are not folders."""
        if file.language not in PACKAGE_IS_A_FOLDER:
            return NO_PACKAGE
        key = file.language, _package(file.path)
        package = self._packages.get(key)
        if package is None:
            package = self._packages[key] = _Package({}, {}, {})
            for one in self._files[key]:
                for name in one.types:
                    package.holding.setdefault(name, one)
                for name, node in one.nodes.items():
                    package.symbols.setdefault(name, node)
                    if self._kinds[node] in CLASSES:
                        package.classes.setdefault(name, node)
        return package


NO_PACKAGE = _Package({}, {}, {})


@lru_cache(100_000)  # every file looks up every name that it does not define
def _package(path: str) -> str:
    return SOURCE_ROOT.sub("", posixpath.dirname(path))


# Java and Kotlin keep a package's tests under another source root: `src/test/java` beside `src/main/java`.
SOURCE_ROOT = re.compile(r"^(?:.*/)?src/\w+/(?:java|kotlin)/")


# Members of a type may be defined in another file than the type: `impl` blocks, partial classes, extensions.
SPREAD = frozenset({"rust", "cpp", "csharp", "kotlin", "swift", "objc"})
ONE_SCOPE = frozenset({"ruby", "php"})  # autoloaders and `require` make every class visible everywhere


class Classes:
    """The members and bases of every class. `extend` adds the bases while inheritance is resolved.

    A class may be split over several files (Ruby's reopened classes, the languages of `SPREAD`), with one node in each.
    Members and bases are merged under its first node, so a lookup takes one step however many parts there are.
    """

    def __init__(
        self,
        files: Collection[File],
        packages: Packages,
        names: Sequence[str],
        kinds: Sequence[str],
        lines: Sequence[int],
    ) -> None:
        """A class on line 0 has no definition of its own: it was inferred from its members."""
        self._packages, self._names, self._kinds, self._lines = packages, names, kinds, lines
        self.members: dict[int, dict[str, int]] = defaultdict(dict)
        self.owner: dict[int, int] = {}
        self._bases: dict[int, dict[int, None]] = defaultdict(dict)
        self._gathered: dict[int, dict[str, int]] = defaultdict(dict)
        self.unresolved: set[int] = set()  # classes with a base outside this repository
        self.file_of: dict[int, File] = {}
        self._with_last: dict[str, list[int]] = defaultdict(list)
        # Found when they are first needed, because after an edit few are.
        self._first_node: dict[int, int] = {}
        self._by_name: dict[str, Sequence[int]] = {}
        for file in files:
            self.file_of.update(dict.fromkeys(file.nodes.values(), file))
            for name, node in file.nodes.items():
                self._with_last[last_of(name)].append(node)
        for file in files:
            for name, node in file.nodes.items():
                if "." in name:
                    self._add_member(file, name, node)

    def with_last(self, name: str) -> Sequence[int]:
        """The symbols whose last name this is, in the order of their files."""
        return self._with_last.get(name, ())

    def by_name(self, name: str) -> Sequence[int]:
        """The classes whose last or whole name this is."""
        classes = self._by_name.get(name)
        if classes is None:
            last = last_of(name)
            same = (node for node in self.with_last(last) if last == name or self._names[node] == name)
            classes = list(dict.fromkeys(self.first(node) for node in same if self.is_class(node)))
            self._by_name[name] = classes
        return classes

    def by_full_name(self, name: str) -> Sequence[int]:
        """The classes whose whole name this is."""
        return [node for node in self.by_name(name) if self._names[node] == name]

    def inner_classes(self, node: int, name: str) -> Sequence[int]:
        """The classes of this name inside a class."""
        return self.by_full_name(f"{self._names[node]}.{name}")

    def is_class(self, node: int) -> bool:
        return self._kinds[node] in CLASSES

    def enclosing(self, file: File, source: str) -> int | None:
        """The class that encloses a symbol, or the symbol itself if it is a class."""
        node = file.nodes.get(source)
        while node is not None and not self.is_class(node):
            node = self.owner.get(node)
        return node

    def extend(self, node: int, base: int) -> None:
        self._bases[self.first(node)][base] = None

    def bases(self, node: int) -> Iterable[int]:
        return self._bases.get(self.first(node), ())

    def with_bases(self, node: int) -> Iterator[int]:
        """A class and all its bases, nearest first."""
        visited, level = {node}, list(dict.fromkeys((node, self.first(node))))
        while level:
            yield from level
            level = [base for holder in level for base in self.bases(holder) if base not in visited]
            level = list(dict.fromkeys(level))
            visited.update(level)

    def is_open(self, node: int) -> bool:
        """Whether a base lies outside this repository, so the class may have members that are not known."""
        return any(holder in self.unresolved for holder in self.with_bases(node))

    def member(self, node: int, name: str) -> int | None:
        """A member of a class: from the same file first, then its other parts, then its bases, nearest first.

        A member that an interface only declares counts last.
        """
        result = self.members[node].get(name) if node in self.members else None
        first = self.first(node)
        if result is None and self._kinds[first] != "interface":
            result = self._search_bases(first, name, with_interfaces=False)
        return result if result is not None else self._search_bases(first, name, with_interfaces=True)

    def _search_bases(self, node: int, name: str, *, with_interfaces: bool) -> int | None:
        result = None
        visited: set[int] = set()
        level = [node]
        while result is None and level:
            visited.update(level)
            holders = (one for one in level if with_interfaces or self._kinds[one] != "interface")
            holding = (self._gathered[holder].get(name) for holder in holders if holder in self._gathered)
            result = next((member for member in holding if member is not None), None)
            bases = (self.first(base) for holder in level for base in self._bases.get(holder, ()))
            level = list(dict.fromkeys(base for base in bases if base not in visited))
        return result

    def constructor(self, node: int) -> int | None:
        """The constructor of a class, its own or inherited."""
        for name in (*CONSTRUCTORS, last_of(self._names[node])):
            function = self.member(node, name)
            if function is not None and self._kinds[function] == "function":
                return function
        return None

    def first(self, node: int) -> int:
        """The first node of a class that is split over several files."""
        first = self._first_node.get(node)
        if first is None:
            self._first_node[node] = node
            language = self.file_of[node].language
            if (language == "ruby" or language in SPREAD) and self.is_class(node):
                parts = self._parts(node, language)
                definitions = [part for part in parts if self._lines[part]]
                if language == "ruby":
                    self._first_node.update(dict.fromkeys(parts, parts[0]))
                elif len(definitions) == 1 or (definitions and language == "csharp"):
                    self._first_node.update(dict.fromkeys(parts, definitions[0]))
                else:
                    self._first_node.update(zip(parts, parts, strict=True))
            first = self._first_node[node]
        return first

    def _parts(self, node: int, language: str) -> list[int]:
        """The classes with the same whole name as this, which may be parts of one."""
        name, path = self._names[node], self.file_of[node].path
        return [
            part
            for part in self.with_last(last_of(name))
            if self._names[part] == name
            and self.is_class(part)
            and (other := self.file_of[part]).language == language
            and (language != "csharp" or posixpath.dirname(other.path) == posixpath.dirname(path))
        ]

    def _add_member(self, file: File, name: str, node: int) -> None:
        """Adds a member to its class."""
        outer, _, last = name.rpartition(".")
        owner = self.owner_in(file, outer) if outer else None
        if owner is not None and owner != node:
            self.owner[node] = owner
            if file.types.get(name) == PRIVATE and not self._lines[self.first(owner)]:
                return  # `TEST(Store, open) {` makes a function that no name calls, in a class that nobody wrote
            self.members[owner].setdefault(last, node)
            self._gathered[self.first(owner)].setdefault(last, node)

    def owner_in(self, file: File, name: str) -> int | None:
        """The class whose members a file defines under this name: its own, or elsewhere if the language allows it."""
        here = file.nodes.get(name)
        if here is not None:
            return here
        neighbour = self._packages.owner(file, name)
        if neighbour is not None:
            return neighbour
        classes = self.by_name(name) if file.language in ONE_SCOPE else ()
        return classes[0] if len(classes) == 1 else None
