"""CodeSearchNet as Hugging Face has it: parquet with `func_code_string`, `func_documentation_string` and so on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from treeline.ingest.record import KNOWN, parse_records
from treeline.ingest.shards import StoredFile
from treeline.ingest.source import Chunk, Parsed, Problem, ReadOptions, Rejected

SUFFIX = ".parquet"
ROWS_A_CHUNK = 512
# A row group that claims to unpack to more than this is no dataset of functions.
MAX_GROUP_BYTES = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows, still in columns; the place of a problem is the number of its row."""

    file: str
    first: int
    batch: Any  # a pyarrow.RecordBatch
    size: int
    defaults: dict[str, str]
    options: ReadOptions

    def parse(self) -> Parsed:
        return parse_records(self._rows(), self.file, self.defaults, self.options)

    def _rows(self) -> Iterator[tuple[int, dict[str, Any] | str]]:
        try:
            rows = self.batch.to_pylist()
        except UnicodeDecodeError:
            rows = [self._row(index) for index in range(self.batch.num_rows)]
        yield from enumerate(rows, self.first)

    def _row(self, index: int) -> dict[str, Any] | str:
        try:
            row: dict[str, Any] = self.batch.slice(index, 1).to_pylist()[0]
        except UnicodeDecodeError as wrong:
            return f"not UTF-8: {wrong.reason} at byte {wrong.start}"
        return row


@dataclass(frozen=True)
class ParquetShard(StoredFile):
    """One parquet file."""

    def chunks(self) -> Iterator[Chunk]:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet

        options, row, told = self.options.for_workers(), 1, 0
        try:
            with parquet.ParquetFile(self.path) as file:
                meta = file.metadata
                columns = [name for name in file.schema_arrow.names if name in KNOWN]
                for group in range(meta.num_row_groups):
                    if meta.row_group(group).total_byte_size > MAX_GROUP_BYTES:
                        raise ValueError(f"row group {group} is over {MAX_GROUP_BYTES:,} bytes")
                for batch in file.iter_batches(ROWS_A_CHUNK, columns=columns):
                    share = self.size * batch.num_rows // max(1, meta.num_rows)
                    yield Rows(self.name, row, batch, share, self.defaults, options)
                    row, told = row + batch.num_rows, told + share
        except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
            reason = f"cannot be read further: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
            yield Rejected((Problem(self.name, row, reason),), self.size - told)
            return
        yield Rejected((), self.size - told)
