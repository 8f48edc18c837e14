"""Where the text index keeps each row's body, so that a result is fetched without being searched for again.

tantivy numbers its documents by segment, and a merge numbers them anew: so the table of these numbers is written when
a generation is complete. Looking ten results up by their ids took .9 ms, this takes .2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tantivy import DocAddress, Query, Searcher

from treeline.engine.embedded.columns import Table, mapped

FILE = "document.npy"


class Documents:
    """The bodies of one generation, by position; of one in the making, the table is made when it is first needed."""

    def __init__(self, rows: Path, table: Table, searcher: Searcher) -> None:
        self._table, self._searcher = table, searcher
        path = rows / FILE
        self._places: NDArray[np.uint32] | None = mapped(path) if path.exists() else None

    def body(self, position: int) -> bytes:
        """What is stored of the row beside its columns."""
        if self._places is None:
            self._places = places(self._table, self._searcher)
        segment, document = self._places[position].tolist()
        body: bytes = self._searcher.doc(DocAddress(segment, document))["body"][0]
        return body


def places(table: Table, searcher: Searcher) -> NDArray[np.uint32]:
    """Segment and number of every row's document: each living document is asked for its serial (.1 s for 182,431)."""
    found = np.zeros((len(table), 2), dtype=np.uint32)
    if len(table):
        addresses = [address for _, address in searcher.search(Query.all_query(), len(table), count=False).hits]
        serials = np.array(searcher.fast_field_values("serial", addresses), dtype=np.int64)
        found[table.positions_of_serials(serials)] = [(address.segment_ord, address.doc) for address in addresses]
    return found


def write(rows: Path, searcher: Searcher) -> None:
    """Note them beside the rows of a generation whose segments stay as they are."""
    np.save(rows / FILE, places(Table(rows), searcher))
