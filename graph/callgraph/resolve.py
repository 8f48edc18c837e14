"""Resolves the names in one repository to its symbols, as far as static analysis goes.

In this order, first found wins: the own class and what it extends (`self.x`, `this.x`, and a bare name where the
language means it), the same file, imports (followed through re-exports), the same package or the whole repository
where the language has such a scope, and at last a name that only one symbol of the repository has.
"""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from treeline.graph.callgraph.classes import ONE_SCOPE, Classes, File, Packages, last_of
from treeline.graph.callgraph.imports import IMPORTED, Imports, Modules, Scope, dialect

_PYTHON_TYPES: tuple[type, ...] = (str, bytes, list, dict, set, tuple, int, float, object)
_PYTHON_METHODS = frozenset(name for kind in _PYTHON_TYPES for name in dir(kind))
_FILES = frozenset("read write close open seek flush readline readlines writelines tell".split())

BUILTINS: dict[str, frozenset[str]] = {
    "python": frozenset(dir(builtins)),
    "javascript": frozenset(
        "require parseInt parseFloat isNaN setTimeout setInterval clearTimeout clearInterval fetch alert encodeURI "
        "encodeURIComponent decodeURI decodeURIComponent Array Object String Number Boolean Date Error TypeError "
        "Promise Map Set WeakMap Symbol RegExp Proxy JSON Math Buffer".split()
    ),
    "go": frozenset(
        "append cap close complex copy delete imag len make max min new panic print println real recover string int "
        "int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 byte rune float32 float64 bool error any".split()
    ),
    "ruby": frozenset(
        "puts print p raise require require_relative attr_accessor attr_reader attr_writer include extend private "
        "protected public lambda proc loop format sprintf gets rand sleep block_given? freeze".split()
    ),
    "php": frozenset(
        "count strlen isset empty array_map array_filter array_merge array_keys array_values in_array implode explode "
        "sprintf printf str_replace substr strpos trim is_array is_string is_null intval json_encode json_decode "
        "Exception array".split()
    ),
    "java": frozenset("String Integer Long Double Float Boolean Object List Map Set Exception".split()),
}

# A method of this name on a receiver of unknown type is most likely the built-in type's.
COMMON_METHODS: dict[str, frozenset[str]] = {
    "python": _PYTHON_METHODS | _FILES,
    "javascript": frozenset(
        "push pop shift unshift slice splice map filter reduce forEach find findIndex indexOf includes join concat "
        "sort reverse some every keys values entries then catch finally apply call bind toString valueOf split replace "
        "hasOwnProperty match test exec trim toLowerCase toUpperCase charAt substring substr startsWith endsWith get "
        "set has delete add clear log error warn on once emit addEventListener appendChild setAttribute".split()
    ),
    "java": frozenset(
        "equals hashCode toString getClass add remove get set put size isEmpty contains containsKey keySet values "
        "entrySet iterator next hasNext append length charAt substring indexOf split trim stream map filter collect "
        "forEach format valueOf parseInt println print close read write flush getMessage getName".split()
    ),
    "ruby": frozenset(
        "each map select reject inject reduce first last push pop size length empty? nil? to_s to_i to_a to_sym new "
        "join split gsub sub strip merge keys values key? include? sort sort_by dup freeze call send respond_to? "
        "is_a? class any? all? find detect flatten compact uniq zip puts write read close".split()
    ),
    "go": frozenset("Error String Close Read Write Lock Unlock RLock RUnlock Add Done Wait Len Printf Println".split()),
    "php": frozenset("get set add remove has count format getMessage".split()),
}

STANDARD_MODULES = frozenset(sys.stdlib_module_names)
# How popular Python libraries are called in code whose imports were not seen (CodeSearchNet keeps functions alone).
POPULAR_ALIASES = frozenset(
    "np pd plt tf nn torch F K sp sns sk cv2 nx mpl scipy numpy pandas requests yaml click flask django six logger log "
    "logging cls_ boto3 tqdm bs4 etree ET ast ctx sympy theano keras sqlalchemy jsonschema pytest mock".split()
)


SELF = frozenset({"self", "cls", "this", "$this", "static", "@"})
PARENT = frozenset({"super", "parent", "base"})
UNKNOWN = "?"  # the receiver is an expression
OWN_CLASS, SAME_FILE, SAME_PACKAGE = "own class", "same file", "same package"
ONLY_ONE = "only one of that name"
POSSIBLE = "possible: the only method of that name"  # the receiver's type is not known
ALL_METHODS = "has all its methods"
# A stored graph tells them by their places here.
HOWS = (OWN_CLASS, SAME_FILE, IMPORTED, SAME_PACKAGE, ONLY_ONE, ALL_METHODS, POSSIBLE)
TYPED = frozenset({"go", "java", "typescript", "rust", "c", "cpp", "csharp", "kotlin", "scala", "swift"})
BARE_NAME_IS_OWN_METHOD = frozenset({"java", "ruby"})

Found = tuple[Sequence[int], str]  # symbols, and how they were found
NOTHING: Found = ((), "")
ByFile = Mapping[str, Sequence[int]]  # the symbols of one name, by the paths of their files


class Resolver:
    """The names of one repository."""

    def __init__(self, files: Iterable[File], names: Sequence[str], kinds: Sequence[str]) -> None:
        """`names` and `kinds` by node."""
        by_path = {file.path: file for file in files}
        self._packages = Packages(by_path.values(), kinds)
        self.classes = Classes(by_path.values(), self._packages, names, kinds)
        self._imports = Imports(by_path, Modules(by_path), self.classes)
        self._functions: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._methods: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        # Methods of interfaces: no code is there.
        self._declared: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for file in by_path.values():
            for name, node in file.nodes.items():
                if kinds[node] == "function":
                    declared = kinds[self.classes.owner.get(node, node)] == "interface"
                    methods = self._declared if declared else self._methods
                    (methods if "." in name else self._functions)[last_of(name)][file.path].append(node)
        self._known: dict[tuple[str, int | None, str, bool], Found] = {}

    def resolve(self, file: File, source: str, target: str, *, guess: bool = True) -> Found:
        """The symbols that `target`, written inside `source`, refers to.

        `guess` allows a method of an unknown receiver to be the only one of that name.
        """
        own = self.classes.around(file, source)
        key = (file.path, own, target, guess)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._resolve(file, own, target.split("."), guess)
        return found

    def extend(self, node: int, base: int) -> None:
        """A class extends another; what was looked up before may have another answer now."""
        self.classes.extend(node, base)
        self._known.clear()

    def _resolve(self, file: File, own: int | None, parts: list[str], guess: bool) -> Found:
        first, last = parts[0], parts[-1]
        if first in SELF or first in PARENT or first.startswith("@"):
            return self._of_self(file, own, parts, guess)
        if first == UNKNOWN:
            return self._any_method(file, last) if guess else NOTHING
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
            return self._any_method(file, last) if guess and not self._foreign(file, first) else NOTHING
        return self._only_one(file, last)

    def _of_self(self, file: File, own: int | None, parts: list[str], guess: bool) -> Found:
        if len(parts) == 2 and own is not None:
            starts = self.classes.bases(own) if parts[0] in PARENT else [own]
            for start in starts:
                member = self.classes.member(start, parts[1])
                if member is not None:
                    return (member,), OWN_CLASS
        if len(parts) == 1:
            return ((own,), OWN_CLASS) if own is not None and parts[0] in ("self", "static", "cls") else NOTHING
        return self._any_method(file, parts[-1]) if guess and parts[0] not in PARENT else NOTHING

    def _name(self, file: File, own: int | None, name: str) -> Scope:
        """A first name: of the own class where the language means it, of the file, imported, of the package."""
        holder = own if file.language in BARE_NAME_IS_OWN_METHOD else None
        while holder is not None:
            member = self.classes.member(holder, name)
            if member is not None:
                return Scope((member,), how=OWN_CLASS)
            holder = self.classes.owner.get(holder)  # what the outer class has is in scope as well
        here = file.nodes.get(name)
        if here is not None:
            return Scope((here,), how=SAME_FILE)
        imported = self._imports.find(file, name)
        if imported is not None:
            return imported
        beside = self._packages.symbol(file, name)
        if beside is not None:
            return Scope((beside,), how=SAME_PACKAGE)
        classes = self.classes.named(name)
        if len(classes) == 1 and name not in BUILTINS.get(dialect(file.language), ()) and self._reaches(file):
            return Scope(classes, how=ONLY_ONE)
        return Scope()

    def _reaches(self, file: File) -> bool:
        """Whether a name that is neither defined nor imported here may still be from another file."""
        return file.language in ONE_SCOPE or not file.imports or any(seen.name == "*" for seen in file.imports)

    def _inside(self, scope: Scope, name: str) -> Scope:
        """The member of that name of a class, or the symbol or submodule of a module."""
        for node in scope.nodes:
            member = self.classes.member(node, name)
            if member is not None:
                return Scope((member,), how=scope.how)
        for file in scope.files:
            exported = self._imports.exported(file, name)
            if exported is not None:
                return Scope(exported.nodes, exported.files, IMPORTED, exported.outside)
        for file in scope.files:
            inside = self._imports.submodule(file, name)
            if inside:
                return Scope(files=inside, how=IMPORTED)
        return Scope(outside=scope.outside or bool(scope.files))

    def _any_method(self, file: File, name: str) -> Found:
        """A method called on something of unknown type, if only one method of the repository has that name.

        Where types are not declared, one of the same file is the likelier one. None of this is known for sure.
        """
        if name in COMMON_METHODS.get(dialect(file.language), ()):
            return NOTHING
        found = self._methods.get(name) or self._declared.get(name, {})
        here = found.get(file.path) if file.language not in TYPED else None
        nodes, how = _only({file.path: here} if here else found)
        return nodes, POSSIBLE if how else how

    def _only_one(self, file: File, name: str) -> Found:
        """A bare name that only one function of the repository has, where it can be visible without an import."""
        if name in BUILTINS.get(dialect(file.language), ()) or not self._reaches(file):
            return NOTHING
        found: ByFile = self._functions.get(name, {})
        if not found and file.language == "ruby":
            found = self._methods.get(name, {})
        return _only(found)

    def _foreign(self, file: File, name: str) -> bool:
        """Whether a receiver is plainly a module of the standard library or a well-known one."""
        if dialect(file.language) != "python":
            return name in BUILTINS.get(dialect(file.language), ())
        return name in STANDARD_MODULES or name in POPULAR_ALIASES or name in BUILTINS["python"]


def _only(found: ByFile) -> Found:
    """The symbol, where there is one alone."""
    nodes = next(iter(found.values())) if len(found) == 1 else ()
    return (nodes, ONLY_ONE) if len(nodes) == 1 else NOTHING
