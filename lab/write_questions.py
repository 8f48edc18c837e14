"""Has a language model write questions for functions: examples to train on.

python -m lab.write_questions MODEL SOURCE… --answered FILE --out FILE.jsonl.gz
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from lab.train import ANSWERED, DEVICE, NEVER, RATE, chosen_values, needing_torch, read_functions
from lab.training.examples import Answered, match_answers
from treeline.corpus.function import Function
from treeline.service.cli import main
from treeline.service.cli.options import OutputPath


@click.command
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
def command(
    model: str,
    sources: tuple[str, ...],
    answered: Answered,
    never: tuple[str, ...],
    out: Path,
    device: str,
    **numbers: float | None,
) -> None:
    """Have the language model MODEL write questions for the functions of SOURCES.

    The model is first fine-tuned on the questions of --answered. Functions of held-out repositories are used for
    neither. Use the file as a --generated of `lab.train teacher` and `lab.train static`.
    """
    console = Console(stderr=True)
    with needing_torch("writing"):
        from lab.training.models import device_of
        from lab.training.run import learnable
        from lab.training.writer import Writer, Writing, round_trip
    from lab.training.data import essence

    functions = learnable(read_functions(sources))
    known = match_answers(answered, functions)
    console.print(f"{len(functions):,} functions, {len(known):,} questions to learn from")
    writing = replace(Writing(), **chosen_values(**numbers))
    writer = Writer(model, device_of(device))
    writer.learn(functions, known, writing, console.print)
    targets = [function for function in functions if _worth_asking(function)]
    written = dict.fromkeys(writer.write(targets, writing, console.print))
    forbidden = {essence(text) for text in never}
    questions = [question for question in written if (said := essence(question[0])) and said not in forbidden]
    selection = round_trip(questions, targets)
    console.print(f"{len(selection):,} of {len(questions):,} questions find the function they were written for")
    lines = "".join(json.dumps({"query": text, "url": targets[number].url}) + "\n" for text, number in selection)
    out.write_bytes(gzip.compress(lines.encode()) if out.suffix == ".gz" else lines.encode())
    click.echo(str(out))


def _worth_asking(function: Function) -> bool:
    name = function.func_name.rpartition(".")[2]
    return not name.startswith(("__", "test"))


if __name__ == "__main__":
    main(command)
