"""Writes a sentence-transformers model in int8, to use without torch: python -m lab.export_onnx MODEL FOLDER."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeline.corpus.errors import InputError
from treeline.corpus.hub import HubUnavailable, load_model
from treeline.encoder.protocol import ONNX
from treeline.encoder.registry import full_name, load
from treeline.service.cli import main
from treeline.service.cli.options import OutputPath

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@click.command
@click.argument("model")
@click.argument("folder", type=OutputPath(folder=True))
def command(model: str, folder: Path) -> None:
    """Write MODEL, a sentence-transformers name or folder, to FOLDER in int8.

    `treeline index SOURCE --encoder onnx:FOLDER` then encodes with it.
    """  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its own tracing
        encoder = load(full_name(f"{ONNX}{export(model, folder)}"))
    assert encoder is not None
    size = sum(file.stat().st_size for file in (folder / "onnx").glob("*int8*.onnx"))
    click.echo(f"{folder}: {encoder.dimension} dimensions, {size / 1e6:.1f} MB in int8")
    click.echo(f"use it: treeline index SOURCE --encoder {encoder.name}")


def export(name: str, folder: Path) -> Path:
    """Write a sentence-transformers model with an int8 ONNX file to a new folder that `onnx:FOLDER` loads."""
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty", "give a new folder")
    if find_spec("sentence_transformers") is None:
        raise InputError("exporting needs sentence-transformers", "install Treeline's `transformers` extra")

    def make(local: bool) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        targets: dict[str, Any] = {"export": True, "local_files_only": local}
        model: SentenceTransformer = SentenceTransformer(
            name, backend="onnx", local_files_only=local, model_kwargs=targets
        )
        return model

    try:
        model = load_model(name, make)
    except Exception as error:
        reason = error.message if isinstance(error, HubUnavailable) else str(error).strip().split("\n")[0]
        raise InputError(f"{name!r} cannot be exported: {reason}", "give a sentence-transformers model") from error
    from sentence_transformers.backend import export_dynamic_quantized_onnx_model

    try:
        model.save(str(folder))
        export_dynamic_quantized_onnx_model(model, "avx512_vnni", str(folder))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}", "give another folder") from error
    return folder


if __name__ == "__main__":
    main(command)
