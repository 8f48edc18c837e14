"""Frozen classes behave as the standard library's frozen dataclasses with slots."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any

import pytest

from treeline.corpus.frozen import frozen


@frozen
class Point:
    """A point."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False, repr=False)
    total: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.x + self.y)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same from the standard library."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False, repr=False)
    total: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.x + self.y)


@frozen
class Place(Point):
    name: str = "here"


@frozen(kw_only=True)
class Options:
    deep: bool
    depth: int = 3


@frozen(eq=False)
class Identity:
    x: int


@frozen
class Folded:
    """Its own equality, and the hash of its fields."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folded) and self.name.lower() == other.name.lower()

    def __repr__(self) -> str:
        return "folded"


@pytest.mark.parametrize("made", [Point, Standard])
def test_a_record_is_made_compared_hashed_and_shown_by_its_fields(made: Any) -> None:
    one = made(1, tags=["a"])
    assert (one.x, one.y, one.tags, one.total) == (1, 2, ["a"], 3)
    assert one == made(1, 2) != made(1, 3)
    assert one != (1, 2, 3)
    assert hash(one) == hash(made(1))
    assert repr(one) == f"{made.__name__}(x=1, y=2, total=3)"
    assert made(1).tags is not made(1).tags
    match one:
        case made(x, y):
            assert (x, y) == (1, 2)


@pytest.mark.parametrize("made", [Point, Standard])
def test_a_record_cannot_be_changed(made: Any) -> None:
    one = made(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x
    assert not hasattr(one, "__dict__")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        made()


@pytest.mark.parametrize("made", [Point, Standard])
def test_a_record_is_copied_pickled_and_replaced(made: Any) -> None:
    one = made(1, tags=["a"])
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert other.tags == ["a"]
    assert replace(one, y=5).total == 6
    assert asdict(one) == {"x": 1, "y": 2, "tags": ["a"], "total": 3}
    assert [one.name for one in fields(made)] == ["x", "y", "tags", "total"]


def test_a_record_inherits_fields() -> None:
    place = Place(1, name="there")
    assert (place.total, place.name) == (3, "there")
    assert place != Point(1)
    assert repr(place) == "Place(x=1, y=2, total=3, name='there')"


def test_fields_can_be_for_keywords_only() -> None:
    assert Options(deep=True).depth == 3
    with pytest.raises(TypeError, match="positional argument"):
        Options(True)  # type: ignore[call-arg]


def test_without_eq_a_record_equals_itself_alone() -> None:
    one = Identity(1)
    assert one == one
    assert one != Identity(1)
    assert len({one, Identity(1)}) == 2


def test_methods_of_the_class_are_kept() -> None:
    assert Folded("A") == Folded("a")
    assert hash(Folded("A")) == hash(Folded("A"))
    assert repr(Folded("A")) == "folded"
