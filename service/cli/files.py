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


class IndexFiles:
    """Reads files below `root`, the folder of a project; without one, from the texts that the index keeps."""

    def __init__(self, root: Path | None = None, texts: Callable[[], FileTexts | None] = lambda: None) -> None:
        self.root = root
        self._texts = texts
        self.text = lru_cache(TEXTS_KEPT)(self._text)

    def path(self, address: Address) -> str:
        """A unit's path for printing: one that opens from here, if its file is on this machine."""
        if self.root is not None:
            return os.path.relpath(f"{self.root}/{address.path}")
        local = urlsplit(address.url)
        file = readable(os.fsdecode(unquote_to_bytes(local.path))) if local.scheme == "file" else ""
        return file.removeprefix(f"{Path.cwd()}/") or f"{address.repo}/{address.path}"

    def read(self, repo: str, path: str) -> bytes | None:
        """A file's bytes; None where it is gone or was never kept."""
        if self.root is not None:
            content = read_plain(on_disk(self.root, path), MAX_FILE_BYTES, top=str(self.root))
            return content if isinstance(content, bytes) else None
        texts = self._texts()
        try:
            return texts.read(repo, path) if texts else None
        except TreelineError:  # damaged; the unit's own text is there
            return None

    def _text(self, repo: str, path: str) -> str | None:
        content = self.read(repo, path)
        return None if content is None else content.decode("utf-8", "replace").removeprefix("\ufeff")

    def unit(self, unit: Function) -> tuple[str, int]:
        """A unit as its file has it, and the number of its first line: the index has a class without its methods. The
        index's text where the file is gone or has changed since."""
        lines, own = unit.address.lines, unit.original_string.strip("\n")
        text = self.text(unit.repo, unit.path) if lines else None
        if lines is None or text is None:
            return own, lines[0] if lines else 0
        whole = text.split("\n")[lines[0] - 1 : lines[1]]
        is_same = whole and (unit.kind in CONTAINERS or whole[0].strip().startswith(own.split("\n", 1)[0].strip()))
        return ("\n".join(whole) if is_same else own), lines[0]
