"""`treeline train-encoder`: train a static encoder from functions and teachers into a model folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.encoder.training.answered import read_answered
from treeline.encoder.training.options import AFRESH, GOING_ON, Run
from treeline.service.cli.target import Target
from treeline.service.cli.training import ANSWERED, DEVICE, GENERATED, NEVER, given, lines_of, needing_torch, read

RUN = Run()


@click.command("train-encoder")
@click.argument("sources", nargs=-1, required=True)
@click.option(
    "--teacher",
    "teachers",
    multiple=True,
    required=True,
    help="A sentence-transformers model, or a folder that this command wrote; repeat for several.",
)
@click.option(
    "--start",
    default="",
    help="What to start from: `static` (the shipped encoder) or a folder that this command wrote, to go on from; or a "
    "model, for its token vectors. Default: the first teacher.",
)
@click.option(
    "--fields",
    type=float,
    nargs=4,
    metavar="NAME DOCSTRING CODE PLACE",
    help="How much more or less each part of a function counts from now on; only where it goes on.",
)
@click.option("--out", type=Target(folder=True), required=True, help="Folder to write the encoder to.")
@NEVER
@click.option("--version", "version", default="own", show_default=True, help="Written into the folder.")
@click.option("--vocabulary", default=RUN.vocabulary, show_default=True, help="Tokens.")
@click.option("--pairs", default=RUN.pairs, show_default=True, help="Pairs of tokens with a vector of their own.")
@click.option("--dimension", default=RUN.dimension, show_default=True)
@click.option("--hidden", default=RUN.hidden, show_default=True, help="Width of the layer; 0 for a plain table.")
@click.option("--questions", default=RUN.questions, show_default=True, help="Made-up questions beside the examples.")
@click.option(
    "--wishes",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="File of what people want (lines, or JSON lines with `query`), such as what packages say they do.",
)
@ANSWERED
@GENERATED
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help=f"Default: {AFRESH.epochs}, or {GOING_ON.epochs} where it goes on.",
)
@click.option(
    "--way",
    type=click.FloatRange(0, 1, min_open=True),
    help=f"How far to go from the encoder it starts from to what it learns. Default: {GOING_ON.way}, which forgets "
    "less; 1 where much is to be learnt.",
)
@click.option("--batch", default=RUN.options.batch, show_default=True)
@click.option("--seed", default=RUN.options.seed, show_default=True)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=RUN.runs,
    show_default=True,
    help="Runs from one encoder with other seeds; their mean is written, which is better than each of them.",
)
@DEVICE
def command(
    sources: tuple[str, ...],
    teachers: tuple[str, ...],
    start: str,
    fields: tuple[float, ...] | None,
    out: Path,
    never: tuple[Path, ...],
    version: str,
    vocabulary: int,
    pairs: int,
    dimension: int,
    hidden: int,
    questions: int,
    wishes: tuple[Path, ...],
    answered: tuple[Path, ...],
    generated: tuple[Path, ...],
    epochs: int | None,
    way: float | None,
    batch: int,
    seed: int,
    runs: int,
    device: str,
) -> None:
    """Train a static encoder from the functions of SOURCES.

    Functions of the partitions `valid` and `test` (or of every tenth repository where there are no partitions) are
    held out: training stops when it no longer helps to find them.
    """  # fmt: skip
    console = Console(stderr=True)
    with needing_torch("training"):
        from treeline.encoder.training.run import goes_on_from, train
    going_on = goes_on_from(start or teachers[0])
    if fields and not going_on:
        raise InputError("--fields weighs an encoder's parts anew", "go on from one: --start static")
    if runs > 1 and not going_on:
        raise InputError("the mean of runs is one only where all begin with the same encoder", "--start static")
    if way and not going_on:
        raise InputError("--way begins with an encoder", "go on from one: --start static")
    options = GOING_ON if going_on else AFRESH
    functions = read(sources)
    console.print(f"{len(functions):,} functions")
    run = Run(
        teachers=teachers,
        start=start,
        fields=fields or (),
        version=version,
        vocabulary=vocabulary,
        pairs=pairs,
        dimension=dimension,
        hidden=hidden,
        questions=questions,
        wishes=lines_of(wishes),
        answered=read_answered(answered),
        generated=read_answered(generated),
        never=lines_of(never),
        options=replace(options, **given(epochs=epochs, way=way, batch=batch, seed=seed)),
        runs=runs,
        device=device,
    )
    scores = train(functions, run, out, console.print)
    click.echo(json.dumps({"folder": str(out), "scores": scores}))
