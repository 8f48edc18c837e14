"""Resolves the names in one repository to its symbols, as far as static analysis goes.

The first match wins, in this order: the enclosing class and its bases (`self.x`, `this.x`, and a bare name if the
language allows it), the same file, imports (followed through re-exports), the same package or the whole repository
if the language has such a scope, and last a name that only one symbol of the repository has.
"""

from __future__ import annotations

import builtins
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from posixpath import dirname
from typing import NamedTuple

from treeline.corpus.frozen import frozen
from treeline.graph.callgraph.classes import ONE_SCOPE, SPREAD, Classes, File, Packages
from treeline.graph.callgraph.imports import RUST_PATHS, Imports, Modules, Scope, dialect
from treeline.graph.callgraph.storage import BY_IMPORT, BY_TYPE, ONLY_ONE, OWN_CLASS, POSSIBLE, SAME_FILE, SAME_PACKAGE
from treeline.graph.references import MAKES, PRIVATE

# The names of languages and their libraries.
NAMES = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
BUILTINS, COMMON_METHODS, ALIASES = (
    {language: frozenset(text.split()) for language, text in NAMES[table].items()}
    for table in ("builtins", "common_methods", "aliases")
)
LIBC = BUILTINS["c"]
BUILTINS |= {"python": frozenset(dir(builtins)), "cpp": LIBC, "objc": LIBC}
COMMON_METHODS["python"] |= {
    name for kind in (str, bytes, list, dict, set, tuple, int, float, object) for name in dir(kind)
}
FOREIGN = ALIASES["python"] | BUILTINS["python"] | sys.stdlib_module_names
SYSTEM = re.compile(r"(?:sem|epoll|pthread|clock|posix|sched|inotify|io_uring|inet)_")

SELF = frozenset({"self", "cls", "this", "$this", "static", "@", "Self"})
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inl")
SEEN_EVERYWHERE = ONE_SCOPE | {"c", "cpp", "objc", "csharp"}  # types too: through nested includes, and namespaces
GLOBAL_FUNCTIONS = frozenset({"c", "cpp", "objc"})  # every function that is not static is visible to all files
HAS_EXTENSIONS = frozenset({"csharp", "kotlin", "swift"})  # extension functions are called as methods of another type
MAX_POSSIBLE = 4  # functions that a C name may refer to: `uv_sleep` has one for each system
PARENT = frozenset({"super", "parent", "base"})
UNKNOWN = "?"  # the receiver is an expression
OWN_TYPE = frozenset({"Self", "self", "static", "this"})  # as a method's return type
# Methods that return what a container holds: an element of a list, the value of an option.
UNWRAPPING = frozenset(
    """unwrap expect unwrap_or unwrap_or_default unwrap_or_else get first last next iter iter_mut into_iter as_ref
    as_mut clone pop remove peek front back lock read write borrow borrow_mut ok value Value get_mut at""".split()
)
STATIC_TYPES = frozenset({"go", "java", "typescript", "rust", "c", "cpp", "csharp", "kotlin", "scala", "swift"})
BARE_NAME_IS_OWN_METHOD = frozenset({"java", "ruby", "csharp", "kotlin", "cpp", "elixir", "scala", "swift"})

Resolution = tuple[Sequence[int], str]  # symbols, and how they were found
NOTHING: Resolution = ((), "")
ByFile = Mapping[str, Sequence[int]]  # the symbols of one name, by the paths of their files


class Callables(NamedTuple):
    """The symbols that a call of one name may mean, by file; an interface declares `abstract` methods, without code."""

    functions: dict[str, list[int]]
    methods: dict[str, list[int]]
    abstract: dict[str, list[int]]


STEPS = re.compile(r"\(\)|\[\]|[^.()\[\]]+")
MAX_STEPS = 40  # of resolving one expression; ends types that refer to each other in a circle


@frozen
class Value(Scope):
    """The meaning of an expression so far: symbols or files, or an object of a class."""

    is_object: bool = False
    holds: int = 0  # how many times it must be indexed or unwrapped to reach the object


NO_VALUE = Value()
OUTSIDE = Value(outside=True)


@frozen
class Context:
    """The place of an expression, which decides what its names refer to."""

    file: File
    own: int | None  # the enclosing class


class Resolver:
    """Resolves the names of one repository."""

    def __init__(self, files: Iterable[File], names: Sequence[str], kinds: Sequence[str], lines: Sequence[int]) -> None:
        """`names`, `kinds` and `lines` are indexed by node."""
        by_path = {file.path: file for file in files}
        self._packages = Packages(by_path.values(), kinds)
        self._kinds = kinds
        self.classes = Classes(by_path.values(), self._packages, names, kinds, lines)
        self._imports = Imports(by_path, Modules(by_path), self.classes)
        self._names = names
        # By name, made when a name is first needed, because after an edit few are.
        self._callables_of: dict[str, Callables] = {}
        self._fields_of: dict[str, dict[int, tuple[File, str]]] = {}
        self._typings: dict[str, list[tuple[File, str, str]]] = defaultdict(list)
        for file in by_path.values():
            for name, value in file.types.items():
                if "." in name and not name.endswith("()"):
                    outer, _, last = name.rpartition(".")
                    self._typings[last].append((file, outer, value))
        self._cache: dict[tuple[str, int | None, str, bool], Resolution] = {}
        self._steps_left = 0

    def _callables(self, name: str) -> Callables:
        """The functions and methods with this last name that other files may see."""
        callables = self._callables_of.get(name)
        if callables is None:
            callables = self._callables_of[name] = Callables({}, {}, {})
            for node in self.classes.with_last(name):
                file, whole = self.classes.file_of[node], self._names[node]
                is_seen = file.types.get(whole) != PRIVATE or file.path.endswith(HEADERS)
                if is_seen and self._kinds[node] == "function":
                    is_abstract = self._kinds[self.classes.owner.get(node, node)] == "interface"
                    methods = callables.abstract if is_abstract else callables.methods
                    (methods if "." in whole else callables.functions).setdefault(file.path, []).append(node)
        return callables

    def _fields(self, name: str) -> dict[int, tuple[File, str]]:
        """The type of the field of this name of each class that has one, and the file that says so."""
        fields = self._fields_of.get(name)
        if fields is None:
            fields = self._fields_of[name] = {}
            for file, outer, value in self._typings.get(name, ()):
                owner = self.classes.owner_in(file, outer)
                if owner is not None:
                    fields.setdefault(owner, (file, value))
        return fields

    def resolve(self, file: File, source: str, target: str, *, guess: bool = True) -> Resolution:
        """The symbols that `target`, written inside `source`, refers to.

        With `guess`, a method of an unknown receiver resolves to the only method of that name.
        """
        own = self.classes.enclosing(file, source)
        key = (file.path, own, target, guess)
        result = self._cache.get(key)
        if result is None:
            self._steps_left = MAX_STEPS
            result = self._cache[key] = self._resolve(Context(file, own), target, guess)
        return result

    def extend(self, node: int, base: int) -> None:
        """Adds a base to a class. Drops cached lookups, which may now resolve differently."""
        self.classes.extend(node, base)
        self._cache.clear()

    def _resolve(self, context: Context, target: str, guess: bool) -> Resolution:
        value = self._value(context, target)
        if value.nodes and not value.is_object:
            return value.nodes, value.how
        if (value.outside and context.file.language not in HAS_EXTENSIONS) or value.files or value.is_object:
            return NOTHING
        first, *rest = STEPS.findall(target) or [UNKNOWN]
        last = rest[-1] if rest else first
        if first in PARENT or (first in SELF and not rest):
            return NOTHING
        if rest or first == UNKNOWN:
            return self._any_method(context.file, last) if guess and not self._foreign(context.file, first) else NOTHING
        return self._only_one(context.file, last)

    def _value(self, context: Context, expression: str) -> Value:
        """The value of an expression; `NO_VALUE` if a step of it is unknown."""
        self._steps_left -= 1
        if self._steps_left < 0:
            return NO_VALUE
        first, *steps = STEPS.findall(expression) or [UNKNOWN]
        value, used = self._start(context, first, steps)
        for at in range(used, len(steps)):
            if not (value.nodes or value.files):
                return value
            value = self._step(context, value, steps[at])
        return value

    def _start(self, context: Context, first: str, steps: Sequence[str]) -> tuple[Value, int]:
        """The value of an expression's first name, and how many of the following steps it used."""
        own = context.own
        if first.startswith(":"):
            return self._object_of(context, first[1:], steps)
        if first.startswith(MAKES):
            value = self._name(context, first.removeprefix(MAKES), is_type=True)
            return (value if value.files or self._is_type(value) else NO_VALUE), 0
        if first in SELF or first in PARENT:
            if own is None:
                return NO_VALUE, 0
            if first in PARENT:
                length = 1 if steps and steps[0] == "()" else 0
                bases = tuple(self.classes.bases(own))
                return (Value(bases, how=OWN_CLASS, is_object=True) if bases else NO_VALUE), length
            is_class = first in ("static", "cls", "Self") or (first == "self" and (not steps or steps[0] == "()"))
            return Value((own,), how=OWN_CLASS, is_object=not is_class), 0
        if first.startswith("@"):
            return (self._field(own, first) if own is not None else NO_VALUE), 0
        if first == UNKNOWN:
            return NO_VALUE, 0
        if context.file.language == "rust" and steps and (first in RUST_PATHS or context.file.nodes.get(first) is None):
            length = next((at for at, step in enumerate(steps) if step in ("()", "[]")), len(steps))
            path = self._imports.rust_path(context.file, [first, *steps[:length]])
            if path is not None:
                return _value_of(path[0]), path[1]
        if context.file.language == "elixir" and first[:1].isupper():
            module, count = self._imports.elixir_module(context.file, own, [first, *steps])
            return _value_of(module), count - 1
        value = self._name(context, first, is_called=not steps or steps[0] == "()")
        if context.file.language == "elixir" and value == NO_VALUE:
            scope = self._imports.elixir_function(context.file, first)
            return (_value_of(scope) if scope else NO_VALUE), 0
        if context.file.language == "cpp" and value == NO_VALUE and steps and steps[0] not in ("()", "[]"):
            # A namespace. Names in the graph do not include it.
            return (OUTSIDE, 0) if first == "std" else (self._name(context, steps[0]), 1)
        return value, 0

    def _step(self, context: Context, value: Value, step: str) -> Value:
        """Applies one step: a call, an index, or a member."""
        if step == "()":
            return self._call_result(value)
        if step == "[]":
            return replace(value, holds=value.holds - 1) if value.holds else self._member(context, value, step)
        if value.holds:
            return replace(value, holds=value.holds - 1) if step in UNWRAPPING else OUTSIDE
        return self._member(context, value, step)

    def _call_result(self, value: Value) -> Value:
        """The result of a call: an object of the class, or what the function is declared to return."""
        for node in value.nodes:
            if value.is_object:
                return NO_VALUE
            if self._kinds[node] != "function":
                return Value((node,), how=BY_TYPE, is_object=True)
            file = self.classes.file_of[node]
            returns = file.types.get(self._names[node] + "()")
            if returns is not None:
                return self._typed_value(file, self.classes.owner.get(node), returns)
        return NO_VALUE

    def _typed_value(self, file: File, own: int | None, expression: str) -> Value:
        value = self._value(Context(file, own), expression)
        return replace(value, how=BY_TYPE) if value.nodes else value

    def _member(self, context: Context, value: Value, name: str) -> Value:
        """A member of a class or object, the value of a field, or a symbol or submodule of a module."""
        for node in value.nodes:
            member = self.classes.member(node, name)
            if member is not None:
                how = value.how if value.how != SAME_FILE or not value.is_object else BY_TYPE
                return Value((member,), how=how)
            if name == "new" and context.file.language == "ruby" and self.classes.is_class(node):
                return Value((node,), how=value.how)  # Ruby creates an object with `Class.new`
            if self._kinds[node] == "function" and not value.is_object:  # a property
                result = self._call_result(value)
                return self._member(context, result, name) if result.is_object and not result.holds else NO_VALUE
            field = self._field(node, name)
            if field.nodes or field.outside:
                return field
        if value.nodes and value.is_object:
            own = value.how == OWN_CLASS
            return NO_VALUE if own or any(self.classes.is_open(node) for node in value.nodes) else OUTSIDE
        for file in value.files:
            scope = self._imports.export(file, name)
            if scope is not None:
                return _value_of(scope, BY_IMPORT)
            if name in file.types:
                return self._typed_value(file, None, file.types[name])
        for file in value.files:
            inside = self._imports.submodule(file, name)
            if inside:
                return Value(files=inside, how=BY_IMPORT)
        return Value(outside=value.outside or bool(value.files))

    def _field(self, node: int, name: str) -> Value:
        """The value of a field of a class, its own or inherited."""
        fields = self._fields(name)
        for holder in self.classes.with_bases(node) if fields else ():
            field = fields.get(holder)
            if field is not None:
                return self._typed_value(field[0], holder, field[1])
        return NO_VALUE

    def _object_of(self, context: Context, name: str, steps: Sequence[str]) -> tuple[Value, int]:
        """An object of a named type. The name may have several parts; the rest of them are the first steps."""
        bare = name.rstrip("*")
        holds, count = len(name) - len(bare), 0
        if bare in OWN_TYPE:
            value = Value((context.own,), how=BY_TYPE) if context.own is not None else NO_VALUE
        else:
            value = self._name(context, bare, is_type=True)
        while not name.endswith("*") and count < len(steps) and not self._is_type(value) and value.files:
            name = steps[count]
            value, count = self._member(context, value, name.rstrip("*")), count + 1
            holds = len(name) - len(name.rstrip("*"))
        if self._is_type(value):
            return Value(value.nodes, how=BY_TYPE, is_object=True, holds=holds), count
        if value.outside or value.is_object or not self.classes.by_name(bare):
            return OUTSIDE, count
        return NO_VALUE, count

    def _is_type(self, value: Value) -> bool:
        return bool(value.nodes) and not value.is_object and all(map(self.classes.is_class, value.nodes))

    def _name(self, context: Context, name: str, *, is_called: bool = True, is_type: bool = False) -> Value:
        """Resolves a first name: in the enclosing class if the language allows it, the file, imports, the package."""
        file = context.file
        holder = context.own if file.language in BARE_NAME_IS_OWN_METHOD else None
        while holder is not None:
            field = NO_VALUE if is_type else self._field(holder, name)
            member = self.classes.member(holder, name)
            if is_type and member is not None and not self.classes.is_class(member):
                member = None
            if member is not None and (is_called or not field.nodes):  # a field may share its name with a method
                return Value((member,), how=OWN_CLASS)
            if field.nodes or field.outside:
                return field
            holder = self.classes.owner.get(holder)  # members of the outer class are in scope too
        here = file.nodes.get(name)
        if here is not None:
            return Value((self.classes.first(here) if file.language in SPREAD else here,), how=SAME_FILE)
        if name in file.types and file.types[name] != PRIVATE and not is_type:
            return self._typed_value(file, None, file.types[name])
        scope = self._imports.find(file, name)
        if scope is not None:
            return _value_of(scope)
        neighbour = self._packages.symbol(file, name)
        if neighbour is not None:
            return Value((neighbour,), how=SAME_PACKAGE)
        holding = self._packages.holding(file, name)
        if holding is not None:
            return self._typed_value(holding, None, holding.types[name])
        classes = self.classes.by_name(name)
        if len(classes) == 1 and name not in BUILTINS.get(dialect(file.language), ()) and self._reaches(file):
            # Of a class and a function in other headers, only the compiler knows which one is called.
            if file.language == "cpp" and not is_type and self._callables(name).functions:
                return NO_VALUE
            return Value(tuple(classes), how=ONLY_ONE)
        return NO_VALUE

    def _reaches(self, file: File) -> bool:
        """Whether a name that is neither defined nor imported here may still come from another file."""
        if file.language == "dart":  # its imports are resolved in full
            return False
        return file.language in SEEN_EVERYWHERE or not file.imports or any(entry.name == "*" for entry in file.imports)

    def _any_method(self, file: File, name: str) -> Resolution:
        """The method called on a receiver of unknown type, if only one in the repository has that name: a guess.

        In languages without declared types, a method of the same file is preferred.
        """
        if name in COMMON_METHODS.get(dialect(file.language), ()):
            return NOTHING
        callables = self._callables(name)
        by_file = callables.methods or callables.abstract
        here = by_file.get(file.path) if file.language not in STATIC_TYPES else None
        nodes, how = _only({file.path: here} if here else by_file)
        return nodes, POSSIBLE if how else how

    def _global_function(self, file: File, name: str) -> Resolution:
        """A C function of another file: the only one of that name, or of the folder, else up to `MAX_POSSIBLE`."""
        by_file = self._callables(name).functions
        in_folder = {path: nodes for path, nodes in by_file.items() if dirname(path) == dirname(file.path)}
        nodes = next((nodes for nodes, how in map(_only, (by_file, in_folder)) if how), ())
        if nodes:
            return nodes, POSSIBLE if name in LIBC or SYSTEM.match(name) else ONLY_ONE
        several = [node for some in by_file.values() for node in some]
        return (several, POSSIBLE) if 0 < len(several) <= MAX_POSSIBLE else NOTHING

    def _only_one(self, file: File, name: str) -> Resolution:
        """The only function of the repository with this bare name, if it can be visible without an import."""
        if file.language in GLOBAL_FUNCTIONS:
            return self._global_function(file, name)
        if name in BUILTINS.get(dialect(file.language), ()) or not self._reaches(file):
            return NOTHING
        by_file = self._callables(name).functions
        if not by_file and file.language == "ruby":
            # A bare call reaches a method of the own class or of what it includes; a block may run elsewhere.
            nodes, how = _only(self._callables(name).methods)
            return nodes, POSSIBLE if how else how
        return _only(by_file)

    def _foreign(self, file: File, name: str) -> bool:
        """Whether a receiver is a module of the standard library or of a well-known package."""
        return name in (FOREIGN if file.language == "python" else BUILTINS.get(dialect(file.language), ()))


def _value_of(scope: Scope, how: str = "") -> Value:
    return Value(scope.nodes, scope.files, how or scope.how, scope.outside)


def _only(by_file: ByFile) -> Resolution:
    """The symbol, if there is exactly one."""
    nodes = next(iter(by_file.values())) if len(by_file) == 1 else ()
    return (nodes, ONLY_ONE) if len(nodes) == 1 else NOTHING
