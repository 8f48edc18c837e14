"""Every number of a training run, from nothing or on from an encoder, as for the shipped one (see its card)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from treeline.encoder.training.examples import Answered


@dataclass(frozen=True, slots=True)
class Options:
    """How the student learns."""

    epochs: int = 2
    batch: int = 2048
    table_rate: float = 1.5e-2
    layer_rate: float = 1e-3
    teacher_scale: float = 2.3  # how sharp the teachers' ranking is, in standard deviations of their similarities
    student_scale: float = 14.0  # 1 / temperature of the student's softmax
    distilled: float = 0.9  # share of the loss from the teachers; the rest from the right answers
    distilled_sentences: float = 0.6  # the same for docstring sentences, where the right answer is sure
    distilled_answered: float = 0.5  # the same for questions whose answer is known
    answered_times: int = 4  # how often an epoch goes through these, which are few and worth most
    distilled_generated: float = 0.5  # as for answered ones, for what a model wrote
    generated_times: int = 1
    leniency: float = 1.0  # their other functions are no wrong answers where the teachers rank them so much higher
    lexical: float = 0.05  # how much shared words count beside the teachers' mean
    depth: int = 64  # how far down the teachers' list hard candidates are drawn
    hard: int = 4  # hard candidates a question
    lexical_hard: int = 1  # the same from functions that share the question's words
    hide_name: float = 0.05  # share of functions whose name the student does not see at a step
    hide_docstring: float = 0.05
    dropped: float = 0.0  # share of tokens hidden at each step
    decay: float = 0.1  # decoupled weight decay
    truncated: int = 0  # also train the first so many dimensions to rank alone (Matryoshka); 0: do not
    way: float = 1.0  # how far to go from the encoder it starts from to what it learnt; by halves it forgets less
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
)  # from a static encoder: slowly, and half the way


@dataclass(frozen=True, slots=True)
class Run:
    """What is trained, from whom."""

    teachers: tuple[str, ...] = ()
    start: str = ""  # an encoder to go on from, or whose token vectors are the first table; empty: the first teacher
    fields: tuple[float, ...] = ()  # how much more or less each field of that encoder counts from now on
    version: str = "own"
    vocabulary: int = 30_000
    pairs: int = 24_000
    dimension: int = 256  # of the vectors, the component of the functions' standing among them
    hidden: int = 256
    questions: int = 800_000
    wishes: tuple[str, ...] = ()  # sentences that say what somebody wants, asked in several ways
    answered: Answered = field(default_factory=dict)  # questions whose answer is known, by the answer's URL
    generated: Answered = field(default_factory=dict)  # the same, written by a model: more of them, less sure
    never: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    runs: int = 1  # from the same start with other seeds; what is written is their mean
    device: str = ""
