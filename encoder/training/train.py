"""The training loop: the student learns the teachers' rankings and the right answers, until held-out cases say stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, log_softmax, softmax

from treeline.encoder.static import FIELDS
from treeline.encoder.training.bags import Bags
from treeline.encoder.training.candidates import Hard, siblings
from treeline.encoder.training.data import NO_TARGET, TrainingData
from treeline.encoder.training.development import DOCSTRING, Development
from treeline.encoder.training.model import Student
from treeline.encoder.training.options import Options
from treeline.encoder.training.queries import ANSWERED, GENERATED, SENTENCE
from treeline.encoder.training.schedule import warm_then_cosine
from treeline.encoder.training.teachers import Taught

NAME = FIELDS.index("name")


class Group(NamedTuple):
    """Questions that are learnt from in the same way, in batches of their own."""

    numbers: Tensor
    distilled: float  # share of the loss from the teachers
    bare: bool = False  # asked of functions without their docstring, which would give the answer away
    lenient: bool = False  # what the teachers find clearly better than the right answer is not held to be wrong


class Trainer:
    """Holds the data on the device and takes the student through its epochs."""

    def __init__(
        self,
        data: TrainingData,
        teachers: Sequence[Taught],
        sharing: Taught,
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
        self.groups = self._grouped(np.array(data.styles))

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
        kept: dict[str, Tensor] = {}
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
                kept = {name: value.detach().clone() for name, value in student.state_dict().items()}
        student.load_state_dict(kept)
        return best

    def _grouped(self, styles: NDArray[np.str_]) -> list[Group]:
        options = self.options

        def numbers(chosen: NDArray[np.bool_]) -> Tensor:
            return torch.from_numpy(np.flatnonzero(chosen)).to(self.device)

        sentences, answered, generated = (styles == style for style in (SENTENCE, ANSWERED, GENERATED))
        return [
            Group(numbers(sentences), options.distilled_sentences, bare=True),
            Group(numbers(answered).repeat(options.answered_times), options.distilled_answered, lenient=True),
            Group(numbers(generated).repeat(options.generated_times), options.distilled_generated, lenient=True),
            Group(numbers(~sentences & ~answered & ~generated), options.distilled),
        ]

    def _batches(self, generator: torch.Generator) -> list[tuple[Tensor, Group]]:
        batches = []
        for group in self.groups:
            order = group.numbers[torch.randperm(len(group.numbers), generator=generator).to(self.device)]
            batches += [(batch, group) for batch in torch.split(order, self.options.batch) if len(batch)]
        return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]

    def _loss(self, student: Student, numbers: Tensor, group: Group) -> Tensor:
        options = self.options
        targets = self.targets[numbers]
        answered = targets != NO_TARGET
        candidates = [
            targets[answered],
            self.siblings[targets[answered]],
            _drawn(self.hard.taught[numbers], options.hard),
            _drawn(self.hard.lexical[numbers], options.lexical_hard),
        ]
        functions = torch.unique(torch.cat(candidates))
        asked = student.queries(self.query_bags, numbers)
        found = student.functions(self.function_bags, functions, self._kept(len(functions), group.bare))
        taught = self._taught(numbers, functions, group.bare)
        expected = softmax(taught * options.teacher_scale, dim=1)
        places = torch.searchsorted(functions, targets[answered])
        right_too = _better(taught[answered], places, options.leniency) if group.lenient else None
        loss = torch.zeros((), device=self.device)
        for width in {student.table.shape[1], options.truncated or student.table.shape[1]}:
            left, right = asked[:, :width], found[:, :width]
            if width < student.table.shape[1]:
                left, right = torch.nn.functional.normalize(left), torch.nn.functional.normalize(right)
            logits = left @ right.T * options.student_scale
            loss = loss + group.distilled * kl_div(log_softmax(logits, dim=1), expected, reduction="batchmean")
            if len(places):
                judged = logits[answered] if right_too is None else logits[answered].masked_fill(right_too, -torch.inf)
                loss = loss + (1 - group.distilled) * cross_entropy(judged, places)
        return loss

    def _taught(self, numbers: Tensor, functions: Tensor, bare: bool) -> Tensor:
        """How well each function answers each question: the teachers' mean, and a little by the words they share."""
        said = [teacher.similarity(numbers, functions, bare) for teacher in self.teachers]
        words = self.sharing.similarity(numbers, functions, bare)
        return torch.stack(said).mean(0) + self.options.lexical * words

    def _kept(self, functions: int, bare: bool) -> Tensor:
        """Which fields the student may see: hiding some makes it read the others."""
        kept = torch.ones(functions, len(FIELDS), device=self.device)
        kept[:, NAME] = (torch.rand(functions, device=self.device) >= self.options.hide_name).float()
        shown = torch.rand(functions, device=self.device) >= self.options.hide_docstring
        kept[:, DOCSTRING] = 0.0 if bare else shown.float()
        return kept


def _better(taught: Tensor, places: Tensor, by: float) -> Tensor:
    """Which functions the teachers find better than the right answer, by so many standard deviations and more."""
    return taught > taught.gather(1, places[:, None]) + by


def _drawn(candidates: Tensor, count: int) -> Tensor:
    places = torch.randint(candidates.shape[1], (len(candidates), count), device=candidates.device)
    return candidates.gather(1, places).flatten().long()


def figures(scores: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
