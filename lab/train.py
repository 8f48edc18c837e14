"""Trains the static encoder, the deep encoder, the reader of pairs, teachers and the paper's bag of words.

python -m lab.train static|deep|pairs|teacher|nbow SOURCE… --out FOLDER
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from lab.training.examples import Answered, match_answers, read_answers
from lab.training.options import CONTINUE, FROM_SCRATCH, Run
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.service.cli import main
from treeline.service.cli.options import OutputPath


@click.group
def command() -> None:
    """Train a model on the functions of SOURCES."""


@contextmanager
def needing_torch(what: str) -> Iterator[None]:
    """Name the missing extra if an import in the block fails."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"{what} needs torch and sentence-transformers: {error}", "install the `transformers` extra"
        ) from error


def chosen_values(**numbers: float | None) -> dict[str, Any]:
    """The options that were given, which override the defaults."""
    return {name: value for name, value in numbers.items() if value is not None}


def read_functions(sources: tuple[str, ...]) -> list[Function]:
    """All functions of the sources. Records that cannot be read are counted in the log."""
    from treeline.ingest.sources import functions_of, open_source

    return [function for source in sources for function in functions_of(open_source(source))]


def read_lines(files: tuple[Path, ...]) -> tuple[str, ...]:
    """The queries in text, CSV or JSON lines files."""
    # Not `splitlines`: JSON strings may contain other Unicode line ends (U+2028).
    lines = [line.strip() for file in files for line in file.read_text(encoding="utf-8").split("\n")]
    return tuple(json.loads(line)["query"] if line.startswith("{") else line for line in lines if line)


FILES = click.Path(exists=True, path_type=Path)
NEVER = click.option(
    "--never",
    type=FILES,
    multiple=True,
    callback=lambda _context, _option, files: read_lines(files),
    help="File of questions (lines, or JSON lines with `query`) to keep out of the training examples.",
)
ANSWERED = click.option(
    "--answered",
    type=FILES,
    multiple=True,
    callback=lambda _context, _option, files: read_answers(files),
    help="JSON lines of questions by people (`query`), each with the `url` of the function that answers it. They have "
    "the most weight; those for held-out functions decide when to stop.",
)
GENERATED = click.option(
    "--generated",
    type=FILES,
    multiple=True,
    callback=lambda _context, _option, files: read_answers(files),
    help="Like --answered, but written by a model (`python -m lab.write_questions`); they have less weight.",
)
RATE = click.option("--rate", type=float, help="Learning rate; smaller models need a higher one.")
DEVICE = click.option("--device", default="", help="cuda or cpu; by default the GPU if there is one.")


RUN = Run()


@command.command("static")
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
    help="Where to start: `static` (the shipped encoder) or a folder that this command wrote continues its training; a "
    "model gives its token vectors. Default: the first teacher.",
)
@click.option(
    "--fields",
    type=float,
    nargs=4,
    callback=lambda _context, _option, factors: factors or (),
    metavar="NAME DOCSTRING CODE PLACE",
    help="Factors for the weight of each part of a function; only when continuing from an encoder.",
)
@click.option("--out", type=OutputPath(folder=True), required=True, help="Folder to write the encoder to.")
@NEVER
@click.option("--version", "version", default="own", show_default=True, help="Written into the folder.")
@click.option("--vocabulary", default=RUN.vocabulary, show_default=True, help="Tokens.")
@click.option("--pairs", default=RUN.pairs, show_default=True, help="Token pairs that get their own vector.")
@click.option("--dimension", default=RUN.dimension, show_default=True)
@click.option("--hidden", default=RUN.hidden, show_default=True, help="Width of the hidden layer; 0 for a plain table.")
@click.option("--questions", default=RUN.questions, show_default=True, help="Synthetic questions beside the examples.")
@click.option(
    "--wishes",
    type=FILES,
    multiple=True,
    callback=lambda _context, _option, files: read_lines(files),
    help="File of task descriptions (lines, or JSON lines with `query`), such as packages' descriptions.",
)
@ANSWERED
@GENERATED
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help=f"Default: {FROM_SCRATCH.epochs}, or {CONTINUE.epochs} when continuing from an encoder.",
)
@click.option(
    "--way",
    type=click.FloatRange(0, 1, min_open=True),
    help=f"Interpolation between the starting encoder (0) and the newly trained one (1). Default: {CONTINUE.way}, "
    "which forgets less; use 1 if there is much to learn.",
)
@click.option("--batch", default=RUN.options.batch, show_default=True)
@click.option("--seed", default=RUN.options.seed, show_default=True)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=RUN.runs,
    show_default=True,
    help="Runs from the same encoder with different seeds; writes their average, which is better than any of them.",
)
@DEVICE
def static(sources: tuple[str, ...], out: Path, **chosen: Any) -> None:
    """Train a static encoder on the functions of SOURCES.

    Functions of the partitions `valid` and `test` (or of every tenth repository where there are no partitions) are
    held out: training stops when finding them no longer improves.
    """  # fmt: skip
    console = Console(stderr=True)
    with needing_torch("training"):
        from lab.training.run import static_folder, train
    continued = static_folder(chosen["start"] or chosen["teachers"][0])
    if not continued:
        if chosen["fields"]:
            raise InputError("--fields reweights an existing encoder", "continue from one: --start static")
        if chosen["runs"] > 1:
            raise InputError("runs can be averaged only if all start from the same encoder", "add --start static")
        if chosen["way"]:
            raise InputError("--way needs an encoder to start from", "continue from one: --start static")
    options = chosen_values(**{name: chosen.pop(name) for name in ("epochs", "way", "batch", "seed")})
    run = Run(**chosen, options=replace(CONTINUE if continued else FROM_SCRATCH, **options))
    functions = read_functions(sources)
    console.print(f"{len(functions):,} functions")
    scores = train(functions, run, out, console.print)
    click.echo(json.dumps({"folder": str(out), "scores": scores}))


def trains_a_transformer(command: Callable[..., None]) -> Callable[..., None]:
    """The options of `deep` and `pairs`, which `_train` takes."""
    shared = (
        click.argument("sources", nargs=-1, required=True),
        click.option(
            "--start",
            default="sentence-transformers/all-MiniLM-L6-v2",
            show_default=True,
            help="Where the training starts: a BERT model, by name or folder, or a folder that `deep` wrote.",
        ),
        click.option(
            "--teacher",
            default="",
            help="A sentence-transformers model to learn from as well: a name or a folder.",
        ),
        click.option("--out", type=OutputPath(folder=True), required=True, help="Folder to write the model to."),
        ANSWERED,
        GENERATED,
        NEVER,
        click.option("--version", default="own", show_default=True, help="Written into the folder."),
        click.option("--layers", type=click.IntRange(min=1), help="How many layers of the starting model to take."),
        click.option("--steps", type=click.IntRange(min=1)),
        click.option("--batch", type=click.IntRange(min=2), help="Questions per step."),
        RATE,
        click.option("--seed", type=int),
        DEVICE,
    )
    for option in reversed(shared):
        command = option(command)
    return command


@command.command("deep")
@trains_a_transformer
@click.option(
    "--way",
    type=click.FloatRange(0, 1, min_open=True),
    help="How much of each vector is the transformer's; the rest is the static encoder's.",
)
def deep(**chosen: Any) -> None:
    """Train a transformer that corrects the static vectors of the functions of SOURCES.

    It learns the --teacher's vectors, or without one from docstrings, and from --answered questions if there are any.
    Functions of the partitions `valid` and `test` (or of every tenth repository) are held out and measured at the end.
    Use the folder as an --encoder.
    """
    with needing_torch("training"):
        from lab.training.deep import DeepOptions, run
    _train(run, DeepOptions, **chosen)


@command.command("pairs")
@trains_a_transformer
@click.option(
    "--weight", type=click.FloatRange(0, min_open=True), help="How much its scores count beside the others in a search."
)
def pairs(**chosen: Any) -> None:
    """Train a transformer that reads a question and a function of SOURCES together.

    It learns from docstrings, comments and names of opposite functions, from --answered questions if there are any, and
    from the --teacher's similarities. Functions of the partitions `valid` and `test` (or of every tenth repository) are
    held out and measured at the end. Set TREELINE_READER to the folder to use it for --quality best.
    """
    with needing_torch("training"):
        from lab.training.pairs import PairOptions, run
    _train(run, PairOptions, **chosen)


def _train(
    run: Callable[..., dict[str, float]],
    options: Callable[..., Any],
    *,
    sources: tuple[str, ...],
    start: str,
    teacher: str,
    out: Path,
    answered: Answered,
    generated: Answered,
    never: tuple[str, ...],
    version: str,
    device: str,
    **numbers: float | None,
) -> None:
    """Train by `run`, with those of the `numbers` that were given as its options."""
    scores = run(
        read_functions(sources),
        options(**chosen_values(**numbers)),
        out,
        Console(stderr=True).print,
        model=start,
        answered=answered,
        generated=generated,
        never=never,
        version=version,
        device=device,
        teacher=teacher,
    )
    click.echo(json.dumps({"folder": str(out), "scores": scores}))


@command.command("teacher")
@click.argument("model")
@click.argument("sources", nargs=-1, required=True)
@ANSWERED
@GENERATED
@NEVER
@click.option("--out", type=OutputPath(folder=True), required=True, help="Folder to write the model to.")
@click.option("--epochs", type=click.IntRange(min=1))
@click.option(
    "--batch", type=click.IntRange(min=1), help="Questions per step; each is compared with all functions of the batch."
)
@RATE
@click.option("--scale", type=float, help="1 / temperature; use the model's original value if known.")
@DEVICE
def teacher(
    model: str,
    sources: tuple[str, ...],
    answered: Answered,
    generated: Answered,
    never: tuple[str, ...],
    out: Path,
    device: str,
    **numbers: float | None,
) -> None:
    """Fine-tune the sentence transformer MODEL on which functions of SOURCES answer the questions of --answered.

    Use the folder as a --teacher of the other commands, or as an --encoder.
    """
    console = Console(stderr=True)
    with needing_torch("training"):
        from lab.training.models import device_of
        from lab.training.run import learnable
        from lab.training.teacher import Tuning, tune
    from lab.training.data import QuestionSet, prepare
    from treeline.encoder.static import StaticEncoder

    functions = learnable(read_functions(sources))
    by_people, by_a_model = (match_answers(answers, functions) for answers in (answered, generated))
    questions = QuestionSet(answered=by_people, generated=by_a_model, never=never)
    data = prepare(functions, StaticEncoder.shipped().tokenizer, Counter(), questions)
    console.print(f"{len(functions):,} functions, {len(by_people) + len(by_a_model):,} questions with their answers")
    tuning = replace(Tuning(), **chosen_values(**numbers))
    tune(model, data, tuning, device_of(device), console.print).save(str(out))
    click.echo(str(out))


@command.command("nbow")
@click.argument("sources", nargs=-1, required=True)
@click.option("--out", type=OutputPath(folder=True), required=True, help="Folder to write the model to.")
@click.option(
    "--without",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="annotationStore.csv, whose functions are left out of training.",
)
@click.option("--epochs", type=click.IntRange(min=1))
def nbow(sources: tuple[str, ...], out: Path, without: Path | None, epochs: int | None) -> None:
    """Train a neural bag of words (Husain et al. 2019) on the docstrings of the functions of SOURCES.

    Use the folder as the --nbow of `treeline eval codesearchnet --paper`, or as an --encoder.
    """
    console = Console(stderr=True)
    with needing_torch("training"):
        from lab.training.nbow import NbowOptions, train_nbow
    judgements: set[str] = set()
    if without is not None:
        with without.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if "GitHubUrl" not in (rows.fieldnames or ()):
                raise InputError(f"{without} has no column GitHubUrl", "give the official annotationStore.csv")
            judgements = {row["GitHubUrl"] for row in rows}
    functions = [one for one in read_functions(sources) if one.docstring and one.url not in judgements]
    options = replace(NbowOptions(), **chosen_values(epochs=epochs))
    scores = train_nbow(functions, out, options, console.print)
    click.echo(json.dumps({"folder": str(out), "scores": scores}))


if __name__ == "__main__":
    main(command)
