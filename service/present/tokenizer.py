"""Code as pieces with a CSS class each, made by a process that a hostile text may end (`syntax.py`).

A text without a grammar, beyond a limit, or that ended the process is one plain piece, and that is remembered.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b

import orjson

log = logging.getLogger(__name__)

PLAIN = ""  # the class of what has none
LENGTH_BYTES = 4  # in front of a question and of an answer
LONGEST = 400_000  # bytes of a text
CACHED_TEXTS = 4_096
PATIENCE = 0.5  # seconds that a page waits while the process is busy with others
MOST_REFUSED = 10_000  # texts that are remembered as plain
Pieces = tuple[tuple[str, str], ...]


class Busy(Exception):
    """The process is busy with other texts."""


class Tokenizer:
    """The process; started for the first text, and again for the first after one that ended it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._refused: set[bytes] = set()

    def spans(self, text: str, language: str, *, alone: bool) -> list[tuple[int, str]]:
        """The ends of the text's parts in bytes, each with its class; none if it has to stay plain."""
        question = orjson.dumps((language, alone, text))
        digest = blake2b(question, digest_size=16).digest()
        if digest in self._refused:
            return []
        if not self._lock.acquire(timeout=PATIENCE):
            raise Busy
        try:
            return self._ask(question)
        except (OSError, EOFError) as error:
            log.info("a text of %d bytes in %s stays plain: %s", len(text), language, error)
            if len(self._refused) >= MOST_REFUSED:
                self._refused.clear()
            self._refused.add(digest)
            self._end()
            return []
        except BaseException:  # an interrupt: its answer would be taken for the next one
            self._end()
            raise
        finally:
            self._lock.release()

    def _ask(self, question: bytes) -> list[tuple[int, str]]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "treeline.service.present.syntax"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt is for the program
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(len(question).to_bytes(LENGTH_BYTES) + question)
        self._process.stdin.flush()
        length = int.from_bytes(self._process.stdout.read(LENGTH_BYTES))
        answer = self._process.stdout.read(length)
        if not length or len(answer) < length:
            raise EOFError("its grammar failed, or took too long or too much memory")
        spans: list[tuple[int, str]] = orjson.loads(answer)
        return spans

    def close(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                process.kill()
            process.communicate()


tokenizer = Tokenizer()
atexit.register(tokenizer.close)
os.register_at_fork(after_in_child=lambda: tokenizer.__init__())  # type: ignore[misc]  # two may not share the pipes


def pieces(text: str, language: str) -> Pieces:
    """(class, text) pieces of a file; neighbours have different classes."""
    with suppress(UnicodeEncodeError, Busy):
        return _pieces(text, language, alone=False)
    return ((PLAIN, text),)


def unit_pieces(text: str, language: str) -> Pieces:
    """The same of one unit, or of some of its lines."""
    with suppress(UnicodeEncodeError, Busy):
        return _unit_pieces(text, language)
    return ((PLAIN, text),)


@lru_cache(CACHED_TEXTS)
def _unit_pieces(text: str, language: str) -> Pieces:
    return _pieces(text, language, alone=True)


def _pieces(text: str, language: str, *, alone: bool) -> Pieces:
    source = text.encode()
    spans = tokenizer.spans(text, language, alone=alone) if 0 < len(source) <= LONGEST else []
    return tuple(_cut(source, spans)) if spans else ((PLAIN, text),)


def _cut(source: bytes, spans: list[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    start = 0
    for end, css in spans:
        yield css, source[start:end].decode()
        start = end
