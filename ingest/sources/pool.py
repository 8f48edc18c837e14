"""CodeSearchNet's evaluation pool, `LANGUAGE_dedupe_definitions_v2.pkl`: one pickled list of a million records.

Python's unpickler would call whatever the file names, and load everything at once. This reader supports only plain
containers, strings and numbers: it cannot import, call or construct anything. It streams the items of the outermost
list. A first pass over the file finds which memo entries are used later and must be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pickletools import genops
from typing import IO, Any, Protocol

from treeline.corpus.frozen import frozen
from treeline.ingest.source import Chunk, Parsed, Problem, ReadOptions, Rejected
from treeline.ingest.sources.records import KNOWN, parse_records
from treeline.ingest.sources.shards import DAMAGE, position_of

# Operations between two batches of the list; a batch of a thousand long records takes about a million.
MAX_STEPS = 5_000_000
# Characters in memory at once: one batch, and what the memo must keep.
MAX_TEXT = 512_000_000

VALUES = frozenset(
    """INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8
    STRING SHORT_BINSTRING BINSTRING SHORT_BINBYTES BINBYTES BINBYTES8""".split()
)
PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})


class UnsafePickle(ValueError):
    """Not a pickle of plain data, or a damaged one."""


def memo_keys(stream: IO[bytes]) -> set[int]:
    """The memo entries that are used; raises for anything that is not plain data."""
    found: set[int] = set()
    for name, argument in _operations(stream):
        if name in GETS:
            found.add(argument)
            if len(found) > MAX_STEPS:
                raise UnsafePickle("refers back too often")
    return found


def unpickle_records(stream: IO[bytes], keep: set[int]) -> Iterator[Any]:
    """The items of the outermost list, one by one."""
    machine = _Machine(keep)
    steps = text = 0
    try:
        for name, argument in _operations(stream):
            steps += 1
            if name in VALUES:
                machine.stack.append(argument)
                text += len(argument) if isinstance(argument, str | bytes) else 0
            elif name in LIST_ENDS and machine.is_outermost(name):
                yield from machine.take(name)
                steps = text = 0
            elif name == "MEMOIZE":
                machine.remember(machine.memoized)
            elif name in PUTS:
                machine.remember(argument)
            elif name in GETS:
                machine.stack.append(machine.memo[argument])
            else:
                STEPS[name](machine)
            if steps > MAX_STEPS or text + machine.kept > MAX_TEXT:
                raise UnsafePickle("too much in one record")
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise UnsafePickle(f"not a sound pickle ({error})") from error


def _operations(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    try:
        for opcode, argument, _ in genops(stream):
            name = opcode.name
            if name not in PLAIN:
                raise UnsafePickle(f"{name} {argument or ''}".strip() + " is not plain data")
            yield name, argument
    except UnsafePickle:
        raise
    except (ValueError, MemoryError, OverflowError) as error:
        raise UnsafePickle(f"breaks off or is damaged ({error})") from error


class _Machine:
    """Pickle's stack, marks and memo."""

    def __init__(self, keep: set[int]) -> None:
        self.keep = keep
        self.memo: dict[int, Any] = {}
        self.memoized = 0
        self.kept = 0
        self.marks: list[list[Any]] = []
        self.stack: list[Any] = []

    def remember(self, index: int) -> None:
        self.memoized += 1
        if index in self.keep:
            value = self.memo[index] = self.stack[-1]
            self.kept += len(value) if isinstance(value, str | bytes) else 1

    def mark(self) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marks.pop()
        return items

    def last(self, count: int) -> list[Any]:
        items = self.stack[-count:]
        if len(items) < count:
            raise UnsafePickle("not a sound pickle (empty stack)")
        del self.stack[-count:]
        return items

    def is_outermost(self, name: str) -> bool:
        """Whether this operation ends a batch of the outermost list."""
        if name == "APPEND":
            return not self.marks and len(self.stack) == 2
        return len(self.marks) == 1 and len(self.marks[0]) == 1

    def take(self, name: str) -> list[Any]:
        items = self.last(1) if name == "APPEND" else self.since_mark()
        if not isinstance(self.stack[-1], list):
            raise UnsafePickle("not a list of records")
        return items

    def extend(self, items: list[Any]) -> None:
        self.stack[-1].extend(items)

    def make_dict(self) -> None:
        items = self.since_mark()
        self.stack.append({})
        self.update(items)

    def update(self, items: list[Any]) -> None:
        self.stack[-1].update(zip(items[::2], items[1::2], strict=False))


LIST_ENDS = frozenset({"APPEND", "APPENDS"})
STEPS: dict[str, Callable[[_Machine], object]] = {
    "PROTO": lambda machine: None,
    "FRAME": lambda machine: None,
    "STOP": lambda machine: None,
    "MARK": lambda machine: machine.mark(),
    "NONE": lambda machine: machine.stack.append(None),
    "NEWTRUE": lambda machine: machine.stack.append(True),
    "NEWFALSE": lambda machine: machine.stack.append(False),
    "EMPTY_LIST": lambda machine: machine.stack.append([]),
    "EMPTY_DICT": lambda machine: machine.stack.append({}),
    "EMPTY_TUPLE": lambda machine: machine.stack.append(()),
    "LIST": lambda machine: machine.stack.append(machine.since_mark()),
    "TUPLE": lambda machine: machine.stack.append(tuple(machine.since_mark())),
    "TUPLE1": lambda machine: machine.stack.append(tuple(machine.last(1))),
    "TUPLE2": lambda machine: machine.stack.append(tuple(machine.last(2))),
    "TUPLE3": lambda machine: machine.stack.append(tuple(machine.last(3))),
    "DICT": lambda machine: machine.make_dict(),
    "APPEND": lambda machine: machine.extend(machine.last(1)),
    "APPENDS": lambda machine: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine: machine.update(machine.last(2)),
    "SETITEMS": lambda machine: machine.update(machine.since_mark()),
}
PLAIN = VALUES | PUTS | GETS | STEPS.keys() | {"MEMOIZE"}


POOL = "_dedupe_definitions_v2.pkl"
RECORDS_A_CHUNK = 512


class Stored(Protocol):
    """A file on disk or in a zip that can be opened more than once."""

    @property
    def key(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def size(self) -> int: ...

    def open(self) -> AbstractContextManager[IO[bytes]]: ...


@frozen
class Records:
    """Numbered records that a worker turns into functions."""

    file: str
    records: tuple[tuple[int, dict[str, object] | str], ...]
    size: int
    options: ReadOptions

    def parse(self) -> Parsed:
        return parse_records(self.records, self.file, {"partition": "pool"}, self.options)


def flat(record: Any) -> dict[str, object] | str:
    """The known fields of a record, without anything a hostile pickle nested in them; or why it is not a record."""
    if not isinstance(record, dict):
        return f"a {type(record).__name__}, not a record"
    fields: dict[str, object] = {}
    for name in KNOWN:
        value = record.get(name)
        if isinstance(value, list | tuple):
            fields[name] = [part for part in value if isinstance(part, str)]
        elif value is not None:
            fields[name] = value if isinstance(value, str) else 0
    return fields


@frozen
class Pool:
    """The pool as a unit. Problems give the number of their record."""

    stored: Stored
    options: ReadOptions

    @property
    def key(self) -> str:
        return self.stored.key

    @property
    def digest(self) -> str:
        return self.stored.digest

    @property
    def size(self) -> int:
        return self.stored.size

    def chunks(self) -> Iterator[Chunk]:
        options = self.options.for_workers()
        waiting: list[tuple[int, dict[str, object] | str]] = []
        number = reported = 0
        try:
            with self.stored.open() as stream:
                keep = memo_keys(stream)
            with self.stored.open() as stream:
                for number, record in enumerate(unpickle_records(stream, keep), 1):
                    waiting.append((number, flat(record)))
                    if len(waiting) == RECORDS_A_CHUNK:
                        position = max(reported, position_of(stream))
                        yield Records(self.stored.name, tuple(waiting), position - reported, options)
                        waiting, reported = [], position
        except DAMAGE as error:
            if waiting:
                yield Records(self.stored.name, tuple(waiting), 0, options)
            yield Rejected(
                (Problem(self.stored.name, number + 1, f"cannot be read further: {error}"),), self.size - reported
            )
            return
        yield Records(self.stored.name, tuple(waiting), max(0, self.size - reported), options)
