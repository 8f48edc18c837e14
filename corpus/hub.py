"""Models by name: from a folder, the local cache, or the model hub if it answers quickly."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TypeVar

from treeline.corpus.errors import EngineUnavailable

Model = TypeVar("Model")

AT_THE_HUB = re.compile(r"[\w.-]+(?:/[\w.-]+)?")  # a hub name, not a path
ANSWER_TIMEOUT_S = 5.0  # seconds for the hub's first answer; its own retries take up to a minute
RETRY_SECONDS = 300.0  # seconds before an unreachable hub is tried again
TALKATIVE = ("huggingface_hub", "transformers", "sentence_transformers")  # they log every retry

_lock = threading.Lock()
_away_since: float | None = None


class HubUnavailable(EngineUnavailable):
    """A model is not on this machine, and the hub cannot be reached."""


def load_model(model: str, make: Callable[[bool], Model]) -> Model:
    """Call `make(local_files_only)`, first with local files only. Raises `HubUnavailable`, or what `make` raises."""
    away = HubUnavailable(
        f"the model {model!r} is not on this machine and the model hub does not answer",
        "give the folder of a model, or try again in a few minutes",
    )
    elsewhere = not Path(model).exists() and AT_THE_HUB.fullmatch(model) is not None
    with _lock, _quiet():
        if (
            elsewhere and not is_cached(model) and not answers()
        ):  # fail before `make` imports torch, which takes seconds
            raise away
        try:
            return make(True)
        except (OSError, ValueError, RuntimeError, KeyError):
            if not elsewhere:
                raise
        if not answers():
            raise away
        return make(False)


def is_cached(model: str) -> bool:
    """Whether the model was downloaded before (a name without an owner is one of sentence-transformers')."""
    from huggingface_hub import constants

    folder = Path(os.environ.get("SENTENCE_TRANSFORMERS_HOME") or constants.HF_HUB_CACHE)
    return any(folder.glob(f"models--*{model.replace('/', '--')}"))


def answers() -> bool:
    """Whether the hub answers; a failure is remembered for a while."""
    global _away_since
    if _away_since is not None and monotonic() - _away_since < RETRY_SECONDS:
        return False
    reply = threading.Event()
    # In a thread, because a name lookup has no time-out.
    thread = threading.Thread(target=_ask, args=(reply,), name="hub", daemon=True)
    thread.start()
    thread.join(ANSWER_TIMEOUT_S)  # returns at once if the hub refuses
    _away_since = None if reply.is_set() else monotonic()
    return _away_since is None


def _ask(reply: threading.Event) -> None:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    from huggingface_hub import constants

    address = constants.ENDPOINT
    if constants.HF_HUB_OFFLINE or not address.startswith(("https://", "http://")):
        return
    try:
        urlopen(Request(address, method="HEAD"), timeout=ANSWER_TIMEOUT_S).close()  # noqa: S310 - the scheme is checked
    except HTTPError:
        pass  # an answer too
    except (OSError, ValueError, HTTPException):
        return
    reply.set()


@contextmanager
def _quiet() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in TALKATIVE]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
