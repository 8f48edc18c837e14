"""Teachers whose rankings the student learns: transformers, static encoders, shared words; and fine-tuning one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array
from scipy.sparse.linalg import norm
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from lab.training.data import TrainingData
from lab.training.examples import ANSWERED, GENERATED, SENTENCE
from lab.training.models import embedding_model, warm_then_cosine
from treeline.corpus.errors import InputError
from treeline.encoder.protocol import strip_prior
from treeline.encoder.static import FIELDS, StaticEncoder, is_static
from treeline.encoder.transformer import prompts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PASSAGE_TOKENS = 128  # the start of a function says what it does; more costs time
SAMPLE = (512, 2048)  # questions × functions sampled to estimate a teacher's spread


@dataclass(frozen=True, slots=True)
class TeacherVectors:
    """One teacher's vectors of all questions and all functions, with and without docstring."""

    queries: Tensor
    full: Tensor
    bare: Tensor
    spread: float  # standard deviation of its similarities; puts teachers on one scale

    def similarity(self, queries: Tensor, functions: Tensor, bare: bool) -> Tensor:
        vectors = self.bare if bare else self.full
        return (self.queries[queries] @ vectors[functions].T).float() / self.spread


def teach(name: str, data: TrainingData, device: str) -> TeacherVectors:
    """Encode everything with one teacher: a sentence-transformers model, or the folder of a static encoder."""
    encodings = _by_static(Path(name), data) if is_static(Path(name)) else _by_transformer(name, data, device)
    questions, whole, code_only = (vectors.half() if device != "cpu" else vectors.float() for vectors in encodings)
    return TeacherVectors(questions, whole, code_only, spread(questions, whole))


def _by_static(folder: Path, data: TrainingData) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors of a static encoder; several that transformers taught can teach one more."""
    encoder = StaticEncoder(folder)
    bare = [replace(function, docstring="") for function in data.functions]
    encodings = (
        encoder.encode_queries(data.texts),
        encoder.encode_functions(data.functions),
        encoder.encode_functions(bare),
    )
    questions, whole, code_only = (torch.from_numpy(strip_prior(vectors)) for vectors in encodings)
    return questions, whole, code_only


def _by_transformer(name: str, data: TrainingData, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors of a transformer, in half precision on a GPU."""
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
    places = {text: position for position, text in enumerate(distinct)}
    vectors = encode(distinct, before_passage)
    full, bare = (vectors[[places[text] for text in texts]] for texts in passages)
    return encode(data.texts, before_query), full, bare


def spread(queries: Tensor, functions: Tensor) -> float:
    """The standard deviation of a teacher's similarities over random pairs."""
    generator = torch.Generator().manual_seed(0)
    some = [
        vectors[torch.randint(len(vectors), (size,), generator=generator).to(vectors.device)].float()
        for vectors, size in zip((queries, functions), SAMPLE, strict=True)
    ]
    return float((some[0] @ some[1].T).std())


SKETCH = 1024  # dimensions of the signed hash that approximates the exact product
SATURATION = 1.2  # BM25's k1
LENGTH = 0.7  # BM25's b
ROWS = 200_000  # rows of the sketch per step; millions would fill the memory


def lexical(data: TrainingData, device: str) -> TeacherVectors:
    """A teacher by shared words (BM25); docstrings are left out, because questions are made from them."""
    words = len(data.tokenizer.vocabulary)
    counts = _counts(data.function_bags, words)
    bare = _counts([bag for bag, field in zip(data.function_bags, FIELDS, strict=True) if field != "docstring"], words)
    rarity, columns = _rarity(counts), _hashed(words)
    questions, full, code_only = (
        _sketched(each, rarity, columns) for each in (_counts([data.query_bags], words), counts, bare)
    )
    mean = _lengths(full).mean()
    whole, rest = (_on(rows, (1 - LENGTH) * mean + LENGTH * _lengths(rows), device) for rows in (full, code_only))
    queries = _on(questions, _lengths(questions), device)
    return TeacherVectors(queries, whole, rest, spread(queries, whole))


def _counts(bags: Sequence[csr_matrix], words: int) -> csr_matrix:
    """Word counts of each text, summed over fields; without pairs."""
    total = csr_matrix((bags[0].shape[0], words))
    for bag in bags:
        part = bag[:, :words].tocsr().astype(np.float64)
        part.data = np.expm1(part.data)
        total = total + part
    return total.tocsr()


def _rarity(counts: csr_matrix) -> NDArray[np.float64]:
    document_counts = np.asarray((counts > 0).sum(axis=0)).ravel()
    return np.log1p((counts.shape[0] - document_counts + 0.5) / (document_counts + 0.5))


def _hashed(words: int) -> csr_matrix:
    """The column and the sign of every word in the sketch."""
    rng = np.random.default_rng(0)
    column, sign = rng.integers(SKETCH, size=words), rng.choice([-1.0, 1.0], size=words)
    return csr_matrix((sign, (np.arange(words), column)), shape=(words, SKETCH))


def _sketched(counts: csr_matrix, rarity: NDArray[np.float64], columns: csr_matrix) -> csr_matrix:
    """Saturated counts times idf, in the sketch's columns."""
    bm25 = counts.copy()
    bm25.data = counts.data * (SATURATION + 1) / (counts.data + SATURATION) * rarity[counts.indices]
    sketch: csr_matrix = (bm25 @ columns).tocsr()
    return sketch


def _lengths(rows: csr_matrix) -> NDArray[np.float64]:
    return np.maximum(norm(rows, axis=1), 1e-9)


def _on(rows: csr_matrix, divisors: NDArray[np.float64], device: str) -> Tensor:
    """The rows divided by `divisor`, as dense vectors on the device; made in pieces."""
    unit_rows = (diags_array(1 / divisors) @ rows).tocsr()
    kind = torch.half if device != "cpu" else torch.float
    firsts = range(0, max(1, unit_rows.shape[0]), ROWS)
    pieces = (unit_rows[first : first + ROWS].toarray().astype(np.float32) for first in firsts)
    return torch.cat([torch.from_numpy(piece).to(device).to(kind) for piece in pieces])


# Share of functions that keep their docstring, which would give a sentence away.
WITH_DOCSTRING = {ANSWERED: 0.85, GENERATED: 0.85, SENTENCE: 0.25}
BESIDE = {GENERATED: 0.6, SENTENCE: 0.5}  # per question with a known answer, questions of this style in an epoch
BACKWARDS = 0.3  # weight of the loss from function to question
THE_SAME = 0.9  # cosine from which two questions have the same answers
LENIENCY = 0.1  # cosine by which the guide must prefer a function to the right answer to call it also right


@dataclass(frozen=True, slots=True)
class Tuning:
    """Options of a teacher's fine-tuning; the defaults are those for the shipped encoder's teacher."""

    epochs: int = 4
    batch: int = 768
    alike: int = 48  # questions that are like each other lie together, so many at least: each is hard for the others
    rate: float = 2.5e-5
    scale: float = 25.0  # 1 / temperature of the softmax
    seed: int = 0


class Guide(NamedTuple):
    """The shipped encoder's vectors of questions and functions: finds similar questions and other right answers."""

    questions: NDArray[np.float32]
    functions: NDArray[np.float32]


def tune(name: str, data: TrainingData, tuning: Tuning, device: str, say: Callable[[str], None]) -> SentenceTransformer:
    """Fine-tune the sentence transformer of that name on these questions."""
    if ANSWERED not in data.styles:
        raise InputError("no question has its answer among the functions", "give --answered a file with their URLs")
    model = embedding_model(name, device)
    model.max_seq_length = PASSAGE_TOKENS
    before_query, before_passage = prompts(name)
    full, bare = data.passages
    default_encoder = StaticEncoder.shipped()
    guide = Guide(
        strip_prior(default_encoder.encode_queries(data.texts)),
        strip_prior(default_encoder.encode_functions(data.functions)),
    )
    rng = random.Random(tuning.seed)
    batches = [batch for _ in range(tuning.epochs) for batch in _epoch(np.array(data.styles), guide, tuning, rng)]
    optimiser = torch.optim.AdamW(model.parameters(), lr=tuning.rate, weight_decay=0.01)
    schedule = warm_then_cosine(optimiser, len(batches))
    model.train()
    for step, numbers in enumerate(batches, start=1):
        targets = data.targets[numbers]
        share = WITH_DOCSTRING[data.styles[numbers[0]]]
        questions = [before_query + data.texts[number] for number in numbers]
        passages = [before_passage + (full if rng.random() < share else bare)[target] for target in targets]
        with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
            queries, passage_vectors = (_vectors(model, texts) for texts in (questions, passages))
        also_correct = torch.from_numpy(_also_correct(guide, numbers, targets)).to(device)
        loss = _loss(queries @ passage_vectors.T * tuning.scale, also_correct)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 50 == 0 or step == len(batches):
            say(f"step {step} of {len(batches)}: loss {float(loss):.3f}")
    model.eval()
    return model


def _epoch(styles: NDArray[np.str_], guide: Guide, tuning: Tuning, rng: random.Random) -> Iterator[NDArray[np.int64]]:
    """Shuffled batches of one style each: all questions with answers, and a new sample of the others."""
    answers = np.flatnonzero(styles == ANSWERED)
    selection = [answers]
    for style, share in BESIDE.items():
        others = np.flatnonzero(styles == style).tolist()
        selection.append(np.array(rng.sample(others, min(len(others), ceil(share * len(answers)))), dtype=np.int64))
    batches = []
    for numbers in selection:
        groups = group_similar(numbers, guide.questions, tuning.alike, rng)
        rng.shuffle(groups)
        order = np.concatenate(groups)
        batches += [order[start : start + tuning.batch] for start in range(0, len(order), tuning.batch)]
    rng.shuffle(batches)
    yield from (batch for batch in batches if len(batch) > 1)


def group_similar(
    numbers: NDArray[np.int64], vectors: NDArray[np.float32], size: int, rng: random.Random
) -> list[NDArray[np.int64]]:
    """Order by similarity: split recursively between two members until groups are smaller than twice `size`."""
    if len(numbers) < 2 * size:
        return [numbers]
    one, other = rng.sample(range(len(numbers)), 2)
    nearer = np.argsort(vectors[numbers] @ (vectors[numbers[one]] - vectors[numbers[other]]), kind="stable")
    middle = len(numbers) // 2
    halves = numbers[nearer[:middle]], numbers[nearer[middle:]]
    return [group for half in halves for group in group_similar(half, vectors, size, rng)]


def _also_correct(guide: Guide, numbers: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """A mask of the functions of the batch that may also answer each question, and so are no negatives."""
    queries = guide.questions[numbers]
    passage_vectors = queries @ guide.functions[targets].T
    same = (
        (queries @ queries.T > THE_SAME)
        | (targets[:, None] == targets)
        | (passage_vectors > passage_vectors.diagonal()[:, None] + LENIENCY)
    )
    np.fill_diagonal(same, val=False)
    return np.asarray(same)


def _loss(logits: Tensor, also_correct: Tensor) -> Tensor:
    own = torch.arange(len(logits), device=logits.device)
    forwards = cross_entropy(logits.masked_fill(also_correct, -torch.inf), own)
    return forwards + BACKWARDS * cross_entropy(logits.T.masked_fill(also_correct.T, -torch.inf), own)


def _vectors(model: SentenceTransformer, texts: Sequence[str]) -> Tensor:
    read = model.preprocess(list(texts))
    features = {key: value.to(model.device) if isinstance(value, Tensor) else value for key, value in read.items()}
    return normalize(model(features)["sentence_embedding"].float())
