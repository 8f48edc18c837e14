"""Scores of answers that are only names."""

from collections.abc import Iterable, Mapping

from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.dataset import DataSet


def named_hit(name: str) -> Hit:
    """A hit with this name as its id and URL, in a repository of its own."""
    return Hit(name, 1.0, Address(f"o/{name}", "p", "f", "python", name))


def scores(data: DataSet, names: Iterable[str]) -> Mapping[str, float | None]:
    """The first question's scores for this ranking."""
    return data.measure(data.cases[0], [named_hit(name) for name in names])


def at_rank(rank: int, name: str) -> list[str]:
    """A ranking with the name at this rank."""
    return [*(f"other {number}" for number in range(1, rank)), name]
