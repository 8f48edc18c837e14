"""A query passes few files, so that a reader can follow it."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import treeline
from tests.search.small_index import NAME, shipped, small_store
from treeline.search.executor import Inline
from treeline.search.query import Query
from treeline.search.searcher import Searcher

PACKAGE = str(Path(treeline.__file__).parent)


def test_a_hybrid_search_passes_at_most_25_files(tmp_path: Path) -> None:
    encoder = shipped()
    searcher = Searcher(small_store(tmp_path).open(NAME), {encoder.name: encoder}, executor=Inline())
    query = Query("how to write text into a file", explain=False)  # as a terminal asks
    searcher.search(query)  # loads and caches
    files: set[str] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            files.add(frame.f_code.co_filename.removeprefix(PACKAGE))

    sys.setprofile(note)
    try:
        answer = searcher.search(query)
    finally:
        sys.setprofile(None)
        searcher.close()
    assert {"keyword", "dense"} <= {part.lane for one in answer.candidates for part in one.contributions}
    assert 20 < len(files) <= 25, " ".join(sorted(files))
