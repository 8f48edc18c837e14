"""How well weak matches are noticed: `python -m benchmarks.weak QUESTIONS --checkouts DIR`.

QUESTIONS has a file of questions for each repository, as for `treeline eval repository`. Each repository is asked its
own questions, which have an answer, as many of others, and nonsense. The repositories are halved by their names' order:
the margin was chosen on the first half.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from treeline.eval.indexes import sources_searcher
from treeline.eval.sets.repository import Questions, Repository, read
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.folder import open_folder
from treeline.rerank.fusion import KINDS_IN_WORDS
from treeline.search.live import LiveSearcher
from treeline.search.query import Query
from treeline.search.settings import from_environment

NONSENSE = (
    "how are bananas peeled by the robot",
    "qwertz asdfgh yxcvbn",
    "best pizza topping for a rainy sunday",
    "blorf the snarkle with a wibble",
    "train schedule between Vienna and Prague",
    "molecular weight of caffeine",
    "predict the stock price of tomorrow",
    "where is the giraffe fed",
    "knitting pattern for a wool sweater",
    "quantum error correction of surface codes",
)
KINDS = ("own", "of others", "nonsense")
Counts = dict[str, list[bool]]


@click.command()
@click.argument("questions", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--checkouts", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
def command(questions: Path, checkouts: Path) -> None:
    """Say at how many questions in words the note of a weak match comes."""
    every = read(questions, checkouts)
    repositories = sorted(every.repositories, key=lambda one: one.name)
    for half, names in (("chosen on", repositories[::2]), ("held out", repositories[1::2])):
        counts: Counts = {kind: [] for kind in KINDS}
        for repository in names:
            ask(repository, every, counts)
        noted = (f"{kind} {sum(counts[kind])} of {len(counts[kind])}" for kind in KINDS)
        shares = (f"{100 * sum(counts[kind]) / len(counts[kind]):.1f} %" for kind in KINDS)
        click.echo(f"{half}, {len(names)} repositories: {', '.join(noted)} ({', '.join(shares)})")


def ask(repository: Repository, every: Questions, counts: Counts) -> None:
    own = [one.text for one in every.rows if one.repository == repository]
    others = [one.text for one in every.rows if one.repository != repository]
    sample = random.Random(repository.name).sample(others, min(len(own), len(others)))
    source = open_folder(str(repository.root), ReadOptions())
    with closing(sources_searcher(f"weak-{repository.name}".lower(), [source], from_environment())) as searcher:
        for kind, texts in zip(KINDS, (own, sample, NONSENSE), strict=True):
            counts[kind] += notes(searcher, texts)


def notes(searcher: LiveSearcher, texts: Sequence[str]) -> list[bool]:
    """Of each question in words, whether its match is called weak."""
    answers = (searcher.search(Query(text)) for text in texts)
    return [bool(answer.is_weak or answer.no_match) for answer in answers if answer.route in KINDS_IN_WORDS]


if __name__ == "__main__":
    from treeline.service.cli import main

    main(command)
