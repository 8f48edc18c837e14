"""Where the student starts: the teacher's own token vectors, reduced by PCA, weighted by rarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treeline.encoder.static import QUERY
from treeline.encoder.tokens import CONTINUED, Tokenizer

RARITY = 1e-3  # the `a` of smooth inverse frequency (Arora et al. 2017, "A simple but tough-to-beat baseline")
PAIR_WEIGHT = 0.05  # pairs begin as a whisper: there are as many of them as of tokens, and they know nothing yet


def start(
    tokenizer: Tokenizer,
    base: Sequence[str],
    base_vectors: NDArray[np.float32],
    counts: Counter[str],
    functions: int,
    dimension: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The first table (tokens, pairs, rows of unknown words) and the first weights (fields and query × rows)."""
    vocabulary = tokenizer.vocabulary
    places = {token: number for number, token in enumerate(base)}
    pieces = Tokenizer(base)
    rows = [
        base_vectors[places[token]] if token in places else base_vectors[pieces.ids(token, 16) or [0]].mean(axis=0)
        for token in vocabulary
    ]
    centred = np.stack(rows) - np.mean(rows, axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    words = centred @ directions[:dimension].T
    words /= np.linalg.norm(words, axis=1).mean()
    rng = np.random.default_rng(0)
    pairs = rng.normal(scale=0.1 / np.sqrt(dimension), size=(len(tokenizer.pairs), dimension))
    unknown = rng.normal(scale=1 / np.sqrt(dimension), size=(tokenizer.unknown, dimension))
    share = np.array([counts[token.removeprefix(CONTINUED)] / functions for token in vocabulary])
    rarity = np.concatenate(
        [RARITY / (RARITY + share), np.full(len(tokenizer.pairs), PAIR_WEIGHT), np.ones(tokenizer.unknown)]
    )
    table, weights = np.concatenate([words, pairs, unknown]), np.tile(rarity, (QUERY + 1, 1))
    return table.astype(np.float32), weights.astype(np.float32)


def token_vectors(teacher: str) -> tuple[list[str], NDArray[np.float32]]:
    """A teacher's own vocabulary and the vectors of its first layer."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(teacher, device="cpu")
    vectors = model[0].auto_model.get_input_embeddings().weight.detach().float().numpy()
    places = model.tokenizer.get_vocab()
    return sorted(places, key=places.__getitem__), vectors
