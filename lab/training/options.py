"""The options of a training run; the defaults are those of the shipped encoder (see its card)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lab.training.examples import Answered


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the student's learning."""

    epochs: int = 2
    batch: int = 2048
    table_rate: float = 1.5e-2
    layer_rate: float = 1e-3
    teacher_scale: float = 2.3  # how sharp the teachers' ranking is, in standard deviations of their similarities
    student_scale: float = 14.0  # 1 / temperature of the student's softmax
    distilled: float = 0.9  # weight of the teachers' loss; the rest is the right answers'
    distilled_sentences: float = 0.6  # the same for docstring sentences, whose answer is certain
    distilled_answered: float = 0.5  # the same for questions whose answer is known
    answered_times: int = 4  # passes over these per epoch: they are few and worth most
    distilled_generated: float = 0.5  # the same for questions that a model wrote
    generated_times: int = 1
    leniency: float = 1.0  # a function is no negative if the teachers rank it this much above the right answer
    lexical: float = 0.05  # weight of shared words beside the teachers' mean
    depth: int = 64  # hard negatives are drawn from this many of the teachers' first results
    hard: int = 4  # hard negatives per question
    lexical_hard: int = 1  # the same, from functions that share words with the question
    hide_name: float = 0.05  # share of functions whose name is hidden at each step
    hide_docstring: float = 0.05
    dropped: float = 0.0  # share of tokens hidden at each step
    decay: float = 0.1  # decoupled weight decay
    truncated: int = 0  # also train the first N dimensions to rank alone (Matryoshka); 0: off
    way: float = 1.0  # how far to move from the starting encoder to the trained one; .5 forgets less
    seed: int = 0


FROM_SCRATCH = Options()
CONTINUE = replace(
    FROM_SCRATCH,
    epochs=1,
    table_rate=1.5e-3,
    teacher_scale=2.9,
    student_scale=18.0,
    distilled=0.7,
    distilled_sentences=0.3,
    distilled_answered=0.3,
    answered_times=6,
    hard=8,
    way=0.5,
)  # continuing a static encoder: slowly, and half the way


@dataclass(frozen=True, slots=True)
class Run:
    """A training run: its result, its teachers and its questions."""

    teachers: tuple[str, ...] = ()
    start: str = ""  # an encoder to continue, or the model whose token vectors come first; empty: the first teacher
    fields: tuple[float, ...] = ()  # factors for the fields of that encoder
    version: str = "own"
    vocabulary: int = 30_000
    pairs: int = 24_000
    dimension: int = 256  # of the vectors, including the prior (see `treeline.encoder.protocol`)
    hidden: int = 256
    questions: int = 800_000
    wishes: tuple[str, ...] = ()  # sentences to make questions from
    answered: Answered = field(default_factory=dict)  # questions with a known answer, by the answer's URL
    generated: Answered = field(default_factory=dict)  # the same, written by a model: more, less certain
    never: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    runs: int = 1  # runs with different seeds; their mean is written
    device: str = ""
