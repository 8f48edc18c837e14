"""Questions whose answer is known: what people asked and chose, or what somebody wrote down for a function."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function

Answered = Mapping[str, Sequence[str]]  # a function's URL → the questions that it answers


def read_answered(files: Iterable[Path]) -> Answered:
    """JSON lines (`.gz` too) with `query` and the answer's `url`; the questions of each function in their order."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        # As bytes: what else ends a line for Unicode (U+2028), JSON may hold in a string.
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                one = json.loads(line)
                found[one["url"]].append(one["query"])
            except (ValueError, TypeError, KeyError) as error:
                raise InputError(
                    f"{file}, line {number}, is no question with its answer", 'write {"query": …, "url": …}'
                ) from error
    return dict(found)


def numbered(answered: Answered, functions: Sequence[Function]) -> list[tuple[str, int]]:
    """Each question whose answer is among the functions, with the function's number."""
    return [
        (question, number) for number, function in enumerate(functions) for question in answered.get(function.url, ())
    ]
