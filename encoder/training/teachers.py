"""Teachers, whose rankings the student learns: transformers with the prompts they were made with, static encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

from treeline.encoder import standing
from treeline.encoder.prompts import prompts
from treeline.encoder.static import StaticEncoder, is_static
from treeline.encoder.training.data import TrainingData

PASSAGE_TOKENS = 128  # a function's beginning says what it does; more costs time
SAMPLE = (512, 2048)  # questions × functions whose similarities give a teacher's spread


@dataclass(frozen=True, slots=True)
class Taught:
    """What one teacher says: vectors of all questions and of all functions, with and without docstring."""

    queries: Tensor
    full: Tensor
    bare: Tensor
    spread: float  # standard deviation of its similarities: teachers are put on one scale by it

    def similarity(self, queries: Tensor, functions: Tensor, bare: bool) -> Tensor:
        vectors = self.bare if bare else self.full
        return (self.queries[queries] @ vectors[functions].T).float() / self.spread


def teach(name: str, data: TrainingData, device: str) -> Taught:
    """Encode everything with one teacher: a sentence-transformers model, or the folder of a static encoder."""
    encoded = _by_static(Path(name), data) if is_static(Path(name)) else _by_transformer(name, data, device)
    asked, whole, stripped = (vectors.half() if device != "cpu" else vectors.float() for vectors in encoded)
    return Taught(asked, whole, stripped, spread(asked, whole))


def _by_static(folder: Path, data: TrainingData) -> tuple[Tensor, Tensor, Tensor]:
    """Runs that were taught by transformers teach one more, which has what each of them learnt."""
    encoder = StaticEncoder(folder)
    bare = [replace(function, docstring="") for function in data.functions]
    encoded = (
        encoder.encode_queries(data.texts),
        encoder.encode_functions(data.functions),
        encoder.encode_functions(bare),
    )
    asked, whole, stripped = (torch.from_numpy(standing.taken_off(vectors)) for vectors in encoded)
    return asked, whole, stripped


def _by_transformer(name: str, data: TrainingData, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """In half precision on a GPU."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(name, device=device)
    model.max_seq_length = PASSAGE_TOKENS
    if device != "cpu":
        model.half()
    before_query, before_passage = prompts(name)

    def encode(texts: Sequence[str], prompt: str) -> Tensor:
        vectors = model.encode(
            [prompt + text for text in texts],
            batch_size=512 if device != "cpu" else 32,
            convert_to_tensor=True,
            normalize_embeddings=True,
            show_progress_bar=True,
        )
        assert isinstance(vectors, Tensor)
        return vectors

    passages = data.passages
    distinct = list(dict.fromkeys(chain(*passages)))  # without a docstring both are the same
    places = {text: place for place, text in enumerate(distinct)}
    vectors = encode(distinct, before_passage)
    full, bare = (vectors[[places[text] for text in texts]] for texts in passages)
    return encode(data.texts, before_query), full, bare


def spread(queries: Tensor, functions: Tensor) -> float:
    """How far a teacher's similarities of random pairs lie apart."""
    generator = torch.Generator().manual_seed(0)
    some = [
        vectors[torch.randint(len(vectors), (size,), generator=generator).to(vectors.device)].float()
        for vectors, size in zip((queries, functions), SAMPLE, strict=True)
    ]
    return float((some[0] @ some[1].T).std())
