"""A transformer encoder through ONNX Runtime in int8: faster on a CPU, and no torch when it is used."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treeline.corpus.errors import InputError
from treeline.corpus.hub import HubAway, loaded
from treeline.encoder.prompted import PromptedEncoder
from treeline.encoder.prompts import prompts
from treeline.encoder.protocol import ONNX, Vectors
from treeline.encoder.transformer import BATCH, LONGEST_PASSAGE
from treeline.encoder.unit import unit

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INT8_FILES = ("model_qint8_avx512_vnni.onnx", "model_qint8_avx512.onnx", "model_quint8_avx2.onnx", "model_int8.onnx")
HOW = "make one with `treeline lab export-onnx MODEL FOLDER`, or leave out the `onnx:` to use torch"


class OnnxEncoder(PromptedEncoder):
    """The int8 file in a sentence-transformers folder (`onnx:FOLDER`), with the pooling that the folder names."""

    def __init__(self, name: str) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise InputError(
                f"encoder {name!r} needs onnxruntime", "install Treeline's `transformers` extra"
            ) from error
        folder = Path(name.removeprefix(ONNX)).expanduser()
        model = _int8_file(folder)
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        except Exception as error:
            raise InputError(f"encoder {name!r} cannot be read: {error}", HOW) from error
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._by_first_token = _pools_by_first_token(folder)
        self._tokenizer.enable_truncation(LONGEST_PASSAGE)
        self._tokenizer.enable_padding()
        super().__init__(name, int(self._run(["a"]).shape[1]), *prompts(folder.resolve().name))

    def _encode(self, texts: list[str]) -> Vectors:
        """Batches of like length, so that little is padded; the order of the answer is that of the texts."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            vectors[some] = self._run([texts[number] for number in some])
        return vectors

    def _run(self, texts: list[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([entry.attention_mask for entry in encoded], dtype=np.int64)
        feed: dict[str, Any] = {
            "input_ids": np.array([entry.ids for entry in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        hidden = self._session.run(None, {name: value for name, value in feed.items() if name in self._inputs})[0]
        if self._by_first_token:
            pooled = hidden[:, 0]
        else:
            pooled = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return unit(pooled)


def export(name: str, folder: Path) -> Path:
    """Write a sentence-transformers model with an int8 ONNX file to a new folder that `onnx:FOLDER` loads."""
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty", "give a new folder")
    if find_spec("sentence_transformers") is None:
        raise InputError("exporting needs sentence-transformers", "install Treeline's `transformers` extra")

    def make(local: bool) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        wanted: dict[str, Any] = {"export": True, "local_files_only": local}
        model: SentenceTransformer = SentenceTransformer(
            name, backend="onnx", local_files_only=local, model_kwargs=wanted
        )
        return model

    try:
        model = loaded(name, make)
    except Exception as error:
        reason = error.message if isinstance(error, HubAway) else str(error).strip().split("\n")[0]
        raise InputError(f"{name!r} cannot be exported: {reason}", "give a sentence-transformers model") from error
    from sentence_transformers.backend import export_dynamic_quantized_onnx_model

    try:
        model.save(str(folder))
        export_dynamic_quantized_onnx_model(model, "avx512_vnni", str(folder))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}", "give another folder") from error
    return folder


def _int8_file(folder: Path) -> Path:
    found = next((folder / "onnx" / name for name in INT8_FILES if (folder / "onnx" / name).is_file()), None)
    if found is None:
        raise InputError(f"no int8 ONNX file under {folder}", HOW)
    return found


def _pools_by_first_token(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / "1_Pooling" / "config.json").read_text()).get("pooling_mode_cls_token"))
    except (OSError, ValueError) as error:
        raise InputError(f"the pooling of {folder} cannot be read: {error}", HOW) from error
