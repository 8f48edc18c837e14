"""Results for an agent, within a token budget: as text, one headline each, then the lines that matter; and as data.

A headline is `path:first-last name: what it does`. Every line of code starts with its number or a bar, so code can
never look like a headline.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, BinaryIO, NotRequired, TypedDict

import orjson

from treeline.corpus.analysis import terms
from treeline.corpus.counting import day_of
from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address, Function
from treeline.search.answer import Member
from treeline.search.pack import Pack
from treeline.service.present.text import describe_row, summary, visible

if TYPE_CHECKING:
    from treeline.search.commits import CommitAnswer
    from treeline.search.impact import Dependent, Impact

# The usual tokenizers take 2.5 to 4 characters of code per token (docs/research/agents.md); the low end keeps answers
# within the budget.
CHARACTERS_PER_TOKEN = 2.5
HANDLE_LENGTH = 8
MIN_BUDGET = 100  # tokens; below it not even one headline would fit
SUMMARY_LENGTH = 120
LINE_LENGTH = 160  # a longer line is cut
SCORE_DIGITS = 4
FEWEST = 40  # characters; with less room, no code is shown
PLAIN_KINDS = frozenset({"function", "method", "file", "section"})  # kinds that a headline need not name
EMPTY_LINE = re.compile(r"[\s{}()\[\];,]*(end)?\s*")
LEFT_OUT = "… {:,} more lines: ask for a part of them, or a larger max_tokens"
NOT_LISTED = "… {:,} more did not fit: ask for a larger max_tokens"
NEXT = "… more with offset={}"
CUT_LINE = "… {:,} lines left out: a larger max_tokens shows all"
LONG_LINE = "… line {} goes on: a larger max_tokens shows more of it"
FURTHER = "… more: ask with first={}, or a larger max_tokens"
CHUNK_BYTES = 1 << 20
READ_BYTES = 1 << 30  # of a file, in search of a line: half a second


@frozen
class Item:
    """One item of a list: a function, a short note on why it is there, what matches inside it, and its score."""

    function: Function
    note: str = ""
    members: tuple[Member, ...] = ()
    score: float | None = None


class ItemData(TypedDict):
    """An item as data; what is empty is left out."""

    path: str
    name: str
    kind: str
    lines: NotRequired[list[int]]
    repo: NotRequired[str]
    handle: NotRequired[str]
    score: NotRequired[float]
    note: NotRequired[str]
    about: NotRequired[str]
    code: NotRequired[str]
    depth: NotRequired[int]


class ListData(TypedDict):
    """A list as data: what is to be said about all of it, and its items, best first."""

    notices: list[str]
    results: list[ItemData]
    next_offset: NotRequired[int]
    state: NotRequired[StateData]


class StateData(TypedDict):
    """The part of a project that answered while its index is being made."""

    state: str
    files: int
    total: int
    percent: int
    problem: str


class CommitData(TypedDict):
    hash: str
    day: str
    author: str
    subject: str
    files: list[str]
    definitions: list[str]


class PersonData(TypedDict):
    name: str
    commits: int
    last: str


class CommitsData(TypedDict):
    commits: list[CommitData]
    people: NotRequired[list[PersonData]]


class DependentData(TypedDict):
    """A symbol that depends on a changed one, and how: `relation` is an edge to `via`."""

    path: str
    line: int
    name: str
    relation: str
    via: str
    certain: bool
    test: bool
    in_change: bool


class LikelyData(TypedDict):
    path: str
    commits: int
    reasons: list[str]


class ImpactData(TypedDict):
    """The definitions that a change touches, and the files that it has to."""

    definitions: list[ItemData]
    lost_names: list[str]
    dependents: list[DependentData]
    likely: list[LikelyData]


@frozen
class Page:
    """A list as text, and as data with the same items and lines."""

    text: str
    data: ListData


def tokens(text: str) -> int:
    """The number of tokens of a text, rather too high than too low."""
    return ceil(len(text) / CHARACTERS_PER_TOKEN)


def handle(function_id: str) -> str:
    """A short name for a function whose path is not enough; the whole id would cost about twenty tokens."""
    return function_id[:HANDLE_LENGTH]


def location(function: Function) -> str:
    lines = function.address.lines
    return f"{function.path}:{lines[0]}-{lines[1]}" if lines else function.path


def headline(item: Item, *, handles: bool = True) -> str:
    """`path:first-last name: summary (note)`; with `handles`, `[handle] repo` before it."""
    function = item.function
    name = "" if function.kind == "file" else function.func_name
    kind = "" if function.kind in PLAIN_KINDS else f"{function.kind} "
    before = f"[{handle(function.id)}] {function.repo} " if handles else ""
    first = f"{before}{location(function)} {kind}{name}".rstrip()
    note = f" ({item.note})" if item.note else ""
    about = "" if function.kind == "section" else summary(function.docstring, SUMMARY_LENGTH)
    return visible(f"{first}{note}{f': {about}' if about else ''}".replace("\n", " "))


def as_data(function: Function, *, handles: bool = False, **more: object) -> ItemData:
    """A unit as data, with `more` about it. A program reads it, but many agents show it to their model as it is."""
    fields = {
        "path": function.path,
        "name": function.func_name,
        "kind": function.kind,
        "lines": list(function.address.lines or ()),
        "repo": function.repo if handles else "",
        "handle": handle(function.id) if handles else "",
        **more,
    }
    rows = {name: visible(one) if isinstance(one, str) else one for name, one in fields.items()}
    return {name: one for name, one in rows.items() if one not in ("", [], None)}  # type: ignore[return-value]


def data_within(data: ListData, budget: int) -> ListData:
    """The data within `budget` tokens: without the last results' code, then without the last results."""
    room = int(budget * CHARACTERS_PER_TOKEN) - len(orjson.dumps(data))
    for one in reversed(data["results"]):
        if room < 0:
            room += len(orjson.dumps(one.pop("code", "")))
    drop_last(data, budget, data["results"])
    return data


def drop_last(data: Mapping[str, Any], budget: int, *lists: list[Any]) -> None:
    """Remove the last rows of these lists of the data until it is within `budget` tokens; each keeps its first."""
    room = int(budget * CHARACTERS_PER_TOKEN) - len(orjson.dumps(data))
    for rows in lists:
        while room < 0 and len(rows) > 1:
            room += len(orjson.dumps(rows.pop()))


def impact_data(impact: Impact, budget: int) -> ImpactData:
    """The impact of a change as data, within `budget` tokens."""
    data: ImpactData = {
        "definitions": [place_data(hit.address) for hit in impact.definitions],
        "lost_names": [visible(name) for name, _ in impact.lost_names],
        "dependents": [_dependent_data(one) for one in impact.dependents],
        "likely": [
            {"path": visible(one.path), "commits": one.commits, "reasons": list(map(visible, one.reasons))}
            for one in impact.files
        ],
    }
    drop_last(data, budget, data["dependents"], data["definitions"], data["lost_names"], data["likely"])
    return data


def place_data(address: Address) -> ItemData:
    return {
        "path": visible(address.path),
        "name": visible(address.func_name),
        "kind": address.kind,
        "lines": list(address.lines or ()),
    }


def _dependent_data(one: Dependent) -> DependentData:
    neighbour = one.neighbour
    return {
        "path": visible(neighbour.path),
        "line": neighbour.line,
        "name": visible(neighbour.name),
        "relation": neighbour.relation,
        "via": visible(neighbour.via),
        "certain": one.is_certain,
        "test": one.is_test,
        "in_change": one.is_changed,
    }


def inside(members: Sequence[Member], room: int) -> str:
    """The signature of each member with its line number, in at most `room` characters."""
    lines: list[str] = []
    for member in members:
        first = (member.address.lines or (0, 0))[0]
        line = f"{first or '|'} {_cut(visible(' '.join(member.signature.split())))}"
        if (room := room - len(line) - 1) < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def excerpt(function: Function, room: int, words: frozenset[str] = frozenset(), *, whole: bool = False) -> str:
    """Numbered lines of code in at most `room` characters: all of them, or the first and the best ones.

    The best lines have the most of the query's terms. `whole` adds a docstring that is not in the code, and how many
    lines were left out.
    """
    head = _docstring(function, room * 2 // 3) if whole else ""
    code = visible(function.original_string).strip("\n").split("\n")
    rows = [f"{mark} {_cut(line)}".rstrip() for mark, line in zip(_marks(function, len(code)), code, strict=True)]
    closing = CUT_LINE.format(len(rows)) if whole else ""
    if len(head) + sum(len(row) + 1 for row in rows) <= room:
        return head + "\n".join(rows)
    room -= len(head) + len(closing)
    if room < 0:
        return ""
    picks: list[int] = []
    for at in _best_first(code, words):
        if (room := room - len(rows[at]) - 1) < 0:
            break
        picks.append(at)
    lines = [rows[at] for at in sorted(picks)]
    if closing:
        lines.append(CUT_LINE.format(len(rows) - len(picks)))
    return head + "\n".join(lines)


def _marks(function: Function, count: int) -> list[str]:
    """The start of each line of code: its number, or a bar if the unit's text differs from the file's (a class is its
    head and the signatures of its methods)."""
    first, last = function.address.lines or (0, 0)
    if last - first + 1 != count:
        return ["|"] * count
    width = len(str(last))
    return [f"{number:>{width}}" for number in range(first, last + 1)]


def _docstring(function: Function, room: int) -> str:
    """A docstring that is not part of the code, cut to `room`; each line is marked with `>`."""
    text = visible(function.docstring_outside)
    lines = [f"> {line}".rstrip() + "\n" for line in text.split("\n")] if text else []
    while sum(map(len, lines)) > room:
        lines = [*lines[:-2], "> …\n"] if len(lines) > 1 else []
    return "".join(lines)


def _best_first(code: Sequence[str], words: frozenset[str]) -> Iterator[int]:
    """Line numbers: the first line, then by how many of the words a line has, without empty lines.

    Without words they are in file order.
    """
    yield 0
    numbers = [at for at, line in enumerate(code) if at and not EMPTY_LINE.fullmatch(line)]
    if words:
        numbers.sort(key=lambda at: (-len(words.intersection(terms(code[at]))), at))
    yield from numbers


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LENGTH else f"{line[:LINE_LENGTH]} …"


def render(
    items: Sequence[Item],
    budget: int,
    *,
    opening: str = "",
    words: frozenset[str] = frozenset(),
    code: bool = True,
    whole: bool = False,
    handles: bool = True,
    next_offset: int = 0,
) -> Page:
    """The list within `budget` tokens: every headline, and as much code as fits, from the top down.

    Each result may use half of the remaining room, so the first shows most. If not every headline fits, no code is
    shown. The last line says what was left out; `next_offset` is the position after this list among all results.
    """
    room = int(budget * CHARACTERS_PER_TOKEN)
    closing = NEXT.format(next_offset) if next_offset else ""
    reserve = max(len(NOT_LISTED.format(len(items))), len(closing)) + 1
    opening = opening[: room - reserve]
    used = len(opening) + 1 if opening else 0
    headlines: list[str] = []
    for item in items:
        line = headline(item, handles=handles)
        if used + len(line) + 1 + reserve > room:
            break
        headlines.append(line)
        used += len(line) + 1
    missing = len(items) - len(headlines)
    if missing:
        closing = NEXT.format(next_offset - missing) if next_offset else NOT_LISTED.format(missing)
    room -= used + (len(closing) + 1 if closing else 0)
    blocks = [opening] if opening else []
    results: list[ItemData] = []
    for number, (item, line) in enumerate(zip(items, headlines, strict=False), 1):
        share = room - 1 if number == len(items) else room // 2
        lines = ""
        if code and not missing and room > FEWEST:
            members = inside(item.members, share) if not whole else ""
            lines = members or excerpt(item.function, share, words, whole=whole)
        room -= len(lines) + 1 if lines else 0
        blocks.append(f"{line}\n{lines}" if lines else line)
        about = "" if item.function.kind == "section" else summary(item.function.docstring, SUMMARY_LENGTH)
        score = None if item.score is None else round(item.score, SCORE_DIGITS)
        more = {"score": score, "note": item.note, "about": about, "code": lines}
        results.append(as_data(item.function, handles=handles, **more))
    data: ListData = {"notices": opening.split("\n") if opening else [], "results": results}
    if next_offset:
        data["next_offset"] = next_offset - missing
    return Page("\n".join([*blocks, closing] if closing else blocks), data_within(data, budget))


def commits_data(answer: CommitAnswer, budget: int) -> CommitsData:
    """Commits with the files that they touched as data, within `budget` tokens."""
    data: CommitsData = {
        "commits": [
            {
                "hash": row.commit.hash,
                "day": day_of(row.commit.time),
                "author": visible(row.commit.author),
                "subject": visible(row.commit.subject),
                "files": list(map(visible, row.paths)),
                "definitions": [visible(f"{hit.address.path} {hit.address.func_name}") for hit in row.units],
            }
            for row in answer.rows
        ]
    }
    if answer.people:
        data["people"] = [
            {"name": visible(one.name), "commits": one.commits, "last": day_of(one.time)} for one in answer.people
        ]
    drop_last(data, budget, data["commits"])
    return data


def pack_items(pack: Pack) -> tuple[list[Item], str]:
    """The parts of a pack as items, and its commits as the lines above them."""
    opening = "\n".join(line for row in pack.commits for line in describe_row(row))
    return [Item(part.function, part.note, part.members) for part in pack.parts], opening


def within_budget(lines: Sequence[str], budget: int) -> str:
    """As many lines as fit into the budget, and how many did not."""
    room = int(budget * CHARACTERS_PER_TOKEN)
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < len(LEFT_OUT) and number < len(lines) - 1:
            return "\n".join([*lines[:number], LEFT_OUT.format(len(lines) - number)])
    return "\n".join(lines)


def numbered_lines(data: BinaryIO, first: int, last: int, budget: int) -> str:
    """The next lines of a file, numbered from `first`, within `budget` tokens; `last` 0: to the end. Only what is
    shown is kept."""
    room = int(budget * CHARACTERS_PER_TOKEN) - max(map(len, (LONG_LINE, FURTHER))) - len(str(first)) * 2
    rows: list[str] = []
    while not last or first + len(rows) <= last:
        number = first + len(rows)
        line = data.readline(room * 4 + 1)  # no character has more bytes
        if not line:
            break
        row = f"{number:>5} {visible(line.decode(errors='replace').rstrip())}"
        if len(row) >= room:
            rows.append(FURTHER.format(number) if rows else f"{row[: room - 1]}\n{LONG_LINE.format(number)}")
            break
        rows.append(row)
        room -= len(row) + 1
    return "\n".join(rows)


def skip_lines(data: BinaryIO, count: int) -> None:
    """Move behind the next `count` lines, or to the end."""
    while count and (chunk := data.read(CHUNK_BYTES)):
        if (ends := chunk.count(b"\n")) >= count:
            at = -1
            for _ in range(count):
                at = chunk.index(b"\n", at + 1)
            data.seek(at + 1 - len(chunk), os.SEEK_CUR)
            return
        if data.tell() >= READ_BYTES:
            raise InputError(f"the line is beyond the first {READ_BYTES:,} bytes of the file", "ask for an earlier one")
        count -= ends
