"""The index behind an agent's tools, with the short handles that stand for its functions in one conversation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.engine.protocol import Hit
from treeline.search.answer import Answer
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.meant import Ambiguous, meant
from treeline.search.query import Query
from treeline.search.settings import Settings
from treeline.service.mcp.text import HANDLE_LENGTH, Listed, handle, rendered

REMEMBERED = 10_000  # handles kept for one conversation


class Library:
    """The index behind the tools: opened when first asked, with the handles it has given out. An agent may call several
    tools at once, each in a thread of its own."""

    def __init__(self, settings: Settings, searcher: LiveSearcher | None = None) -> None:
        self.settings = settings
        self._searcher = searcher
        self._handles: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def searcher(self) -> LiveSearcher:
        with self._lock:
            if self._searcher is None:
                self._searcher = open_searcher(self.settings, without_encoder=True)
            return self._searcher

    def refresh(self) -> None:
        if self._searcher is not None:
            self._searcher.refresh()

    def search(self, query: Query) -> Answer:
        return self.searcher.search(query)

    def fetch(self, ids: list[str]) -> dict[str, Function]:
        return {function.id: function for function in self.searcher.engine.fetch(ids)}

    def show(self, items: list[Listed], budget: int, opening: str = "", *, with_code: bool = True) -> str:
        """The list as text; its handles are remembered."""
        with self._lock:
            for item in items:
                self._handles[handle(item.function.id)] = item.function.id
                self._handles.move_to_end(handle(item.function.id))
            while len(self._handles) > REMEMBERED:
                self._handles.popitem(last=False)
        return rendered(items, budget, opening=opening, with_code=with_code)

    def find(self, reference: str) -> Function:
        """The function that a handle, an id or a name means; a name that means several is told apart."""
        reference = reference.strip().strip("[]")
        identity = self._handles.get(reference[:HANDLE_LENGTH], "")
        if identity.startswith(reference) and (function := self.searcher.function(identity)):
            return function
        try:
            return meant(self.searcher, reference, otherwise="search_code finds it by what it does")
        except Ambiguous as several:
            raise InputError(self._choice(several)) from None

    def _choice(self, several: Ambiguous) -> str:
        """The functions of one name with their handles; where there are more, how to narrow it down."""
        narrower = ", with a longer name (Class.name), or ask search_code for the name with a repo"
        said = f"{several.message}; ask again with one handle{narrower if several.more else ''}:"
        items = [Listed(one) for one in several.functions]
        return self.show(items, self.settings.mcp_tokens, said, with_code=False)

    def listed(self, hits: list[Hit], note: Callable[[Hit], str]) -> list[Listed]:
        bodies = self.fetch([hit.id for hit in hits])
        return [Listed(bodies[hit.id], note(hit)) for hit in hits if hit.id in bodies]
