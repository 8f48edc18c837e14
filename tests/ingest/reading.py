"""Read a source to its end, as the pipeline does."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

from treeline.corpus.function import Function
from treeline.graph.references import FileFacts
from treeline.ingest.source import Chunk, Parsed, Problem, ReadOptions
from treeline.ingest.sources import open_source

SHARED = Path(__file__).parents[2].parent / "shared" / "codesearchnet"


def read(spec: str, options: ReadOptions | None = None) -> Parsed:
    """Every function in a source; each chunk goes through pickle, as on its way to a worker."""
    options = replace(options or ReadOptions(), kinds=frozenset({"function", "method"}))
    functions: list[Function] = []
    facts: list[FileFacts] = []
    problems: list[Problem] = []
    for unit in open_source(spec, options).units():
        for chunk in unit.chunks():
            sent: Chunk = pickle.loads(pickle.dumps(chunk))
            parsed = sent.parse()
            functions += parsed.functions
            facts += parsed.facts
            problems += parsed.problems
    return Parsed(tuple(functions), tuple(facts), tuple(problems))
