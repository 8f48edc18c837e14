"""Reads a question and a function together: a small transformer says how well the one answers the other.

A vector is made of a function before anybody asks. This model sees both, in order, so it can tell `csv to json` from
`json_to_csv`. It takes some five milliseconds of processor time for a function, so only the first results of a search
are read.
Nogueira & Cho, "Passage Re-ranking with BERT", 2019; how it was trained: docs/research/rerankers.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.errors import ReaderFailure
from treeline.corpus.function import Function
from treeline.encoder.deep import (
    FIELDS,
    QUESTION,
    QUESTION_TOKENS,
    RETRAIN,
    batches,
    check_model,
    cores,
    function_tokens,
    model_config,
    open_model,
    pad,
    shipped_folder,
    text_tokens,
)
from treeline.encoder.static import StaticEncoder

CONFIG, MODEL = "rerank.json", "rerank.onnx"
INPUTS, OUTPUT = ("ids", "fields"), "scores"
KIND = "model of questions and functions"


class PairReader:
    """Scores functions for a question (ONNX Runtime, no torch); opens its model for the first one."""

    def __init__(self, folder: Path | None = None, threads: int = 0) -> None:
        """`threads` that run the model; 0: one per core."""
        folder = folder or shipped_folder()
        self._tokenizer = StaticEncoder.shipped().tokenizer
        self._model, self._threads = folder / MODEL, threads or cores()
        with model_config(folder / CONFIG, KIND) as config:
            self.version = str(config["version"])
            self.weight = float(config["weight"])  # of its scores beside the fused ones
            self.depth = int(config["depth"])  # results that it reads
            self._limits = {field: int(config["limits"][field]) for field in (*FIELDS, "question")}
            static = config["static"]
        check_model(folder / CONFIG, self._limits, static, KIND)

    def scores(self, question: str, functions: Sequence[Function]) -> NDArray[np.float32]:
        """A score of each function as an answer, comparable for one question only; all 0 if no word of it is known."""
        values = np.zeros(len(functions), dtype=np.float32)
        ids = text_tokens(self._tokenizer, question, QUESTION_TOKENS)[: self._limits["question"]]
        if not ids:
            return values
        pairs = (function_tokens(self._tokenizer, function, self._limits) for function in functions)
        sequences = [(ids + own, [QUESTION] * len(ids) + numbers) for own, numbers in pairs]
        session = self._session

        def run(rows: NDArray[np.int64]) -> None:
            matrices = pad([sequences[row] for row in rows])
            try:
                values[rows] = session.run([OUTPUT], dict(zip(INPUTS, matrices, strict=True)))[0]
            except Exception as error:  # ONNX Runtime's errors have no class in common
                raise ReaderFailure(f"the {KIND} failed: {error}", RETRAIN) from error

        # Threads that take whole batches need 7 % less processor time than two that share each batch.
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(run, batches([len(numbers) for _, numbers in sequences])))
        return values

    @cached_property
    def _session(self) -> Any:
        return open_model(self._model, INPUTS, OUTPUT, KIND, threads=1)
