"""Can the engine answer now? It is asked for a count, in bounded time."""

from __future__ import annotations

from collections.abc import Callable

from treeline.corpus.errors import TreelineError
from treeline.engine.protocol import Engine, IndexInfo
from treeline.search.bounded import Bounded

KEPT = 0.5  # seconds that an answer is good for: many probes cost the engine one question


class Readiness(Bounded[IndexInfo]):
    """The index that is ready; raises `EngineUnavailable`, or whatever keeps it from being open."""

    def __init__(self, engine: Callable[[], Engine], seconds: float) -> None:
        def ask() -> IndexInfo:
            opened = engine()
            opened.count()
            return opened.info

        super().__init__(ask, seconds, KEPT)

    def info(self) -> IndexInfo | None:
        """The same for those who only want to know whether."""
        try:
            return self()
        except TreelineError:
            return None
