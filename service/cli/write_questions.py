"""`treeline write-questions`: a language model writes what people would ask for the functions of a source."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from treeline.corpus.function import Function
from treeline.encoder.training.answered import numbered, read_answered
from treeline.service.cli.target import Target
from treeline.service.cli.training import ANSWERED, DEVICE, NEVER, RATE, given, lines_of, needing_torch, read


@click.command("write-questions")
@click.argument("model")
@click.argument("sources", nargs=-1, required=True)
@ANSWERED
@NEVER
@click.option("--out", type=Target(), required=True, help="File to write, .jsonl or .jsonl.gz.")
@click.option("--each", type=click.IntRange(min=1), help="Questions a function.")
@click.option("--epochs", type=click.IntRange(min=1))
@click.option("--batch", type=click.IntRange(min=1), help="Functions at once.")
@RATE
@DEVICE
def command(
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

    It first learns from those of --answered what such questions are. Functions of held-out repositories are neither
    learnt from nor asked for. The file is then a --generated of `train-teacher` and `train-encoder`.
    """
    console = Console(stderr=True)
    with needing_torch("writing"):
        from treeline.encoder.training.models import device_of
        from treeline.encoder.training.run import split
        from treeline.encoder.training.writing import Writer, Writing, found_again
    from treeline.encoder.training.data import essence

    functions, _ = split(read(sources))
    known = numbered(read_answered(answered), functions)
    console.print(f"{len(functions):,} functions, {len(known):,} questions to learn from")
    writing = replace(Writing(), **given(epochs=epochs, batch=batch, rate=rate, each=each))
    writer = Writer(model, device_of(device))
    writer.learn(functions, known, writing, console.print)
    wanted = [function for function in functions if _worth_asking(function)]
    written = dict.fromkeys(writer.write(wanted, writing, console.print))
    forbidden = {essence(text) for text in lines_of(never)}
    asked = [question for question in written if (said := essence(question[0])) and said not in forbidden]
    kept = found_again(asked, wanted)
    console.print(f"{len(kept):,} of {len(asked):,} questions find the function they were written for")
    lines = "".join(json.dumps({"query": text, "url": wanted[number].url}) + "\n" for text, number in kept)
    out.write_bytes(gzip.compress(lines.encode()) if out.suffix == ".gz" else lines.encode())
    click.echo(str(out))


def _worth_asking(function: Function) -> bool:
    name = function.func_name.rpartition(".")[2]
    return not name.startswith(("__", "test"))
