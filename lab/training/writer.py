"""Synthetic questions: a language model learns from known questions and writes some for other functions.

A question that does not find its function again, with the shipped encoder, is dropped (Alberti et al. 2019, "Synthetic
QA Corpora Generation with Roundtrip Consistency").
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from lab.training.models import warm_then_cosine, writing_model
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.static import StaticEncoder

FUNCTION_TOKENS, QUESTION_TOKENS = 128, 24
DOCSTRING, CODE = 240, 700  # characters that the model reads
ASKED = "\n? "  # between a function and its question
HEAT, LIKELIEST = 0.85, 40  # temperature and top-k: two questions for one function should differ
FOUND = 100  # the function must be among this many results of its question
CHUNK = 1024  # questions per block of similarities to all functions
IGNORED = -100  # cross-entropy's `ignore_index`


@dataclass(frozen=True, slots=True)
class Writing:
    """Options of the model's learning and writing."""

    epochs: int = 1
    batch: int = 256
    rate: float = 5e-5
    each: int = 2  # questions a function
    seed: int = 0


class Writer:
    """A causal language model that reads a function and writes a question."""

    def __init__(self, name: str, device: str) -> None:
        self.model, self.tokenizer = writing_model(name, device)
        self.end = int(self.tokenizer.eos_token_id)
        self.device = device
        self._asked = self._ids([ASKED], QUESTION_TOKENS)[0]

    def learn(
        self, functions: Sequence[Function], questions: Sequence[tuple[str, int]], writing: Writing,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        """Learn from questions, each with the number of the function that answers it."""
        if not questions:
            raise InputError("no question has its answer among the functions", "give --answered a file with their URLs")
        prompts = self._prompts([functions[number] for _, number in questions])
        targets = [[*ids, self.end] for ids in self._ids([text for text, _ in questions], QUESTION_TOKENS)]
        rng = random.Random(writing.seed)
        batches = [
            batch
            for _ in range(writing.epochs)
            for batch in _batches([len(one) for one in prompts], writing.batch, rng)
        ]
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=writing.rate, weight_decay=0.01)
        schedule = warm_then_cosine(optimiser, len(batches))
        self.model.train()
        for step, batch in enumerate(batches, start=1):
            loss = self._loss([prompts[position] for position in batch], [targets[position] for position in batch])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            if step % 50 == 0 or step == len(batches):
                say(f"step {step} of {len(batches)}: loss {loss.item():.3f}")
        self.model.eval()

    def write(
        self, functions: Sequence[Function], writing: Writing, say: Callable[[str], None]
    ) -> Iterator[tuple[str, int]]:
        """Write questions, each with the number of its function; functions are batched by length."""
        torch.manual_seed(writing.seed)
        prompts = self._prompts(functions)
        written = 0
        batches = _batches([len(one) for one in prompts], writing.batch, random.Random(writing.seed))
        for count, batch in enumerate(batches, start=1):
            ids, mask = self._padded([prompts[position] for position in batch])
            with torch.inference_mode(), self._precision():
                out = self.model.generate(
                    input_ids=ids, attention_mask=mask, do_sample=True, top_k=LIKELIEST, temperature=HEAT,
                    num_return_sequences=writing.each, max_new_tokens=QUESTION_TOKENS, eos_token_id=self.end,
                    pad_token_id=self.end,
                )[:, ids.shape[1] :]  # fmt: skip
            for position, row in enumerate(out.tolist()):
                if self.end in row:
                    text = " ".join(self.tokenizer.decode(row[: row.index(self.end)], skip_special_tokens=True).split())
                    if text:
                        written += 1
                        yield text, batch[position // writing.each]
            if count % 20 == 0 or count == len(batches):
                say(f"batch {count} of {len(batches)}: {written:,} questions")

    def _prompts(self, functions: Sequence[Function]) -> list[list[int]]:
        return [[*ids, *self._asked] for ids in self._ids([_read(one) for one in functions], FUNCTION_TOKENS)]

    def _ids(self, texts: Sequence[str], limit: int) -> list[list[int]]:
        read = self.tokenizer(list(texts), truncation=True, max_length=limit, add_special_tokens=False)
        ids: list[list[int]] = read["input_ids"]
        return ids

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Texts padded on the left, and their attention mask."""
        longest = max(map(len, rows))
        ids = torch.tensor([[self.end] * (longest - len(row)) + list(row) for row in rows])
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
        return ids.to(self.device), mask.to(self.device)

    def _loss(self, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> Tensor:
        """The loss over the questions' tokens; logits are computed for these alone, because the vocabulary is large."""
        ids, mask = self._padded([[*before, *after] for before, after in zip(prompts, answers, strict=True)])
        longest = max(map(len, answers))
        targets = torch.tensor([[IGNORED] * (longest - len(one)) + list(one) for one in answers]).to(self.device)
        places = (mask.cumsum(1) - 1).clamp_min(0)
        with self._precision():
            history = self.model(
                input_ids=ids, attention_mask=mask, position_ids=places, logits_to_keep=longest + 1
            ).logits[:, :-1]
        return cross_entropy(history.float().flatten(0, 1), targets.flatten(), ignore_index=IGNORED)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.device != "cpu")


def round_trip(questions: Sequence[tuple[str, int]], functions: Sequence[Function]) -> list[tuple[str, int]]:
    """The questions that find their function among all of these with the shipped encoder."""
    encoder = StaticEncoder.shipped()
    answers = encoder.encode_functions(functions)
    selection: list[tuple[str, int]] = []
    for start in range(0, len(questions), CHUNK):
        chunk = questions[start : start + CHUNK]
        scores = encoder.encode_queries([text for text, _ in chunk]) @ answers.T
        own = scores[np.arange(len(chunk)), [number for _, number in chunk]]
        better = (scores > own[:, None]).sum(axis=1)
        selection += [question for question, position in zip(chunk, better, strict=True) if position < FOUND]
    return selection


def _read(function: Function) -> str:
    docstring = " ".join(function.docstring.split())
    return f"{function.repo}/{function.path}\n{docstring[:DOCSTRING]}\n{function.code[:CODE]}"


def _batches(lengths: Sequence[int], size: int, rng: random.Random) -> list[list[int]]:
    """Shuffled batches of texts of similar length."""
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place], rng.random()))
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    rng.shuffle(batches)
    return batches
