"""Encoders by name. Each kind is imported only when it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from treeline.encoder.protocol import DEFAULT_ENCODER, NO_ENCODER, ONNX, Encoder


def load(name: str = DEFAULT_ENCODER, cache: Path | None = None) -> Encoder | None:
    """The encoder of that name: `static` (shipped), a folder that `treeline lab train-encoder` wrote, `onnx:FOLDER`,
    `none`, or a sentence-transformers model.

    With `cache`, a transformer's function vectors are kept in that file by content.
    """
    if name == NO_ENCODER:
        return None
    from treeline.encoder.static import StaticEncoder, is_static

    if is_shipped(name):
        return StaticEncoder.shipped(name)
    if is_static(Path(name)):
        return StaticEncoder(Path(name), name)
    encoder = _transformer(name)
    if cache is None:
        return encoder
    from treeline.encoder.cache import CachedEncoder, digest

    folder = _folder(name)
    return CachedEncoder(encoder, cache, b"" if folder is None else digest(folder))


def full_name(name: str) -> str:
    """The name as an index records it; folders as absolute paths."""
    folder = _folder(name)
    return name if folder is None else f"{ONNX if name.startswith(ONNX) else ''}{folder}"


def is_shipped(name: str) -> bool:
    """Whether this is the shipped encoder, of any version (`static:5`)."""
    return name == DEFAULT_ENCODER or name.startswith(DEFAULT_ENCODER + ":")


def check_shipped(names: Iterable[str]) -> None:
    """Raise `EncoderMismatch` if an index was made with another version of the shipped encoder."""
    for name in filter(is_shipped, names):
        load(name)


def _folder(name: str) -> Path | None:
    """The local folder that the name means; None for the shipped encoder and hub models."""
    folder = Path(name.removeprefix(ONNX)).expanduser()
    return folder.resolve() if folder.is_dir() and name != NO_ENCODER and not is_shipped(name) else None


def _transformer(name: str) -> Encoder:
    if name.startswith(ONNX):
        from treeline.encoder.transformer import OnnxEncoder

        return OnnxEncoder(name)
    from treeline.encoder.transformer import TransformerEncoder

    return TransformerEncoder(name)
