"""Ranked lists for tests, written as strings of one-letter ids."""

from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.rerank.fusion import RankedList


def address(name: str) -> Address:
    return Address("owner/repo", f"{name}.py", name, "python", f"https://example.org/{name}.py#L1-L2")


def ranked(lane: str, ids: str) -> RankedList:
    """A lane's list: scores fall by one from the first to the last."""
    return RankedList(lane, [Hit(id_, float(len(ids) - place), address(id_)) for place, id_ in enumerate(ids)])
