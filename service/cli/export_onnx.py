"""`treeline export-onnx`: a sentence-transformers model as an int8 ONNX folder, which needs no torch to be used."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from treeline.service.cli.target import Target


@click.command("export-onnx")
@click.argument("model")
@click.argument("folder", type=Target(folder=True))
def command(model: str, folder: Path) -> None:
    """Write MODEL, a sentence-transformers name or folder, to FOLDER in int8.

    `treeline index SOURCE --encoder onnx:FOLDER` then encodes with it.
    """  # fmt: skip
    from treeline.encoder.loading import full_name, load
    from treeline.encoder.onnx import export
    from treeline.encoder.protocol import ONNX

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's, about its own tracing
        encoder = load(full_name(f"{ONNX}{export(model, folder)}"))
    assert encoder is not None
    size = sum(file.stat().st_size for file in (folder / "onnx").glob("*int8*.onnx"))
    click.echo(f"{folder}: {encoder.dimension} dimensions, {size / 1e6:.1f} MB in int8")
    click.echo(f"use it: treeline index SOURCE --encoder {encoder.name}")
