"""Any sentence-transformers model as an encoder, with the prompts its family wants; torch is loaded only here."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from treeline.corpus.errors import InputError
from treeline.corpus.hub import HubAway, loaded
from treeline.encoder.prompted import PromptedEncoder
from treeline.encoder.prompts import prompts
from treeline.encoder.protocol import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH = 32  # measured on two cores: larger batches pad more than they save
LONGEST_PASSAGE = 256  # tokens; the cost of a transformer grows with the square of it


class TransformerEncoder(PromptedEncoder):
    """A sentence-transformers model by name or folder; texts are batched by length by the library itself."""

    def __init__(self, name: str) -> None:
        self._model = _load(name)
        self._model.max_seq_length = min(self._model.max_seq_length or LONGEST_PASSAGE, LONGEST_PASSAGE)
        own = self._model.prompts or {}
        asked, answered = prompts(name)
        dimension = int(self._model.get_embedding_dimension() or 0)
        if not dimension:
            raise InputError(f"{name!r} does not say its dimension", "choose a sentence-transformers model")
        passage_prompt = own.get("document") or own.get("passage") or answered
        super().__init__(name, dimension, own.get("query") or asked, passage_prompt)

    def _encode(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self._model.encode(
            texts, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)


def _load(name: str) -> SentenceTransformer:
    if find_spec("sentence_transformers") is None:
        raise InputError(
            f"encoder {name!r} needs sentence-transformers, which is not installed",
            "install Treeline with its `transformers` extra, or use the encoder `static`",
        )

    def make(local: bool) -> SentenceTransformer:
        from sentence_transformers import SentenceTransformer

        model: SentenceTransformer = SentenceTransformer(name, local_files_only=local)
        return model

    try:
        return loaded(name, make)
    except HubAway as error:
        hint = f"use `static`, or {error.hint}"
        raise InputError(f"encoder {name!r} cannot be loaded: {error.message}", hint) from error
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        first_line = str(error).strip().split("\n")[0]
        raise InputError(
            f"encoder {name!r} cannot be loaded: {first_line}", "give a sentence-transformers name or a model folder"
        ) from error
