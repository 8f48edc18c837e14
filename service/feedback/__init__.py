"""Thumbs and opens: counted per (query, unit), used as a small, explained lift."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b

from treeline.corpus.errors import EngineUnavailable, TreelineError
from treeline.engine.names import check_name
from treeline.search.feedback import FeedbackStore, NoFeedback, Signal, Votes
from treeline.search.settings import Settings

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0  # between attempts to open a failing store
SALT_BYTES = 16


def open_feedback(settings: Settings) -> FeedbackStore:
    """SQLite beside the embedded indexes, an index on Elasticsearch, or `NoFeedback` if switched off."""
    if not settings.feedback:
        return NoFeedback()
    check_name(settings.index)  # it becomes part of a path
    return ReopeningFeedback(lambda: _open(settings))


def _open(settings: Settings) -> FeedbackStore:
    if settings.engine == "elasticsearch":
        from treeline.service.feedback.elastic import ElasticsearchFeedback

        return ElasticsearchFeedback.from_settings(settings)
    from treeline.service.feedback.sqlite import SqliteFeedback

    return SqliteFeedback(settings.home_path / ".feedback" / f"{settings.index}.sqlite3")


class ReopeningFeedback:
    """A store that may fail: searches then go on without votes, new votes are refused, and it is opened again later."""

    def __init__(self, open_store: Callable[[], FeedbackStore]) -> None:
        self._open = open_store
        self._lock = threading.Lock()
        self._tried = -RETRY_SECONDS
        self._failure: TreelineError | None = None
        self._opened: FeedbackStore | None = None
        try:
            self.store()
        except TreelineError as error:
            log.warning("searching without feedback: %s", error)

    def store(self) -> FeedbackStore:
        """The store; raises the reason if it cannot be opened."""
        with self._lock:
            if self._opened is None:
                if self._failure is not None and time.monotonic() - self._tried < RETRY_SECONDS:
                    raise self._failure
                self._tried = time.monotonic()
                try:
                    self._opened = self._open()
                except TreelineError as error:
                    self._failure = error
                    raise
            return self._opened

    def record(
        self, question: str, function: str, signal: Signal, amount: int = 1, voter: str = "", most: int = 0
    ) -> None:
        try:
            store = self.store()
        except TreelineError as error:
            raise EngineUnavailable(f"feedback cannot be kept: {error.message}", error.hint) from error
        store.record(question, function, signal, amount, voter, most)

    def votes(self, question: str) -> list[Votes]:
        try:
            store = self.store()
        except TreelineError:
            return []
        return store.votes(question)


def pseudonym(salt: bytes, voter: str, words: Sequence[str], function: str) -> str:
    """A salted hash of the voter, different for every query and unit, so that votes cannot be connected."""
    text = "\0".join([voter, *words, "", function])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).hexdigest()
