"""The parsers against what others made: CodeSearchNet's stored functions and its official parser's line ranges."""

import gzip
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.ingest.reading import SHARED
from treeline.ingest.parsers.outline import outline, single
from treeline.ingest.parsers.registry import grammars

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.exists(), reason="CodeSearchNet's data is not in ../shared"),
]
SAMPLE = 20_000


def stored() -> Iterator[dict[str, Any]]:
    """A sample over all shards, the same on every run."""
    chance, wanted = random.Random(7), SAMPLE / 182_431
    for path in sorted(SHARED.glob("python/final/jsonl/*/*.jsonl.gz")):
        with gzip.open(path) as lines:
            for line in lines:
                if chance.random() < wanted * 1.02:
                    yield orjson.loads(line)


@pytest.mark.slow
def test_name_and_docstring_found_in_stored_functions_are_the_stored_ones() -> None:
    python, missed, count = grammars()["python"], list[str](), 0
    for record in stored():
        count += 1
        found = single(python, record["original_string"].encode(), record["func_name"])
        if (found.name, found.doc.text) != (record["func_name"].rpartition(".")[2], record["docstring"]):
            missed.append(record["url"])
    assert count >= SAMPLE
    # All of them, when this was written; a grammar's next version may see a few otherwise.
    assert len(missed) <= count * 0.01, missed[:20]


def test_the_official_parsers_line_ranges_are_found_exactly_in_six_languages() -> None:
    found, listed, missed = Counter[str](), Counter[str](), []
    with gzip.open(SHARED / "annotated_files.jsonl.gz") as lines:
        for line in lines:
            file = orjson.loads(line)
            language = file["language"]
            ranges = {
                (one.first_line, one.last_line)
                for one in outline(grammars()[language], file["source"].encode()).functions
            }
            for wanted in map(tuple, file["functions"]):
                listed[language] += 1
                found[language] += wanted in ranges
                if wanted not in ranges:
                    missed.append((file["path"], wanted))
    assert set(listed) == {"python", "java", "go", "javascript", "php", "ruby"}
    assert sum(listed.values()) == 357
    # A callback of six lines inside a function of seventeen: it belongs to the outer one, so that a search does not
    # list both.
    assert missed == [("lib/tracers.js", (63, 68))]
