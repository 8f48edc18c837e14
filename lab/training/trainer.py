"""The training loop, its hard negatives, and the held-out questions for early stopping."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, log_softmax, softmax

from lab.training.data import LIMITS, NO_TARGET, TrainingData, bags
from lab.training.examples import ANSWERED, GENERATED, SENTENCE, plain_sentence
from lab.training.models import warm_then_cosine
from lab.training.options import Options
from lab.training.student import Bags, Student
from lab.training.teacher import TeacherVectors
from treeline.corpus.function import Function
from treeline.encoder.static import FIELDS, Tokenizer
from treeline.encoder.text import fields

DOCSTRING = FIELDS.index("docstring")
MOST_SENTENCES = 1_000
FUNCTIONS_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the numbers of the functions that answer it."""

    text: str
    answers: tuple[int, ...]


class Development:
    """Sets of cases over one pool of held-out functions; `sentences` hides the docstrings from the student."""

    def __init__(
        self, functions: Sequence[Function], tokenizer: Tokenizer, more: Mapping[str, Sequence[Case]], device: str
    ) -> None:
        columns = zip(*(fields(function) for function in functions), strict=True)
        self.bags = tuple(
            Bags(bags(tokenizer, column, LIMITS[field]), device) for field, column in zip(FIELDS, columns, strict=True)
        )
        sentences = [
            Case(text, (number,)) for number, function in enumerate(functions) if (text := plain_sentence(function))
        ]
        step = max(1, len(sentences) // MOST_SENTENCES)
        self.sets: dict[str, Sequence[Case]] = {"sentences": sentences[::step][:MOST_SENTENCES], **more}
        self.queries = {
            name: Bags(bags(tokenizer, [case.text for case in cases], LIMITS["query"]), device)
            for name, cases in self.sets.items()
        }
        self.size, self.device = len(functions), device

    @torch.no_grad()
    def score(self, student: Student) -> dict[str, float]:
        """MRR of each set."""
        student.eval()
        whole, bare = self._functions(student, hide=False), self._functions(student, hide=True)
        scores = {}
        for name, cases in self.sets.items():
            questions = student.queries(self.queries[name], torch.arange(len(cases), device=self.device))
            scores[name] = mean_reciprocal_rank(questions @ (bare if name == "sentences" else whole).T, cases)
        return scores

    def _functions(self, student: Student, hide: bool) -> Tensor:
        numbers = torch.arange(self.size, device=self.device)
        rows = []
        for chunk in torch.split(numbers, FUNCTIONS_AT_ONCE):
            selection = torch.ones(len(chunk), len(FIELDS), device=self.device)
            if hide:
                selection[:, DOCSTRING] = 0.0
            rows.append(student.functions(self.bags, chunk, selection))
        return torch.cat(rows)


def mean_reciprocal_rank(similarities: Tensor, cases: Sequence[Case]) -> float:
    """MRR over the best-ranked answer of each case."""
    total = 0.0
    for row, case in zip(similarities, cases, strict=True):
        best = row[list(case.answers)].max()
        total += 1.0 / (1.0 + float((row > best).sum()))
    return total / max(len(cases), 1)


QUESTIONS_AT_ONCE = 1024  # questions per block of similarities to all functions
SHARING = 16  # functions sharing words with a question, to draw from
PARTS = 4  # each question searches one quarter of the functions, which is quicker and as varied


class Hard(NamedTuple):
    """For each question the functions that the teachers rank highest, and those that share its words."""

    taught: Tensor
    lexical: Tensor


def split_by_docstring(styles: Sequence[str], device: str) -> dict[bool, Tensor]:
    """The questions for functions without docstring (those made from it), and those for whole ones."""
    sentences = np.array(styles) == SENTENCE
    return {bare: torch.from_numpy(np.flatnonzero(sentences == bare)).to(device) for bare in (True, False)}


def hard(
    data: TrainingData, teachers: Sequence[TeacherVectors], sharing: TeacherVectors, depth: int, device: str
) -> Hard:
    """Find the hard negatives, once for all runs."""
    return Hard(highest(data, teachers, depth, device), highest(data, [sharing], SHARING, device))


def highest(data: TrainingData, teachers: Sequence[TeacherVectors], depth: int, device: str) -> Tensor:
    """The `depth` functions of a question's quarter that the teachers rank highest."""
    order = torch.randperm(len(data.functions), generator=torch.Generator().manual_seed(0)).to(device)
    parts = PARTS if depth >= PARTS and len(data.functions) >= PARTS * depth else 1
    results = torch.empty(len(data.styles), depth // parts, dtype=torch.int32, device=device)
    for bare, numbers in split_by_docstring(data.styles, device).items():
        for part in range(parts):
            results[numbers[part::parts]] = nearest(
                teachers, numbers[part::parts], order[part::parts], bare, depth // parts
            )
    return results


def nearest(teachers: Sequence[TeacherVectors], numbers: Tensor, among: Tensor, bare: bool, depth: int) -> Tensor:
    """For each question the functions `among` these that the teachers' mean ranks highest."""
    functions = torch.cat([(teacher.bare if bare else teacher.full)[among] for teacher in teachers], dim=1).T
    rows = [torch.empty(0, depth, dtype=torch.int32, device=numbers.device)]
    for chunk in torch.split(numbers, QUESTIONS_AT_ONCE):
        questions = torch.cat([teacher.queries[chunk] / teacher.spread for teacher in teachers], dim=1)
        rows.append(among[(questions @ functions).topk(depth, dim=1).indices].int())
    return torch.cat(rows)


def siblings(functions: Sequence[Function], rng: np.random.Generator) -> NDArray[np.int64]:
    """For each function another of the same file, or itself if there is none."""
    files: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, function in enumerate(functions):
        files[function.repo, function.path].append(number)
    selection = np.arange(len(functions))
    for members in files.values():
        shift = int(rng.integers(1, len(members))) if len(members) > 1 else 0
        selection[members] = np.roll(members, shift)
    return selection


NAME = FIELDS.index("name")


class Group(NamedTuple):
    """Questions with the same loss, in batches of their own."""

    numbers: Tensor
    distilled: float  # weight of the teachers' loss
    bare: bool = False  # functions are shown without docstring, which would give the answer away
    lenient: bool = False  # functions that the teachers clearly prefer to the right answer are no negatives


class Trainer:
    """Holds the data on the device and trains the student."""

    def __init__(
        self,
        data: TrainingData,
        teachers: Sequence[TeacherVectors],
        sharing: TeacherVectors,
        hard: Hard,
        options: Options,
        device: str,
    ) -> None:
        self.options, self.device = options, device
        self.teachers, self.sharing, self.hard = list(teachers), sharing, hard
        self.query_bags = Bags(data.query_bags, device)
        self.function_bags = tuple(Bags(bags, device) for bags in data.function_bags)
        self.targets = torch.from_numpy(data.targets).to(device)
        rng = np.random.default_rng(options.seed)
        self.siblings = torch.from_numpy(siblings(data.functions, rng)).to(device)
        self.groups = self._groups(np.array(data.styles))

    def fit(self, student: Student, development: Development, say: Callable[[str], None]) -> dict[str, float]:
        """Train; leaves the student as it was at its best epoch and returns its scores there."""
        options = self.options
        student.to(self.device)
        layers = [value for name, value in student.named_parameters() if "layer" in name]
        tables = [value for name, value in student.named_parameters() if "layer" not in name]
        optimiser = torch.optim.AdamW(
            [{"params": tables, "lr": options.table_rate}, {"params": layers, "lr": options.layer_rate}],
            weight_decay=options.decay,
        )
        generator = torch.Generator().manual_seed(options.seed)
        steps = options.epochs * sum(-(-len(group.numbers) // options.batch) for group in self.groups)
        schedule = warm_then_cosine(optimiser, steps)
        best: dict[str, float] = {"mean": -1.0}
        selection: dict[str, Tensor] = {}
        for epoch in range(options.epochs):
            losses = []
            student.train()
            for numbers, group in self._batches(generator):
                loss = self._loss(student, numbers, group)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                schedule.step()
                losses.append(loss.detach())
            scores = development.score(student)
            scores["mean"] = sum(scores.values()) / len(scores)
            say(f"epoch {epoch + 1}: loss {float(torch.stack(losses).mean()):.4f}  " + figures(scores))
            if scores["mean"] > best["mean"]:
                best = scores
                selection = {name: value.detach().clone() for name, value in student.state_dict().items()}
        student.load_state_dict(selection)
        return best

    def _groups(self, styles: NDArray[np.str_]) -> list[Group]:
        options = self.options

        def numbers(chosen: NDArray[np.bool_]) -> Tensor:
            return torch.from_numpy(np.flatnonzero(chosen)).to(self.device)

        sentences, answers, synthetic = (styles == style for style in (SENTENCE, ANSWERED, GENERATED))
        return [
            Group(numbers(sentences), options.distilled_sentences, bare=True),
            Group(numbers(answers).repeat(options.answered_times), options.distilled_answered, lenient=True),
            Group(numbers(synthetic).repeat(options.generated_times), options.distilled_generated, lenient=True),
            Group(numbers(~sentences & ~answers & ~synthetic), options.distilled),
        ]

    def _batches(self, generator: torch.Generator) -> list[tuple[Tensor, Group]]:
        batches = []
        for group in self.groups:
            order = group.numbers[torch.randperm(len(group.numbers), generator=generator).to(self.device)]
            batches += [(batch, group) for batch in torch.split(order, self.options.batch) if len(batch)]
        return [batches[position] for position in torch.randperm(len(batches), generator=generator).tolist()]

    def _loss(self, student: Student, numbers: Tensor, group: Group) -> Tensor:
        options = self.options
        targets = self.targets[numbers]
        answers = targets != NO_TARGET
        candidates = [
            targets[answers],
            self.siblings[targets[answers]],
            _sample(self.hard.taught[numbers], options.hard),
            _sample(self.hard.lexical[numbers], options.lexical_hard),
        ]
        functions = torch.unique(torch.cat(candidates))
        questions = student.queries(self.query_bags, numbers)
        results = student.functions(self.function_bags, functions, self._field_mask(len(functions), group.bare))
        taught = self._target_scores(numbers, functions, group.bare)
        expected = softmax(taught * options.teacher_scale, dim=1)
        places = torch.searchsorted(functions, targets[answers])
        also_correct = _better(taught[answers], places, options.leniency) if group.lenient else None
        loss = torch.zeros((), device=self.device)
        for width in {student.table.shape[1], options.truncated or student.table.shape[1]}:
            rest, right = questions[:, :width], results[:, :width]
            if width < student.table.shape[1]:
                rest, right = torch.nn.functional.normalize(rest), torch.nn.functional.normalize(right)
            logits = rest @ right.T * options.student_scale
            loss = loss + group.distilled * kl_div(log_softmax(logits, dim=1), expected, reduction="batchmean")
            if len(places):
                judgements = (
                    logits[answers] if also_correct is None else logits[answers].masked_fill(also_correct, -torch.inf)
                )
                loss = loss + (1 - group.distilled) * cross_entropy(judgements, places)
        return loss

    def _target_scores(self, numbers: Tensor, functions: Tensor, bare: bool) -> Tensor:
        """The target scores: the teachers' mean, plus a little for shared words."""
        said = [teacher.similarity(numbers, functions, bare) for teacher in self.teachers]
        words = self.sharing.similarity(numbers, functions, bare)
        return torch.stack(said).mean(0) + self.options.lexical * words

    def _field_mask(self, functions: int, bare: bool) -> Tensor:
        """A mask of the fields that the student sees; hiding some makes it read the others."""
        selection = torch.ones(functions, len(FIELDS), device=self.device)
        selection[:, NAME] = (torch.rand(functions, device=self.device) >= self.options.hide_name).float()
        candidates = torch.rand(functions, device=self.device) >= self.options.hide_docstring
        selection[:, DOCSTRING] = 0.0 if bare else candidates.float()
        return selection


def _better(taught: Tensor, places: Tensor, by: float) -> Tensor:
    """A mask of the functions that teachers prefer to the right answer by at least `leniency` standard deviations."""
    return taught > taught.gather(1, places[:, None]) + by


def _sample(candidates: Tensor, count: int) -> Tensor:
    places = torch.randint(candidates.shape[1], (len(candidates), count), device=candidates.device)
    return candidates.gather(1, places).flatten().long()


def figures(scores: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
