"""The files of an index as a terminal sees them: the text on disk in a project, paths relative to where one stands."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes, urlsplit

from treeline.corpus.errors import TreelineError
from treeline.corpus.function import Address, Function
from treeline.ingest.source import MAX_FILE_BYTES, on_disk, read_plain, readable
from treeline.search.answer import CONTAINERS

if TYPE_CHECKING:
    from treeline.engine.texts import FileTexts

TEXTS_KEPT = 64  # files


def local_file(url: str) -> str:
    """The path on this machine that a URL leads to; '' for one on the web."""
    local = urlsplit(url)
    return os.fsdecode(unquote_to_bytes(local.path)) if local.scheme == "file" else ""


class IndexFiles:
    """Reads files below `root`, the folder of a project; without one, from the texts that the index keeps."""

    def __init__(self, root: Path | None = None, texts: Callable[[], FileTexts | None] = lambda: None) -> None:
        self.root = root
        self._texts = texts
        self._text = lru_cache(TEXTS_KEPT)(self._read_text)

    def path(self, address: Address) -> str:
        """A unit's path for printing: one that opens from here, if its file is on this machine."""
        if self.root is not None:
            return os.path.relpath(f"{self.root}/{address.path}")
        file = readable(local_file(address.url))
        return file.removeprefix(f"{Path.cwd()}/") or f"{address.repo}/{address.path}"

    def text(self, address: Address) -> str | None:
        """The text of a unit's file; None where it is gone or was never kept."""
        return self._text(address.repo, address.path, address.url.partition("#")[0])

    def read(self, repo: str, path: str, url: str) -> bytes | None:
        """A file's bytes; None where it is gone or was never kept."""
        texts = self._texts()
        if self.root is None and texts is not None:
            try:
                return texts.read(repo, path)
            except TreelineError:  # damaged; the unit's own text is there
                return None
        file = on_disk(self.root, path) if self.root else local_file(url)
        content = read_plain(file, MAX_FILE_BYTES, top=str(self.root or "")) if file else ""
        return content if isinstance(content, bytes) else None

    def _read_text(self, repo: str, path: str, url: str) -> str | None:
        content = self.read(repo, path, url)
        return None if content is None else content.decode("utf-8", "replace").removeprefix("\ufeff")

    def unit(self, unit: Function) -> tuple[str, int]:
        """A unit as its file has it, and the number of its first line: the index has a class without its methods. The
        index's text where the file is gone or has changed since."""
        lines, own = unit.address.lines, unit.original_string.strip("\n")
        text = self.text(unit.address) if lines else None
        if lines is None or text is None:
            return own, lines[0] if lines else 0
        whole = text.split("\n")[lines[0] - 1 : lines[1]]
        is_same = whole and (unit.kind in CONTAINERS or whole[0].strip().startswith(own.split("\n", 1)[0].strip()))
        return ("\n".join(whole) if is_same else own), lines[0]
