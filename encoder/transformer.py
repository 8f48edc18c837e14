"""Transformer encoders: sentence-transformers through torch, or an int8 file through ONNX Runtime without torch."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treeline.corpus.errors import ExtraMissing, InputError
from treeline.corpus.function import Function
from treeline.corpus.hub import HubUnavailable, load_model
from treeline.encoder.protocol import ONNX, Vectors, unit
from treeline.encoder.text import passage

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# Matched by a substring of the model's name; from the families' model cards.
PROMPTS = {
    "bge-": ("Represent this sentence for searching relevant passages: ", ""),
    "e5-": ("query: ", "passage: "),
    "nomic-embed": ("search_query: ", "search_document: "),
    "snowflake-arctic-embed": ("Represent this sentence for searching relevant passages: ", ""),
}


def prompts(name: str) -> tuple[str, str]:
    """The query and passage prompts of a model's family; empty if it has none."""
    model = name.lower()
    return next((pair for part, pair in PROMPTS.items() if part in model), ("", ""))


class PromptedEncoder(ABC):
    """Base of encoders that read plain text with a prompt."""

    usual = None

    def __init__(self, name: str, dimension: int, query_prompt: str, passage_prompt: str) -> None:
        self.name, self.dimension = name, dimension
        self._query_prompt, self._passage_prompt = query_prompt, passage_prompt

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._encode([self._query_prompt + text for text in texts])

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        return self._encode([self._passage_prompt + passage(function) for function in functions])

    @abstractmethod
    def _encode(self, texts: list[str]) -> Vectors:
        """One unit row per text, in order."""


BATCH = 32  # measured on two cores: larger batches pad more than they save
LONGEST_PASSAGE = 256  # tokens; the cost of a transformer grows with the square of it


class TransformerEncoder(PromptedEncoder):
    """A sentence-transformers model by name or folder; the library batches texts by length."""

    def __init__(self, name: str) -> None:
        self._model = _load(name)
        self._model.max_seq_length = min(self._model.max_seq_length or LONGEST_PASSAGE, LONGEST_PASSAGE)
        own = self._model.prompts or {}
        query_prompt, passage_prompt = prompts(name)
        dimension = int(self._model.get_embedding_dimension() or 0)
        if not dimension:
            raise InputError(f"{name!r} does not say its dimension", "choose a sentence-transformers model")
        passage_prompt = own.get("document") or own.get("passage") or passage_prompt
        super().__init__(name, dimension, own.get("query") or query_prompt, passage_prompt)

    def _encode(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self._model.encode(
            texts, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)


def _load(name: str) -> SentenceTransformer:
    if find_spec("sentence_transformers") is None:
        raise ExtraMissing("sentence_transformers", f"encoder {name!r}")

    def make(local: bool) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        model: SentenceTransformer = SentenceTransformer(name, local_files_only=local)
        return model

    try:
        return load_model(name, make)
    except HubUnavailable as error:
        hint = f"use `static`, or {error.hint}"
        raise InputError(f"encoder {name!r} cannot be loaded: {error.message}", hint) from error
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        first_line = str(error).strip().split("\n")[0]
        raise InputError(
            f"encoder {name!r} cannot be loaded: {first_line}", "give a sentence-transformers name or a model folder"
        ) from error


INT8_FILES = ("model_qint8_avx512_vnni.onnx", "model_qint8_avx512.onnx", "model_quint8_avx2.onnx", "model_int8.onnx")
HOW = "make one with `python -m lab.export_onnx MODEL FOLDER`, or leave out the `onnx:` to use torch"


class OnnxEncoder(PromptedEncoder):
    """The int8 file in a sentence-transformers folder (`onnx:FOLDER`), with the pooling that the folder names."""

    def __init__(self, name: str) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ExtraMissing("tokenizers", f"encoder {name!r}") from error
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
        """Encode in batches of similar length to pad little; rows are in the order of the texts."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            vectors[some] = self._run([texts[number] for number in some])
        return vectors

    def _run(self, texts: list[str]) -> Vectors:
        entries = self._tokenizer.encode_batch(texts)
        mask = np.array([entry.attention_mask for entry in entries], dtype=np.int64)
        feed: dict[str, Any] = {
            "input_ids": np.array([entry.ids for entry in entries], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        states = self._session.run(None, {name: value for name, value in feed.items() if name in self._inputs})[0]
        if self._by_first_token:
            vectors = states[:, 0]
        else:
            vectors = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return unit(vectors)


def _int8_file(folder: Path) -> Path:
    file = next((folder / "onnx" / name for name in INT8_FILES if (folder / "onnx" / name).is_file()), None)
    if file is None:
        raise InputError(f"no int8 ONNX file under {folder}", HOW)
    return file


def _pools_by_first_token(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / "1_Pooling" / "config.json").read_text()).get("pooling_mode_cls_token"))
    except (OSError, ValueError) as error:
        raise InputError(f"the pooling of {folder} cannot be read: {error}", HOW) from error
