"""The classes of one repository: whose methods are whose, what extends what, and where a member is inherited from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graph.callgraph_modules import Modules
from graph.references import Import

PACKAGE_IS_A_FOLDER = frozenset({"go", "java"})
ONE_SCOPE = frozenset({"ruby", "php"})  # autoloaders and `require` make every class visible everywhere
CONSTRUCTORS = ("__init__", "__new__", "constructor", "initialize", "__construct")
CLASSES = ("class", "interface")


@dataclass(slots=True)
class File:
    """One file: its symbols' nodes by qualified name, and its imports."""

    path: str
    language: str
    nodes: dict[str, int] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)


class Classes:
    """Members and bases; `bases` is filled in while inheritance is resolved."""

    def __init__(self, files: Mapping[str, File], modules: Modules, names: Sequence[str], kinds: Sequence[str]) -> None:
        self._files, self._modules, self._names, self._kinds = files, modules, names, kinds
        self.members: dict[int, dict[str, int]] = defaultdict(dict)
        self.owner: dict[int, int] = {}
        self.bases: dict[int, list[int]] = defaultdict(list)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for file in files.values():
            for name, node in file.nodes.items():
                if kinds[node] in CLASSES:
                    self._by_name[last_of(name)].append(node)
                    if "." in name:
                        self._by_name[name].append(node)
        for file in files.values():
            for name, node in file.nodes.items():
                self._place(file, name, node)

    def named(self, name: str) -> Sequence[int]:
        """The classes of this last or whole name."""
        return self._by_name.get(name, ())

    def is_class(self, node: int) -> bool:
        return self._kinds[node] in CLASSES

    def around(self, file: File, source: str) -> int | None:
        """The class that a symbol is in, or is."""
        node = file.nodes.get(source)
        while node is not None and not self.is_class(node):
            node = self.owner.get(node)
        return node

    def member(self, node: int, name: str) -> int | None:
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

    def constructor(self, node: int) -> int | None:
        """What creating an object of this class calls, its own or inherited."""
        for name in (*CONSTRUCTORS, last_of(self._names[node])):
            found = self.member(node, name)
            if found is not None and self._kinds[found] == "function":
                return found
        return None

    def _place(self, file: File, name: str, node: int) -> None:
        """Give a member to its class; a Ruby class that is opened again elsewhere shares what it has."""
        outer, _, last = name.rpartition(".")
        owner = self._owner(file, outer) if outer else None
        if owner is not None and owner != node:
            self.owner[node] = owner
            self.members[owner].setdefault(last, node)
        if file.language == "ruby" and self.is_class(node):
            same = [other for other in self._by_name[name] if other != node and self._names[other] == name]
            self.bases[node].extend(same)

    def _owner(self, file: File, name: str) -> int | None:
        """The class that a member's name begins with: in this file, or where the language lets it be elsewhere."""
        here = file.nodes.get(name)
        if here is not None:
            return here
        if file.language in PACKAGE_IS_A_FOLDER:
            for beside in self._modules.folder(file.path):
                node = self._files[beside].nodes.get(name)
                if node is not None and self.is_class(node):
                    return node
        found = self.named(name) if file.language in ONE_SCOPE else ()
        return found[0] if len(found) == 1 else None


def last_of(name: str) -> str:
    return name.rpartition(".")[2]
