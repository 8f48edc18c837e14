"""A searcher that stays current: each call is answered by the generation that is current when it begins."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from treeline.engine.protocol import IndexInfo
from treeline.search.generations import Generations
from treeline.search.searcher import Adjust, Searcher
from treeline.search.settings import Settings
from treeline.search.stores import open_store

Given = ParamSpec("Given")
Value = TypeVar("Value")


def open_searcher(
    settings: Settings, index: str = "", *, adjust: Adjust | None = None, without_encoder: bool = False
) -> LiveSearcher:
    """The searcher of the named (or the settings') index; raises `IndexMissing`, `EncoderMismatch`."""
    return LiveSearcher(
        open_store(settings),
        index or settings.index,
        settings,
        adjust=adjust,
        cache=settings.cache_path,
        without_encoder=without_encoder,
    )


def _now(
    method: Callable[Concatenate[Searcher, Given], Value],
) -> Callable[Concatenate[LiveSearcher, Given], Value]:
    """The method of a searcher, called on the current one, which stays open meanwhile."""

    @wraps(method)
    def called(live: LiveSearcher, /, *given: Given.args, **named: Given.kwargs) -> Value:
        with live.searcher() as current:
            return method(current, *given, **named)

    return called


class LiveSearcher(Generations):
    """The methods of `Searcher` over whichever generation is current; searches in flight finish on theirs."""

    search = _now(Searcher.search)
    rank = _now(Searcher.rank)
    lanes = _now(Searcher.lanes)
    fuse = _now(Searcher.fuse)
    rerank = _now(Searcher.rerank)
    prepare = _now(Searcher.prepare)

    similar = _now(Searcher.similar)
    function = _now(Searcher.function)
    suggest = _now(Searcher.suggest)

    structure = _now(Searcher.structure)
    related = _now(Searcher.related)
    callers = _now(Searcher.callers)
    callees = _now(Searcher.callees)
    near = _now(Searcher.near)
    written = _now(Searcher.written)

    @property
    def info(self) -> IndexInfo:
        return self.engine.info
