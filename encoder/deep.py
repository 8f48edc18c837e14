"""The deep encoder: a small transformer that sees tokens in order moves static vectors, within the static space.

Functions and questions are read by the same model. Because the vectors stay in the static encoder's space, a question
by either encoder can be compared with functions by either, and an index may hold some of each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import ExtraMissing, InputError
from treeline.corpus.function import Function
from treeline.encoder.protocol import (
    DEEP_ENCODER,
    Vectors,
    add_to_functions,
    add_to_queries,
    check_version,
    strip_prior,
    unit,
)
from treeline.encoder.static import StaticEncoder, Tokenizer
from treeline.encoder.text import fields

PACKAGE = "treeline_models"
CONFIG, MODEL = "deep.json", "deep.onnx"
FIELDS = ("name", "place", "docstring", "code")  # the order of a function's tokens; numbered from 1, 0 is padding
QUESTION, QUESTION_TOKENS = 5, 24  # the field of a question's tokens, and how many of them are read
LONGEST = 192  # tokens that the model takes
INPUTS, OUTPUT = ("ids", "fields", "static"), "vectors"
BATCH_TOKENS = 512  # of one batch, padding included; what fits the cache reads twice as fast as 8,192
RETRAIN = "train or fetch it again"
TokenSequence = tuple[list[int], list[int]]  # token ids, and the field of each


class DeepEncoder:
    """Reads with a transformer (ONNX Runtime, no torch) on top of the shipped static encoder."""

    def __init__(self, folder: Path | None = None, name: str = "") -> None:
        """The model is opened for the first text that it reads."""
        folder = folder or shipped_folder()
        self._static = StaticEncoder.shipped()
        with model_config(folder / CONFIG, "deep encoder") as config:
            self.name = name or f"{DEEP_ENCODER}:{config['version']}"
            self.limits = {field: int(config["limits"][field]) for field in FIELDS}
            self.usual = float(config.get("usual", self._static.usual))
            self._asks = bool(config.get("questions", False))
            static = config.get("static", self._static.name)
        check_model(folder / CONFIG, self.limits, static, "deep encoder")
        self._model, self.dimension = folder / MODEL, self._static.dimension

    @classmethod
    def shipped(cls, name: str = DEEP_ENCODER) -> DeepEncoder:
        """The shipped encoder; `deep:VERSION` requires the version that an index was made with."""
        encoder = cls()
        check_version(name, encoder.name)
        return encoder

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        vectors = self._static.encode_queries(texts)
        if not self._asks or find_spec("onnxruntime") is None:  # static questions suit deep functions too
            return vectors
        questions = (text_tokens(self._static.tokenizer, text, QUESTION_TOKENS) for text in texts)
        sequences = [(ids, [QUESTION] * len(ids)) for ids in questions]
        return add_to_queries(self._move(strip_prior(vectors), sequences))

    def encode_functions(self, functions: Sequence[Function]) -> Vectors:
        vectors = strip_prior(self._static.encode_functions(functions))
        sequences = [function_tokens(self._static.tokenizer, function, self.limits) for function in functions]
        return add_to_functions(self._move(vectors, sequences), functions)

    def _move(self, vectors: Vectors, sequences: Sequence[TokenSequence]) -> Vectors:
        for rows in batches([len(ids) for ids, _ in sequences]):
            feed = dict(zip(INPUTS, (*pad([sequences[row] for row in rows]), vectors[rows]), strict=True))
            vectors[rows] = self._session.run([OUTPUT], feed)[0]
        return unit(vectors)

    @cached_property
    def _session(self) -> Any:
        return open_model(self._model, INPUTS, OUTPUT, "deep encoder")


def shipped_folder() -> Path:
    """The folder of the shipped transformers: the package treeline-models, or `models/` of this checkout."""
    checkout = Path(__file__).resolve().parents[1] / "models" / PACKAGE
    if (checkout / MODEL).is_file():
        return checkout
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise ExtraMissing(PACKAGE)
    return Path(package.origin).parent


@contextmanager
def model_config(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The configuration of a model; whatever is wrong with it is an error about the file."""
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"there is no {kind} here: {path} cannot be read", RETRAIN) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is no configuration of a {kind}: {error!r}", RETRAIN) from error


def check_model(config: Path, limits: Mapping[str, int], static: str, kind: str) -> None:
    """Raise if a model takes fewer tokens than its configuration gives, or reads other static vectors."""
    if sum(limits.values()) > LONGEST:
        raise InputError(f"the limits in {config} add up to more than {LONGEST} tokens", RETRAIN)
    if static != (shipped := StaticEncoder.shipped().name):
        raise InputError(
            f"the {kind} in {config.parent} was trained on {static}, this Treeline ships {shipped}", RETRAIN
        )


def check_runtime() -> None:
    """Raise if ONNX Runtime is missing: before a load starts, not in the middle of it."""
    if find_spec("onnxruntime") is None:
        raise ExtraMissing("onnxruntime")


def open_model(path: Path, inputs: Sequence[str], output: str, what: str, threads: int = 0) -> Any:
    """A session of ONNX Runtime for a model with these inputs and this output; `what` it is called in errors."""
    check_runtime()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or cores()
    options.inter_op_num_threads = 1
    # Threads that wait must not spin: others use the machine too.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"{path} cannot be read: {error}", RETRAIN) from error
    if {entry.name for entry in session.get_inputs()} != {*inputs} or output not in {
        entry.name for entry in session.get_outputs()
    }:
        raise InputError(f"{path} is no {what}: it must take {', '.join(inputs)} and give {output}", RETRAIN)
    return session


def is_deep(folder: Path) -> bool:
    """Whether the folder holds a deep encoder."""
    return (folder / CONFIG).is_file() and (folder / MODEL).is_file()


def function_tokens(tokenizer: Tokenizer, function: Function, limits: Mapping[str, int]) -> TokenSequence:
    """The function's token ids and the field of each; words outside the vocabulary are dropped."""
    texts, ids, numbers = fields(function)._asdict(), list[int](), list[int]()
    for number, field in enumerate(FIELDS, 1):
        ids += text_tokens(tokenizer, texts[field], limits[field])
        numbers += [number] * (len(ids) - len(numbers))
    return ids, numbers


def text_tokens(tokenizer: Tokenizer, text: str, limit: int) -> list[int]:
    """The ids of a text's known words, from 1: 0 is padding."""
    return [1 + token for token in tokenizer.ids(text, limit) if token < len(tokenizer.vocabulary)]


def pad(sequences: Sequence[TokenSequence]) -> NDArray[np.int64]:
    """Two matrices with a row for each sequence: its ids, and the field of each."""
    matrices = np.zeros((2, len(sequences), max(len(ids) for ids, _ in sequences)), dtype=np.int64)
    for row, (ids, numbers) in enumerate(sequences):
        matrices[:, row, : len(ids)] = ids, numbers
    return matrices


def text_of(function: Function) -> str:
    """All that the encoder reads of a function, as the key of its vector in a cache."""
    return "\0".join((*fields(function), function.language))


def cores() -> int:
    """The number of cores that this process may use; macOS does not say, so all there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def batches(lengths: Sequence[int]) -> Iterator[NDArray[np.int64]]:
    """The rows that have tokens, in batches of about the same length, so that little is padding."""
    order = np.argsort(lengths, kind="stable")
    order = order[np.count_nonzero(np.equal(lengths, 0)) :]
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * lengths[order[end]] <= BATCH_TOKENS:
            end += 1
        yield order[start:end]
        start = end
