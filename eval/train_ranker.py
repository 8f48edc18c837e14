"""`treeline train-ranker`: the learnt ranker's weights from any corpus with docstrings, in minutes, no GPU."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import click
import numpy as np
from rich.console import Console

from treeline.corpus.analysis import analyse
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.loading import load
from treeline.encoder.protocol import DEFAULT_ENCODER, Encoder
from treeline.engine.protocol import EncoderSpec
from treeline.engine.stores import open_store
from treeline.eval.hidden_docstrings import Question, questions
from treeline.eval.ranker_training import Example, before, fit, sweep
from treeline.ingest.opening import functions_of, open_source
from treeline.rerank.arrange import DEPTH
from treeline.rerank.features import NAMES, features
from treeline.rerank.learnt import WEIGHTS
from treeline.rerank.spread import COST
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.settings import Settings

BATCH = 2_000
SHARE = 0.2  # chosen on questions other than these (docs/ranking.md)
INDEX = "hidden"
PATIENCE = 120.0  # seconds a lane may take: nobody waits for the answers, and a busy machine must not drop any


@click.command("train-ranker")
@click.argument("sources", nargs=-1, required=True)
@click.option("--questions", "count", default=2_000, show_default=True, help="To learn from, and to check on.")
@click.option("--out", type=click.Path(path_type=Path), default=WEIGHTS, help="File to write; else the shipped one.")
@click.option("--learn-from", default="valid", show_default=True, help="Partition whose docstrings are asked.")
@click.option("--check-on", default="test", show_default=True, help="Partition that the result is checked on.")
@click.option("--share", default=SHARE, show_default=True, help="Of the learnt score beside the fused one.")
@click.option("--cost", default=COST, show_default=True, help="What a result above from the same repository costs.")
@click.option("--without", multiple=True, type=click.Choice(NAMES), help="Leave out a column.")
@click.option("--seed", default=0, show_default=True)
def command(
    sources: tuple[str, ...],
    count: int,
    out: Path,
    learn_from: str,
    check_on: str,
    share: float,
    cost: float,
    without: tuple[str, ...],
    seed: int,
) -> None:
    """Learn how to rank from SOURCES: their docstrings are hidden, asked, and grade what is found.

    Take partitions that the encoder was not trained on, or the dense lane looks better than it is.
    """
    console = Console(stderr=True)
    encoder = load(DEFAULT_ENCODER)
    assert encoder is not None
    functions = [function for source in sources for function in functions_of(open_source(source))]
    if not functions:
        raise InputError(
            f"{' '.join(sources)} has no functions", "give a CodeSearchNet folder, or another source with docstrings"
        )
    console.print(f"{len(functions):,} functions; hiding their docstrings and indexing the rest …")
    with tempfile.TemporaryDirectory() as folder:
        searcher = _index(Path(folder), functions, encoder)
        learning = _examples(searcher, questions(functions, learn_from, count, seed))
        checking = _examples(searcher, questions(functions, check_on, count, seed))
        searcher.engine.close()
    if not any(example.gains.any() for example in learning) or not any(example.gains.any() for example in checking):
        raise InputError(f"no question about {learn_from} or {check_on} found an answer", "give more functions")
    columns = fit(learning, [name for name in NAMES if name not in without])
    console.print("as fused:  NDCG@10 {1:.4f}, repositories@10 {2:.2f}".format(*before(checking)))
    for row in sweep(checking, columns, share):
        console.print("cost {:.2f}: NDCG@10 {:.4f}, repositories@10 {:.2f}".format(*row))
    made = (
        f"treeline train-ranker --questions {count} --seed {seed}, {len(functions)} functions, encoder {encoder.name}: "
        f"first sentences of {learn_from} docstrings, hidden from the search and grading what it finds"
    )
    out.write_text(json.dumps({"made": made, "share": share, "repository": cost, "columns": columns}, indent=1) + "\n")
    console.print(f"wrote {out}")


def _index(folder: Path, functions: Sequence[Function], encoder: Encoder) -> Searcher:
    """An index of the same functions, under the same ids, without their docstrings."""
    store = open_store("embedded", home=folder)
    with store.begin(INDEX, [EncoderSpec(encoder.name, encoder.dimension)], "ranker", fresh=True) as writer:
        remaining = iter(functions)
        while batch := [replace(function, docstring="", docstring_tokens=()) for function in islice(remaining, BATCH)]:
            vectors = encoder.encode_functions(batch)
            writer.write(batch, [analyse(function) for function in batch], {encoder.name: vectors})
        writer.publish()
    return Searcher(store.open(INDEX), {encoder.name: encoder}, Settings(lane_timeout=PATIENCE))


def _examples(searcher: Searcher, asked: Sequence[Question]) -> list[Example]:
    found = []
    for question in asked:
        lanes = searcher.lanes(Query(question.text[:500]), ("keyword", "dense"))
        head = searcher.fuse(lanes, limit=DEPTH)
        if not head:
            continue
        vectors = searcher.engine.vectors([candidate.id for candidate in head])
        table = features(head, vectors)
        gains = 2.0 ** np.array([question.grades.get(candidate.id, 0.0) for candidate in head]) - 1.0
        found.append(Example(head, table, gains))
    return found
