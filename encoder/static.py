"""The static encoder: weighted means of token and pair vectors per field, and one small layer; numpy only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import REBUILD, EncoderMismatch, InputError
from treeline.corpus.function import Function
from treeline.encoder import standing
from treeline.encoder.protocol import DEFAULT_ENCODER, Vectors, unit
from treeline.encoder.text import LONGEST_TEXT, fields
from treeline.encoder.tokens import Tokenizer

MODEL_FOLDER = Path(__file__).parent / "model"
CONFIG, VOCABULARY, TENSORS = "config.json", "vocabulary.txt", "model.safetensors"
FIELDS = ("name", "docstring", "code", "place")  # order of the weight rows; the query's row comes last
QUERY = len(FIELDS)
MATRICES = ("table", "function_first", "function_second", "query_first", "query_second")  # int8, one scale per row
USUAL = 0.5  # cosine of a best answer; the median is .57 for docstrings, .64 on the web (docs/research/lanes.md)
# The safetensors types that the encoder uses.
DTYPES = {"F32": "<f4", "F16": "<f2", "I8": "<i1", "U16": "<u2", "I32": "<i4", "I64": "<i8", "U8": "<u1"}
BATCH = 1_024  # functions per sparse product: large enough to vectorise, small enough for the cache


class StaticEncoder:
    """A bag-of-tokens encoder distilled from a transformer; reads thousands of functions a second without torch."""

    def __init__(self, folder: Path, name: str = "") -> None:
        config, tensors, vocabulary = _read(folder)
        try:
            self.name = name or f"{DEFAULT_ENCODER}:{config['version']}"
            self.limits = {field: int(config["limits"][field]) for field in (*FIELDS, "query")}
            self.tokenizer = Tokenizer(vocabulary, tensors["pairs"], int(config["unknown"]))
            self._rows, self._scale = tensors["table"], tensors["table_scale"].astype(np.float32)
            self._weights = tensors["weights"].astype(np.float32)
            self._gates = tensors["gates"].astype(np.float32)
            self._function_layer = _layer(tensors, "function")
            self._query_layer = _layer(tensors, "query")
        except KeyError as missing:
            raise InputError(f"the encoder in {folder} has no {missing}", "train or fetch it again") from missing
        if self._rows.shape[0] != self.tokenizer.size or self._weights.shape != (QUERY + 1, self.tokenizer.size):
            raise InputError(f"the encoder in {folder} is inconsistent", "train or fetch it again")

    @classmethod
    def shipped(cls, name: str = DEFAULT_ENCODER) -> StaticEncoder:
        """The shipped encoder; `static:VERSION` requires the version that an index was made with."""
        encoder = _shipped_encoder()
        if name not in (DEFAULT_ENCODER, encoder.name):
            raise EncoderMismatch(
                f"the index was made with encoder {name!r}, this Treeline ships {encoder.name!r}", REBUILD
            )
        return encoder

    @property
    def dimension(self) -> int:
        return self._learnt + 1

    @property
    def usual(self) -> float:
        return USUAL

    @property
    def _learnt(self) -> int:
        return int(self._rows.shape[1])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            vector = self._pool_question(text)
            if vector.any():
                row[:] = standing.add_to_queries(unit(_through(self._query_layer, vector, vector)))
        return vectors

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        vectors = np.empty((len(functions), self.dimension), dtype=np.float32)
        for start in range(0, len(functions), BATCH):
            batch = functions[start : start + BATCH]
            vectors[start : start + len(batch)] = self._encode_batch(batch)
        return vectors

    def parts(self) -> dict[str, Vectors]:
        """A copy of every array by its name in the file, in full precision, for further training.

        Copies, because training changes its arrays in place, and the encoder is shared by the whole process.
        """
        parts = {"table": self._table, "weights": self._weights, "gates": self._gates}
        for side, layer in (("function", self._function_layer), ("query", self._query_layer)):
            if layer is not None:
                names = ("first", "first_bias", "second", "second_bias")
                parts |= {f"{side}_{name}": part for name, part in zip(names, layer, strict=True)}
        return {name: part.copy() for name, part in parts.items()}

    def _encode_batch(self, functions: Sequence[Function]) -> Vectors:
        columns = zip(*(fields(function) for function in functions), strict=True)
        used = [
            self._function_layer is not None or gate != 0 for gate in self._gates
        ]  # a bag of words reads code alone
        parts = [
            self._pool(
                *self.tokenizer.bag_arrays(texts if used[number] else ("",) * len(texts), self.limits[field]), number
            )
            for number, (field, texts) in enumerate(zip(FIELDS, columns, strict=True))
        ]
        total = sum(gate * part for gate, part in zip(self._gates, parts, strict=True))
        total = np.asarray(total, dtype=np.float32)
        vectors = _through(self._function_layer, np.hstack(parts), total)
        vectors = np.where(total.any(axis=1, keepdims=True), vectors, np.float32(0.0))  # zero vectors stay zero
        return standing.add_to_functions(unit(vectors), functions)

    @cached_property
    def _table(self) -> Vectors:
        """All token vectors in float32, for encoding many functions; a query reads only its rows."""
        return np.asarray(self._rows.astype(np.float32) * self._scale[:, None])

    def _rows_for(self, ids: NDArray[np.int32]) -> tuple[Vectors, NDArray[np.integer]]:
        """A table with these tokens, and their rows in it; a small repository needs a tenth of all."""
        if "_table" in self.__dict__ or len(ids) > len(self._rows):
            return self._table, ids
        used, places = np.unique(ids, return_inverse=True)
        return np.asarray(self._rows[used].astype(np.float32) * self._scale[used, None]), places

    def _pool_question(self, text: str) -> Vectors:
        """`_pool` for one short text, without a sparse matrix."""
        ids, counts = self.tokenizer.bag(text[:LONGEST_TEXT], self.limits["query"])
        if not len(ids):
            return np.zeros(self._learnt, dtype=np.float32)
        weights = counts * self._weights[QUERY].take(ids)
        rows = self._rows.take(ids, axis=0).astype(np.float32)
        return np.asarray((weights * self._scale.take(ids)) @ rows / weights.sum())

    def _pool(
        self, counts: NDArray[np.float32], ids: NDArray[np.int32], starts: NDArray[np.int64], field: int
    ) -> Vectors:
        """The weighted mean of the token vectors of each text; zeros for a text without tokens."""
        shares = counts * self._weights[field, ids]
        vectors = np.zeros((len(starts) - 1, self._learnt), dtype=np.float32)
        bounds = starts.tolist()
        table, rows = self._rows_for(ids)
        for row, start, end in zip(vectors, bounds, bounds[1:], strict=False):
            if end > start:
                weights = shares[start:end]
                np.dot(weights, table.take(rows[start:end], axis=0), out=row)
                row /= weights.sum()
        return vectors


@cache
def _shipped_encoder() -> StaticEncoder:
    """Loaded once: its tables are read-only, and an indexing process searches too."""
    return StaticEncoder(MODEL_FOLDER)


def is_static(folder: Path) -> bool:
    """Whether the folder holds an encoder that `python -m lab.train static` wrote."""
    return (folder / VOCABULARY).is_file() and (folder / TENSORS).is_file()


Layer = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


def _through(layer: Layer | None, inputs: Vectors, residual: Vectors) -> Vectors:
    """One hidden layer with a residual connection, so that words can change each other's meaning."""
    if layer is None:
        return residual
    first, first_bias, second, second_bias = layer
    outputs: Vectors = residual + np.maximum(inputs @ first + first_bias, 0.0) @ second + second_bias
    return outputs


def _layer(tensors: dict[str, NDArray[Any]], name: str) -> Layer | None:
    if f"{name}_first" not in tensors:
        return None
    first, second = (
        tensors[f"{name}_{part}"] * tensors[f"{name}_{part}_scale"].astype(np.float32)[:, None]
        for part in ("first", "second")
    )
    first_bias, second_bias = (tensors[f"{name}_{part}_bias"].astype(np.float32) for part in ("first", "second"))
    return first, first_bias, second, second_bias


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]], list[str]]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        vocabulary = (folder / VOCABULARY).read_text(encoding="utf-8").split("\n")
        tensors = _map_tensors(folder / TENSORS)
    except FileNotFoundError as error:
        raise InputError(f"no encoder in {folder}: {error}", "train one with `python -m lab.train static`") from error
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise InputError(f"the encoder in {folder} cannot be read: {error}", "train or fetch it again") from error
    return config, tensors, vocabulary


def _map_tensors(file: Path) -> dict[str, NDArray[Any]]:
    """The memory-mapped arrays of a safetensors file: a query reads a few rows of 15 MB."""
    data = np.memmap(file, dtype=np.uint8, mode="r")
    start = 8 + int(data[:8].view("<u8")[0])
    header = json.loads(data[8:start].tobytes())
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        arrays[name] = data[start + first : start + last].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


SUFFIXES = ("s", "es", "d", "ed", "ing", "ly", "r", "rs", "er", "ers", "or", "ors", "able", "ness", "al")
SHORTEST_STEM = 4  # letters; a shorter stem is as often the start of another word


def is_word(word: str, *, endings: bool = True) -> bool:
    """Whether a lower-case word is in the vocabulary, with or without an ending."""
    tokens = _shipped_encoder().tokenizer
    if word in tokens:
        return True
    if not endings:
        return False
    stems = (word.removesuffix(suffix) for suffix in SUFFIXES if word.endswith(suffix))
    return any(len(stem) >= SHORTEST_STEM and stem in tokens for stem in stems)
