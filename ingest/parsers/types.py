"""Translates types and values in source code into the expressions that the call graph reads (`Typing`)."""

from __future__ import annotations

import re
from functools import lru_cache

from tree_sitter import Node

from treeline.ingest.parsers.grammar import text_of
from treeline.ingest.parsers.names import MAX_TARGET, UNKNOWN, chain

# Modifiers of a type that say how it is passed or stored.
QUALIFIERS = re.compile(
    r"\b(?:const|final|readonly|volatile|static|mut|dyn|impl|struct|union|enum|class|typename|inline|extern|ref|out|in"
    r"|params|unsafe|register|restrict|async|abstract|virtual|constexpr|var|val)\s+|'\w+\s+|@\w+\s+|[&*]+|\?+$|!+$"
)
# Wrappers that count as the type inside: pointers, promises.
TRANSPARENT = frozenset(
    """Box Rc Arc Pin Ref RefMut Cow MutexGuard unique_ptr shared_ptr weak_ptr optional Optional Promise Task ValueTask
    Awaitable Coroutine Readonly Partial Required Lazy Annotated Final ClassVar NonNullable""".split()
)
# Containers of another type: lists, options, results.
HOLDING = frozenset(
    """Vec Option Result VecDeque HashSet BTreeSet Mutex RwLock RefCell Cell OnceCell List ArrayList LinkedList Set
    HashSet Collection Iterable Iterator Stream Array ReadonlyArray IEnumerable IList ICollection IReadOnlyList
    IReadOnlyCollection MutableList Sequence MutableSet vector set deque list span array initializer_list tuple
    frozenset Generator AsyncIterator AsyncIterable Queue Deque""".split()
)
MAPS = frozenset(
    """Map HashMap BTreeMap TreeMap LinkedHashMap ConcurrentHashMap Record Dictionary IDictionary ConcurrentDictionary
    MutableMap dict Mapping MutableMapping defaultdict map unordered_map Dict""".split()
)
NAME = re.compile(r"[\w$]+(?:\.[\w$]+)*")
PARAMETER = re.compile(r"[A-Z]\d?")  # `T`, `K`, `T1`: a type parameter
MAX_TYPE = 300
MAX_DEPTH = 5
NO_CHAIN = frozenset("\"'`[{(-+!~0123456789")  # first characters of literals and operations


def type_of(node: Node | None) -> str:
    """The expression for an object of the type at this node; empty if it is not a single named type."""
    return type_expression(text_of(node)) if node is not None and node.end_byte - node.start_byte <= MAX_TYPE else ""


@lru_cache(maxsize=50_000)
def type_expression(text: str) -> str:
    result = _type(text, MAX_DEPTH)
    return f":{result}" if result else ""


def _type(text: str, depth: int) -> str:
    text = " ".join(text.split()).lstrip(": ").replace("::", ".").replace("\\", ".")
    if not depth or "->" in text or "=>" in text:
        return ""
    for _ in range(3):
        text = QUALIFIERS.sub("", text).strip()
    text = _without_none(text)
    content = ""
    if text.endswith("[]"):
        content = text[:-2]
    elif text.startswith("["):  # Rust's `[Disk]` and `[Disk; 4]`
        content = text[1:-1].rpartition(";")[0] or text[1:-1]
    if content:
        inner = _type(content, depth - 1)
        return f"{inner}*" if inner else ""
    opening = min((at for at in (text.find("<"), text.find("[")) if at >= 0), default=-1)
    if opening > 0 and text[-1] in ">]":
        return _generic(text[:opening].strip(". "), text[opening + 1 : -1], depth)
    text = text.strip("\"'. ")
    return text if NAME.fullmatch(text) and not PARAMETER.fullmatch(text) else ""


def _generic(name: str, arguments: str, depth: int) -> str:
    last = name.rpartition(".")[2]
    inner = split(arguments)
    if last in TRANSPARENT or last in HOLDING or last in MAPS:
        element = _type(inner[-1] if last in MAPS else inner[0], depth - 1) if inner else ""
        return element if last in TRANSPARENT or not element else f"{element}*"
    return name if NAME.fullmatch(name) else ""


def _without_none(text: str) -> str:
    """`Queue | None` → `Queue`."""
    if "|" not in text:
        return text.lstrip("?")
    parts = [part for part in split(text, "|") if part not in ("None", "null", "undefined", "false")]
    return parts[0] if len(parts) == 1 else text


def split(text: str, sign: str = ",") -> list[str]:
    """The parts between commas (or another sign) outside brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "<[({") - (letter in ">])}")
        if letter == sign and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def value_of(node: Node | None) -> str:
    """The expression for a value; empty if it is not a chain of names, calls and indexes."""
    if node is None or node.end_byte - node.start_byte > 4 * MAX_TARGET:
        return ""
    text = text_of(node)
    if not text or text[0] in NO_CHAIN:
        return ""
    return _value(text)


@lru_cache(maxsize=50_000)
def _value(text: str) -> str:
    result = chain(text)
    if text.startswith("new ") and result and "(" not in result:
        result += "()"
    return "" if result.startswith(UNKNOWN) or result[:1].isdigit() else result.replace("?.", ".").replace("!.", ".")


def return_type(node: Node) -> str:
    return type_of(node.child_by_field_name("return_type"))


def element_of(node: Node | None) -> str:
    """The expression for an element of a value."""
    value = value_of(node)
    return f"{value}[]" if value else ""
