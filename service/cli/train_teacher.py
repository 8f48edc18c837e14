"""`treeline train-teacher`: teach a sentence transformer which functions answer which questions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click
from rich.console import Console

from corpus.errors import InputError
from encoder.training.answered import numbered, read_answered
from service.cli.train_encoder import ANSWERED, NEVER, lines_of, read


@click.command("train-teacher")
@click.argument("model")
@click.argument("sources", nargs=-1, required=True)
@ANSWERED
@NEVER
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write the model to.")
@click.option("--epochs", type=int)
@click.option("--batch", type=int, help="Questions at once; each is compared with all functions of the batch.")
@click.option("--rate", type=float, help="Learning rate: the smaller the model, the higher.")
@click.option("--scale", type=float, help="1 / temperature; what the model was made with, where it is known.")
@click.option("--device", default="", help="cuda or cpu; empty: what is there.")
def command(
    model: str,
    sources: tuple[str, ...],
    answered: tuple[Path, ...],
    never: tuple[Path, ...],
    out: Path,
    epochs: int | None,
    batch: int | None,
    rate: float | None,
    scale: float | None,
    device: str,
) -> None:
    """Teach the sentence transformer MODEL which functions of SOURCES answer the questions of --answered.

    The folder is then a --teacher of `train-encoder`, or an --encoder.
    """
    console = Console(stderr=True)
    try:
        import torch

        from encoder.training.run import split
        from encoder.training.tuning import Tuning, tune
    except ImportError as error:
        raise InputError(
            f"training needs torch and sentence-transformers: {error}", "install the `transformers` extra"
        ) from error
    from encoder.static import StaticEncoder
    from encoder.training.data import prepare

    learnt, _ = split(read(sources))
    questions = numbered(read_answered(answered), learnt)
    data = prepare(learnt, StaticEncoder.shipped().tokenizer, 0, Counter(), [], lines_of(never), 0, questions)
    console.print(f"{len(learnt):,} functions, {len(questions):,} questions with their answers")
    usual = Tuning()
    tuning = Tuning(
        epochs=epochs or usual.epochs, batch=batch or usual.batch, rate=rate or usual.rate, scale=scale or usual.scale
    )
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    tune(model, data, tuning, device, console.print).save(str(out))
    click.echo(str(out))
