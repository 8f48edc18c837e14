"""Figures of a benchmark: printed while they are measured, and written as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.eval.report.results import stamp

JSON = click.option("--json", "json_file", default="", metavar="FILE", help="Write the figures; - for stdout.")


class Report:
    """Prints lines, beside the JSON if that goes to standard output, and writes the document."""

    def __init__(self, json_file: str) -> None:
        self.file = Path(json_file) if json_file not in {"", "-"} else None
        self._to_stdout = json_file == "-"
        self.console = Console(stderr=self._to_stdout, highlight=False)

    def tell(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)  # a table keeps its lines in a file too

    def write(self, document: dict[str, Any]) -> None:
        data = orjson.dumps(stamp(document), option=orjson.OPT_INDENT_2) + b"\n"
        if self._to_stdout:
            sys.stdout.buffer.write(data)
        elif self.file:
            try:
                self.file.write_bytes(data)
            except OSError as error:
                raise InputError(f"{self.file} cannot be written: {error.strerror}") from None
            self.tell(f"written: {self.file}")
