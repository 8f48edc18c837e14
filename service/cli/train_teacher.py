"""`treeline train-teacher`: teach a sentence transformer which functions answer which questions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from treeline.encoder.training.answered import numbered, read_answered
from treeline.service.cli.target import Target
from treeline.service.cli.training import ANSWERED, DEVICE, GENERATED, NEVER, RATE, given, lines_of, needing_torch, read


@click.command("train-teacher")
@click.argument("model")
@click.argument("sources", nargs=-1, required=True)
@ANSWERED
@GENERATED
@NEVER
@click.option("--out", type=Target(folder=True), required=True, help="Folder to write the model to.")
@click.option("--epochs", type=click.IntRange(min=1))
@click.option(
    "--batch", type=click.IntRange(min=1), help="Questions at once; each is compared with all functions of the batch."
)
@RATE
@click.option("--scale", type=float, help="1 / temperature; what the model was made with, where it is known.")
@DEVICE
def command(
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
    """Teach the sentence transformer MODEL which functions of SOURCES answer the questions of --answered.

    The folder is then a --teacher of `train-encoder`, or an --encoder.
    """
    console = Console(stderr=True)
    with needing_torch("training"):
        from treeline.encoder.training.models import device_of
        from treeline.encoder.training.run import split
        from treeline.encoder.training.tuning import Tuning, tune
    from treeline.encoder.static import StaticEncoder
    from treeline.encoder.training.data import Asked, prepare

    learnt, _ = split(read(sources))
    by_people, by_a_model = (numbered(read_answered(files), learnt) for files in (answered, generated))
    asked = Asked(answered=by_people, generated=by_a_model, never=lines_of(never))
    data = prepare(learnt, StaticEncoder.shipped().tokenizer, Counter(), asked)
    console.print(f"{len(learnt):,} functions, {len(by_people) + len(by_a_model):,} questions with their answers")
    tuning = replace(Tuning(), **given(epochs=epochs, batch=batch, rate=rate, scale=scale))
    tune(model, data, tuning, device_of(device), console.print).save(str(out))
    click.echo(str(out))
