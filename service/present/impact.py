"""The impact of a change as lines of text for terminals and agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from treeline.corpus.counting import counted
from treeline.corpus.function import Address
from treeline.search.impact import Dependent, FileChange, Impact
from treeline.service.present.text import visible, visible_name

MOST_LISTED = 20  # of each group


def describe_impact(impact: Impact, changes: Sequence[FileChange]) -> Iterator[str]:
    """A heading and an indented list for each group that has anything."""
    if not changes:
        yield "nothing is changed"
        return
    what = counted(len(impact.definitions), "definition")
    yield f"{what} of {counted(len(changes), 'file')} changed"
    yield from _rows(f"{_address(hit.address)}  {hit.address.func_name}" for hit in impact.definitions)
    for name, hits in impact.lost_names:
        places = ", ".join(_address(hit.address) for hit in hits[:MOST_LISTED])
        yield visible(f"{name} is gone" + (f", and still called in {places}" if hits else ", and called nowhere"))
    if impact.more_lost:
        yield f"{counted(impact.more_lost, 'more name')} may be gone: calls of them were not looked for"
    groups: dict[str, Callable[[Dependent], bool]] = {
        "known to depend on them": lambda one: one.is_certain and not one.is_test,
        "may depend on them": lambda one: not one.is_certain and not one.is_test,
        "tests that reach them": lambda one: one.is_test,
    }
    for title, belongs in groups.items():
        if own := [one for one in impact.dependents if belongs(one)]:
            outside = sum(not one.is_changed for one in own)
            yield f"{title}: {len(own):,}, {outside:,} of them not in the change"
            yield from _rows(map(_dependent, sorted(own, key=lambda one: one.is_changed)))
    if impact.files:
        yield "files that likely have to change as well"
        for file in impact.files:
            times = [f"changed together {counted(file.commits, 'time')}"] if file.commits else []
            yield visible_name(f"  {file.path}  {'; '.join([*times, *file.reasons])}".rstrip())


def _dependent(one: Dependent) -> str:
    neighbour = one.neighbour
    mark = " (in the change)" if one.is_changed else ""
    where = f"{neighbour.path}:{neighbour.line}" if neighbour.line else neighbour.path
    return f"{where}  {neighbour.name} {neighbour.relation} {neighbour.via}{mark}"


def _address(address: Address) -> str:
    return f"{address.path}:{address.lines[0]}" if address.lines else address.path


def _rows(rows: Iterable[str]) -> Iterator[str]:
    every = list(rows)
    yield from (visible_name(f"  {row}") for row in every[:MOST_LISTED])
    if len(every) > MOST_LISTED:
        yield f"  and {len(every) - MOST_LISTED:,} more"
