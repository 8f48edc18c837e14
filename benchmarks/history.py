"""Questions to the history of real repositories, whose answers were fixed before the first search: commits, the last
commits of a folder, or its most frequent authors.

    python -m benchmarks.history FOLDER    # with a git directory OWNER+NAME/repo for each repository
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson

from treeline.encoder.protocol import DEFAULT_ENCODER
from treeline.graph.history import History, history_file
from treeline.ingest.history import update
from treeline.search.commits import ask_history

QUESTIONS = Path(__file__).parent / "data" / "history.jsonl"
DEPTH, AUTHORS = 10, 2


def ranks(folder: Path) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Each question with the ranks, from 1, of its answers."""
    rows = [orjson.loads(line) for line in QUESTIONS.read_bytes().splitlines()]
    for repo, group in groupby(rows, key=lambda row: row["repo"]):
        with TemporaryDirectory() as home:
            update(Path(home), "index", {repo: folder / repo.replace("/", "+") / "repo"})
            with closing(History(history_file(Path(home), "index"))) as history:
                for row in group:
                    answer = ask_history(history, row["question"], "", DEPTH, DEFAULT_ENCODER)
                    names = [person.name for person in answer.people[:AUTHORS]]
                    names += [] if names else [one.commit.hash for one in answer.rows]
                    targets = row.get("commits") or row["authors"]
                    yield row, [rank for rank, name in enumerate(names, 1) if name in targets]


def main() -> None:
    first = []
    for row, own in ranks(Path(sys.argv[1])):
        targets = row.get("commits") or row["authors"]
        if "authors" in row or len(targets) == DEPTH:
            print(f"{len(own)} of {len(targets)}  {row['question']}")
        else:
            first.append(min(own, default=0))
    positions = np.array(first)
    values = [1 / rank if rank else 0.0 for rank in first]
    shares = [float(((positions > 0) & (positions <= k)).mean()) for k in (1, 5, DEPTH)]
    line = "{} questions: first {:.2f}, five {:.2f}, ten {:.2f}, MRR {:.3f}"
    print(line.format(len(first), *shares, np.mean(values)))


if __name__ == "__main__":
    main()
