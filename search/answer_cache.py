"""The last answers, kept for those who ask again: paging back, the map beside its list, a popular question.

An answer is kept under everything it depends on (generation, question, feedback), so that it can never be stale; one
that a failing lane cut short, or whose slips of the keyboard were not looked up in time, is not kept. Answers hold on
to the generation they were found in, so they go with it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from treeline.search.answer import Answer


class AnswerCache:
    """At most `size` answers, the least recently used going first; safe to use from several threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._generation = ""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str, generation: str, search: Callable[[], Answer], *, explain: bool = True) -> Answer:
        """The kept answer with the time it took to find it, or what the search gives; who wants it explained is not
        given one that is not."""
        if not self._size:
            return search()
        begin = time.perf_counter()
        with self._lock:
            if generation != self._generation:
                self._answers.clear()
                self._generation = generation
            kept = self._answers.get(key)
            if kept is not None and explain and not kept.query.explain:
                kept = None
            if kept is not None:
                self._answers.move_to_end(key)
        if kept is not None:
            took = (time.perf_counter() - begin) * 1_000
            return replace(kept, timings={"cache": took, "total": took})
        answer = search()
        if not answer.degraded and not answer.spelt.unsure:
            with self._lock:
                if generation == self._generation:
                    self._answers[key] = answer
                while len(self._answers) > self._size:
                    self._answers.popitem(last=False)
        return answer
