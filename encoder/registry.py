"""Encoders by name. Each kind is imported only when it is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.encoder.protocol import DEEP_ENCODER, DEFAULT_ENCODER, NO_ENCODER, ONNX, Encoder

TRANSFORMER_FILES = ("modules.json", "config.json", "adapter_config.json")  # sentence-transformers needs one of them


def load(name: str = DEFAULT_ENCODER, cache: Path | None = None) -> Encoder | None:
    """The encoder of that name: `static` or `deep` (shipped), a folder with one of either kind, `onnx:FOLDER`, `none`,
    or a sentence-transformers model.

    With `cache`, function vectors of slow encoders are kept in that file by content.
    """
    if name == NO_ENCODER:
        return None
    from treeline.encoder.static import StaticEncoder, is_static

    if is_light(name):
        return StaticEncoder.shipped(name)
    if is_shipped(name):
        return _deep(None, name, cache)
    if is_static(Path(name)):
        return StaticEncoder(Path(name), name)
    folder = _folder(name)
    if folder is not None:
        from treeline.encoder.deep import is_deep

        if is_deep(folder):
            return _deep(folder, name, cache)
    _check_folder(name, folder)
    encoder = _transformer(name)
    if cache is None:
        return encoder
    from treeline.encoder.cache import CachedEncoder, digest

    return CachedEncoder(encoder, cache, b"" if folder is None else digest(folder))


def full_name(name: str) -> str:
    """The name as an index records it; folders as absolute paths."""
    folder = _folder(name)
    return name if folder is None else f"{ONNX if name.startswith(ONNX) else ''}{folder}"


def is_shipped(name: str) -> bool:
    """Whether this is a shipped encoder, of any version (`static:5`)."""
    return without_version(name) in (DEFAULT_ENCODER, DEEP_ENCODER)


def is_light(name: str) -> bool:
    """Whether this is the shipped static encoder, which is quick to load, of any version."""
    return without_version(name) == DEFAULT_ENCODER


def without_version(name: str) -> str:
    """The name by which the shipped encoder of this version, or a later one, is loaded."""
    return name.partition(":")[0]


def check_shipped(names: Iterable[str]) -> None:
    """Raise `EncoderMismatch` if an index was made with another version of a shipped encoder."""
    for name in filter(is_shipped, names):
        load(name)


def _folder(name: str) -> Path | None:
    """The local folder that the name means; None for shipped encoders and hub models."""
    folder = Path(name.removeprefix(ONNX)).expanduser()
    return folder.resolve() if folder.is_dir() and name != NO_ENCODER and not is_shipped(name) else None


def _check_folder(name: str, folder: Path | None) -> None:
    """Raise if the name means a folder without a transformer, before an import that takes seconds."""
    if folder is None:
        wrong = "there is no such folder" if Path(name.removeprefix(ONNX)).is_absolute() else ""
    else:
        there = name.startswith(ONNX) or any((folder / file).is_file() for file in TRANSFORMER_FILES)
        wrong = "" if there else "the folder has no file of an encoder"
    if wrong:
        raise InputError(f"encoder {name!r} cannot be loaded: {wrong}", "give the folder of an encoder")


def _transformer(name: str) -> Encoder:
    from treeline.encoder.transformer import OnnxEncoder, TransformerEncoder

    return (OnnxEncoder if name.startswith(ONNX) else TransformerEncoder)(name)


def _deep(folder: Path | None, name: str, cache: Path | None) -> Encoder:
    """The deep encoder in a folder; None: the shipped one."""
    from treeline.encoder.deep import DeepEncoder, check_runtime, shipped_folder, text_of

    encoder = DeepEncoder(folder, name) if folder else DeepEncoder.shipped(name)
    if cache is None:
        return encoder
    from treeline.encoder.cache import CachedEncoder, digest

    check_runtime()
    return CachedEncoder(encoder, cache, digest(folder or shipped_folder()), text_of)
