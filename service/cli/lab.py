"""Expert commands: train encoders and teachers, write questions, export models."""

from __future__ import annotations

import csv
import gzip
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.training.examples import match_answers, read_answers
from treeline.encoder.training.options import CONTINUE, FROM_SCRATCH, Run
from treeline.service.cli.options import LazyGroup, OutputPath

COMMANDS = {
    "tree": ("treeline.service.cli.tree:tree", "Show the repository tree and how well it is embedded."),
    "train-encoder": ("treeline.service.cli.lab:train_encoder", "Train the static encoder."),
    "train-deep": ("treeline.service.cli.lab:train_deep", "Train the deep encoder on top of the static one."),
    "train-pairs": (
        "treeline.service.cli.lab:train_pairs",
        "Train the model that reads results with the question (--quality best).",
    ),
    "train-teacher": (
        "treeline.service.cli.lab:train_teacher",
        "Fine-tune a transformer on which functions answer questions.",
    ),
    "train-nbow": ("treeline.service.cli.lab:train_bag_of_words", "Train a neural bag of words, the paper's baseline."),
    "write-questions": ("treeline.service.cli.lab:write_questions", "Have a language model write questions."),
    "torture": (
        "treeline.eval.torture.command:torture",
        "Kill, starve and damage loads and a server, and check what survives.",
    ),
    "export-onnx": (
        "treeline.service.cli.lab:export_onnx",
        "Write a transformer encoder in int8, to use without torch.",
    ),
}


@click.group(cls=LazyGroup, modules=COMMANDS)
def lab() -> None:
    """Commands for experts: training, exports, and the embedding of the tree."""


NEVER = click.option(
    "--never",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="File of questions (lines, or JSON lines with `query`) to keep out of the training examples.",
)
ANSWERED = click.option(
    "--answered",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="JSON lines of questions by people (`query`), each with the `url` of the function that answers it. They have "
    "the most weight; those for held-out functions decide when to stop.",
)
GENERATED = click.option(
    "--generated",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Like --answered, but written by a model (`treeline lab write-questions`); they have less weight.",
)
RATE = click.option("--rate", type=float, help="Learning rate; smaller models need a higher one.")
DEVICE = click.option("--device", default="", help="cuda or cpu; by default the GPU if there is one.")


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
    help="Where to start: `static` (the shipped encoder) or a folder that this command wrote continues its training; a "
    "model gives its token vectors. Default: the first teacher.",
)
@click.option(
    "--fields",
    type=float,
    nargs=4,
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
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
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
def train_encoder(
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
    """Train a static encoder on the functions of SOURCES.

    Functions of the partitions `valid` and `test` (or of every tenth repository where there are no partitions) are
    held out: training stops when finding them no longer improves.
    """  # fmt: skip
    console = Console(stderr=True)
    with needing_torch("training"):
        from treeline.encoder.training.run import static_folder, train
    going_on = static_folder(start or teachers[0])
    if fields and not going_on:
        raise InputError("--fields reweights an existing encoder", "continue from one: --start static")
    if runs > 1 and not going_on:
        raise InputError("runs can be averaged only if all start from the same encoder", "add --start static")
    if way and not going_on:
        raise InputError("--way needs an encoder to start from", "continue from one: --start static")
    options = CONTINUE if going_on else FROM_SCRATCH
    functions = read_functions(sources)
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
        wishes=read_lines(wishes),
        answered=read_answers(answered),
        generated=read_answers(generated),
        never=read_lines(never),
        options=replace(options, **chosen_values(epochs=epochs, way=way, batch=batch, seed=seed)),
        runs=runs,
        device=device,
    )
    scores = train(functions, run, out, console.print)
    click.echo(json.dumps({"folder": str(out), "scores": scores}))


def trains_a_transformer(command: Callable[..., None]) -> Callable[..., None]:
    """What `train-deep` and `train-pairs` have in common; `_train` takes it."""
    shared = (
        click.argument("sources", nargs=-1, required=True),
        click.option(
            "--start",
            default="sentence-transformers/all-MiniLM-L6-v2",
            show_default=True,
            help="Where the training starts: a BERT model, by name or folder, or a folder that `train-deep` wrote.",
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


@click.command("train-deep")
@trains_a_transformer
@click.option(
    "--way",
    type=click.FloatRange(0, 1, min_open=True),
    help="How much of each vector is the transformer's; the rest is the static encoder's.",
)
def train_deep(**chosen: Any) -> None:
    """Train a transformer that corrects the static vectors of the functions of SOURCES.

    It learns the --teacher's vectors, or without one from docstrings, and from --answered questions if there are any.
    Functions of the partitions `valid` and `test` (or of every tenth repository) are held out and measured at the end.
    Use the folder as an --encoder.
    """
    with needing_torch("training"):
        from treeline.encoder.training.deep import DeepOptions, run
    _train(run, DeepOptions, **chosen)


@click.command("train-pairs")
@trains_a_transformer
@click.option(
    "--weight", type=click.FloatRange(0, min_open=True), help="How much its scores count beside the others in a search."
)
def train_pairs(**chosen: Any) -> None:
    """Train a transformer that reads a question and a function of SOURCES together.

    It learns from docstrings, comments and names of opposite functions, from --answered questions if there are any, and
    from the --teacher's similarities. Functions of the partitions `valid` and `test` (or of every tenth repository) are
    held out and measured at the end. Set TREELINE_READER to the folder to use it for --quality best.
    """
    with needing_torch("training"):
        from treeline.encoder.training.pairs import PairOptions, run
    _train(run, PairOptions, **chosen)


def _train(
    run: Callable[..., dict[str, float]],
    options: Callable[..., Any],
    *,
    sources: tuple[str, ...],
    start: str,
    teacher: str,
    out: Path,
    answered: tuple[Path, ...],
    generated: tuple[Path, ...],
    never: tuple[Path, ...],
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
        answered=read_answers(answered),
        generated=read_answers(generated),
        never=read_lines(never),
        version=version,
        device=device,
        teacher=teacher,
    )
    click.echo(json.dumps({"folder": str(out), "scores": scores}))


@click.command("train-teacher")
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
def train_teacher(
    model: str,
    sources: tuple[str, ...],
    answered: tuple[Path, ...],
    generated: tuple[Path, ...],
    never: tuple[Path, ...],
    out: Path,
    epochs: int | None,
    batch: int | None,
    rate: float | None,
    scale: float | None,
    device: str,
) -> None:
    """Fine-tune the sentence transformer MODEL on which functions of SOURCES answer the questions of --answered.

    Use the folder as a --teacher of `train-encoder`, or as an --encoder.
    """
    console = Console(stderr=True)
    with needing_torch("training"):
        from treeline.encoder.training.models import device_of
        from treeline.encoder.training.run import learnable
        from treeline.encoder.training.teacher import Tuning, tune
    from treeline.encoder.static import StaticEncoder
    from treeline.encoder.training.data import QuestionSet, prepare

    learnt = learnable(read_functions(sources))
    by_people, by_a_model = (match_answers(read_answers(files), learnt) for files in (answered, generated))
    asked = QuestionSet(answered=by_people, generated=by_a_model, never=read_lines(never))
    data = prepare(learnt, StaticEncoder.shipped().tokenizer, Counter(), asked)
    console.print(f"{len(learnt):,} functions, {len(by_people) + len(by_a_model):,} questions with their answers")
    tuning = replace(Tuning(), **chosen_values(epochs=epochs, batch=batch, rate=rate, scale=scale))
    tune(model, data, tuning, device_of(device), console.print).save(str(out))
    click.echo(str(out))


@click.command("train-nbow")
@click.argument("sources", nargs=-1, required=True)
@click.option("--out", type=OutputPath(folder=True), required=True, help="Folder to write the model to.")
@click.option(
    "--without",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="annotationStore.csv, whose functions are left out of training.",
)
@click.option("--epochs", type=click.IntRange(min=1))
def train_bag_of_words(sources: tuple[str, ...], out: Path, without: Path | None, epochs: int | None) -> None:
    """Train a neural bag of words (Husain et al. 2019) on the docstrings of the functions of SOURCES.

    Use the folder as the --nbow of `treeline eval codesearchnet --paper`, or as an --encoder.
    """
    console = Console(stderr=True)
    with needing_torch("training"):
        from treeline.encoder.training.nbow import NbowOptions, train_nbow
    judged: set[str] = set()
    if without is not None:
        with without.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if "GitHubUrl" not in (rows.fieldnames or ()):
                raise InputError(f"{without} has no column GitHubUrl", "give the official annotationStore.csv")
            judged = {row["GitHubUrl"] for row in rows}
    functions = [one for one in read_functions(sources) if one.docstring and one.url not in judged]
    options = replace(NbowOptions(), **chosen_values(epochs=epochs))
    scores = train_nbow(functions, out, options, console.print)
    click.echo(json.dumps({"folder": str(out), "scores": scores}))


@click.command("write-questions")
@click.argument("model")
@click.argument("sources", nargs=-1, required=True)
@ANSWERED
@NEVER
@click.option("--out", type=OutputPath(), required=True, help="File to write, .jsonl or .jsonl.gz.")
@click.option("--each", type=click.IntRange(min=1), help="Questions a function.")
@click.option("--epochs", type=click.IntRange(min=1))
@click.option("--batch", type=click.IntRange(min=1), help="Functions at once.")
@RATE
@DEVICE
def write_questions(
    model: str,
    sources: tuple[str, ...],
    answered: tuple[Path, ...],
    never: tuple[Path, ...],
    out: Path,
    each: int | None,
    epochs: int | None,
    batch: int | None,
    rate: float | None,
    device: str,
) -> None:
    """Have the language model MODEL write questions for the functions of SOURCES.

    The model is first fine-tuned on the questions of --answered. Functions of held-out repositories are used for
    neither. Use the file as a --generated of `train-teacher` and `train-encoder`.
    """
    console = Console(stderr=True)
    with needing_torch("writing"):
        from treeline.encoder.training.models import device_of
        from treeline.encoder.training.run import learnable
        from treeline.encoder.training.writer import Writer, Writing, round_trip
    from treeline.encoder.training.data import essence

    functions = learnable(read_functions(sources))
    known = match_answers(read_answers(answered), functions)
    console.print(f"{len(functions):,} functions, {len(known):,} questions to learn from")
    writing = replace(Writing(), **chosen_values(epochs=epochs, batch=batch, rate=rate, each=each))
    writer = Writer(model, device_of(device))
    writer.learn(functions, known, writing, console.print)
    wanted = [function for function in functions if _worth_asking(function)]
    written = dict.fromkeys(writer.write(wanted, writing, console.print))
    forbidden = {essence(text) for text in read_lines(never)}
    asked = [question for question in written if (said := essence(question[0])) and said not in forbidden]
    kept = round_trip(asked, wanted)
    console.print(f"{len(kept):,} of {len(asked):,} questions find the function they were written for")
    lines = "".join(json.dumps({"query": text, "url": wanted[number].url}) + "\n" for text, number in kept)
    out.write_bytes(gzip.compress(lines.encode()) if out.suffix == ".gz" else lines.encode())
    click.echo(str(out))


def _worth_asking(function: Function) -> bool:
    name = function.func_name.rpartition(".")[2]
    return not name.startswith(("__", "test"))


@click.command("export-onnx")
@click.argument("model")
@click.argument("folder", type=OutputPath(folder=True))
def export_onnx(model: str, folder: Path) -> None:
    """Write MODEL, a sentence-transformers name or folder, to FOLDER in int8.

    `treeline index SOURCE --encoder onnx:FOLDER` then encodes with it.
    """  # fmt: skip
    from treeline.encoder.protocol import ONNX
    from treeline.encoder.registry import full_name, load
    from treeline.encoder.transformer import export

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its own tracing
        encoder = load(full_name(f"{ONNX}{export(model, folder)}"))
    assert encoder is not None
    size = sum(file.stat().st_size for file in (folder / "onnx").glob("*int8*.onnx"))
    click.echo(f"{folder}: {encoder.dimension} dimensions, {size / 1e6:.1f} MB in int8")
    click.echo(f"use it: treeline index SOURCE --encoder {encoder.name}")
