"""A frozen second name for a tantivy index that is still being written, so that a checkpoint can be gone back to."""

from __future__ import annotations

import shutil
from pathlib import Path

import orjson

from treeline.corpus.errors import TreelineError
from treeline.engine.durable import link_or_copy, sync_tree

ATTEMPTS = 50  # a merge may finish in between; each finished merge can spoil one attempt
META = "meta.json"
MANAGED = ".managed.json"


def freeze(text: Path, target: Path) -> None:
    """Link what the last commit consists of. Files of a commit never change; a merge replaces the list of them."""
    for _ in range(ATTEMPTS):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        meta = (text / META).read_bytes()
        segments = {segment["segment_id"].replace("-", "") for segment in orjson.loads(meta)["segments"]}
        try:
            for path in text.iterdir():
                if path.name.partition(".")[0] in segments:
                    link_or_copy(path, target / path.name)
            managed = (text / MANAGED).read_bytes()
        except FileNotFoundError:
            continue
        if (text / META).read_bytes() == meta:
            (target / META).write_bytes(meta)
            (target / MANAGED).write_bytes(managed)
            sync_tree(target)
            return
    raise TreelineError(f"the text index in {text} does not come to rest", "run it again")
