"""Gathers what a task needs: places to edit, their callers, callees and tests, and commits about the same."""

from __future__ import annotations

from collections.abc import Iterator

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.search.answer import Member
from treeline.search.commits import CommitRow, ask_history
from treeline.search.issue import read_issue
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.structure import CALLS, is_test

PLACES = 10  # the best results for the task; the others follow their relatives
PART_TOKENS, MOST_PARTS = 80, 60  # of the budget for each part: its headline, and room for code of the first ones
NEIGHBOURHOOD = 5  # places whose relatives are given
RELATIVES = 2  # callers, tests and callees, of each place
COMMITS = 2  # more take the room of code
TEST_DEPTH = 2  # calls from a test to a place


@frozen
class Part:
    """A unit that a task needs, what it is to it, and what matches inside it."""

    function: Function
    note: str
    members: tuple[Member, ...] = ()


@frozen
class Pack:
    """The parts of a task, the most useful first, and commits about the same."""

    parts: tuple[Part, ...]
    commits: tuple[CommitRow, ...]


def gather(searcher: Searcher, task: str, tokens: int) -> Pack:
    """The pack of a task in words, or of a whole issue, with as many parts as a budget of tokens has room for."""
    most = min(max(PLACES, tokens // PART_TOKENS), MOST_PARTS, searcher.settings.max_k)
    results = searcher.search(Query.of(task, {"k": most}, searcher.settings)).results
    parts = {one.function.id: Part(one.function, "place to edit", one.members) for one in results[:PLACES]}
    places = [one.function for one in results[:NEIGHBOURHOOD]]
    notes = {id_: note for place in places for id_, note in _around(searcher, place) if id_ not in parts}
    parts |= {unit.id: Part(unit, notes[unit.id]) for unit in searcher.engine.fetch(list(notes))}
    for one in results[PLACES:]:
        parts.setdefault(one.function.id, Part(one.function, "", one.members))
    history, encoder = searcher.history, searcher.settings.encoder
    commits = ask_history(history, read_issue(task).title, "", COMMITS, encoder).rows if history else ()
    return Pack(tuple(parts.values())[:most], commits)


def _around(searcher: Searcher, place: Function) -> Iterator[tuple[str, str]]:
    """The ids of a place's tests, callers and callees, each with what it is."""
    groups: dict[str, list[str]] = {f"tests {place.func_name}": [], f"calls {place.func_name}": []}
    tests, callers = groups.values()
    for one in searcher.relatives.around([place.id], CALLS, "in", TEST_DEPTH):
        if is_test(one.path, one.name):
            tests.append(one.id)
        elif one.depth == 1:
            callers.append(one.id)
    groups[f"called by {place.func_name}"] = [one.id for one in searcher.relatives.around([place.id], CALLS, "out")]
    for note, ids in groups.items():
        yield from ((id_, note) for id_ in list(filter(None, ids))[:RELATIVES])
