"""CodeSearchNet's evaluation pool, `LANGUAGE_dedupe_definitions_v2.pkl`: one pickled list of a million records.

`pickle.Unpickler` would hold the whole list, 7.9 GB, and seven bytes make it ask for 34 GB. This reader supports only
plain containers, strings and numbers: it cannot import, call or construct anything. It streams the items of the
outermost list. A first pass over the file finds which memo entries are used later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pickletools import genops
from typing import IO, Any

from treeline.corpus.frozen import frozen
from treeline.ingest.source import Chunk, Parsed, Problem, ReadOptions, Rejected
from treeline.ingest.sources.records import KNOWN, parse_records
from treeline.ingest.sources.shards import DAMAGE, Shard, position_of

POOL = "_dedupe_definitions_v2.pkl"
RECORDS_A_CHUNK = 512
# Operations between two batches of the list; a batch of a thousand long records takes about a million.
MAX_STEPS = 5_000_000
# Characters in memory at once: one batch, and what the memo must keep.
MAX_TEXT = 512_000_000

VALUES = frozenset(
    """INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8
    STRING SHORT_BINSTRING BINSTRING SHORT_BINBYTES BINBYTES BINBYTES8""".split()
)
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict}
PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"})
GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})
# The operations that take items, and how many; 0: all since the last mark.
TAKES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3, "APPEND": 1, "SETITEM": 2}
TAKES |= dict.fromkeys(("TUPLE", "LIST", "DICT", "APPENDS", "SETITEMS"), 0)
PLAIN = VALUES | CONSTANTS.keys() | EMPTY.keys() | PUTS | GETS | TAKES.keys() | {"PROTO", "FRAME", "STOP", "MARK"}


class UnsafePickle(ValueError):
    """Not a pickle of plain data, or a damaged one."""


def memo_keys(stream: IO[bytes]) -> set[int]:
    """The memo entries that are used; raises for anything that is not plain data."""
    keys: set[int] = set()
    for name, argument in _operations(stream):
        if name in GETS:
            keys.add(argument)
            if len(keys) > MAX_STEPS:
                raise UnsafePickle("refers back too often")
    return keys


def unpickle_records(stream: IO[bytes], keys: Collection[int]) -> Iterator[Any]:
    """The items of the outermost list, one by one; the memo remembers only `keys`."""
    stack: list[Any] = []
    marks: list[list[Any]] = []
    memo: dict[int, Any] = {}
    puts = steps = text = memo_text = 0
    try:
        for name, argument in _operations(stream):
            steps += 1
            if name in VALUES:
                stack.append(argument)
                text += _length(argument)
            elif name in TAKES:
                if count := TAKES[name]:
                    items = [stack.pop() for _ in range(count)][::-1]
                else:
                    items, stack = stack, marks.pop()
                if name.startswith("TUPLE"):
                    stack.append(tuple(items))
                elif name == "LIST":
                    stack.append(items)
                elif name == "DICT":
                    stack.append(_pairs(items))
                elif name.startswith("SETITEM"):
                    stack[-1].update(_pairs(items))
                elif marks or len(stack) > 1:
                    stack[-1].extend(items)
                elif isinstance(stack[-1], list):
                    yield from items
                    steps = text = 0
                else:
                    raise TypeError("not a list of records")
            elif name in PUTS:
                index = puts if argument is None else argument
                puts += 1
                if index in keys:
                    memo[index] = stack[-1]
                    memo_text += _length(stack[-1])
            elif name in GETS:
                stack.append(memo[argument])
            elif name == "MARK":
                marks.append(stack)
                stack = []
            elif name in EMPTY:
                stack.append(EMPTY[name]())
            elif name in CONSTANTS:
                stack.append(CONSTANTS[name])
            if steps > MAX_STEPS or text + memo_text > MAX_TEXT:
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


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes) else 1


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=False))


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


def pool_chunks(shard: Shard) -> Iterator[Chunk]:
    """Cut a pool into chunks of records. Problems give the number of their record."""
    options = shard.options.for_workers()
    batch: list[tuple[int, dict[str, object] | str]] = []
    number = start = 0
    try:
        with shard.open() as stream:
            keys = memo_keys(stream)
        with shard.open() as stream:
            for number, record in enumerate(unpickle_records(stream, keys), 1):
                batch.append((number, flat(record)))
                if len(batch) == RECORDS_A_CHUNK:
                    position = max(start, position_of(stream))
                    yield Records(shard.name, tuple(batch), position - start, options)
                    batch, start = [], position
    except DAMAGE as error:
        if batch:
            yield Records(shard.name, tuple(batch), 0, options)
        yield Rejected((Problem(shard.name, number + 1, f"cannot be read further: {error}"),), shard.size - start)
        return
    yield Records(shard.name, tuple(batch), max(0, shard.size - start), options)
