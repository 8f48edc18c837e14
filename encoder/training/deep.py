"""The deep encoder in torch: a transformer that moves static vectors, its training, and its export to ONNX in int8.

The transformer starts as a correction of zero, so training starts where the static encoder is. With a teacher it learns
the teacher's vectors of functions and of questions, turned into the static space. Without one it learns which function
answers a question, and questions keep their static vectors.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, normalize, scaled_dot_product_attention, softmax

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder import standing
from treeline.encoder.deep import ASKED, CONFIG, FIELDS, LONGEST, MODEL, QUESTION, text_tokens
from treeline.encoder.static import SHIPPED, StaticEncoder
from treeline.encoder.text import fields
from treeline.encoder.tokens import Tokenizer
from treeline.encoder.training.data import QuestionSet, TrainingData, count_words, prepare
from treeline.encoder.training.examples import ANSWERED, GENERATED, SENTENCE, Answered, match_answers, plain_sentence
from treeline.encoder.training.models import bert_model, device_of, warm_then_cosine
from treeline.encoder.training.run import learnable, split
from treeline.encoder.training.teacher import TeacherVectors, teach
from treeline.encoder.training.trainer import Case, figures, highest, mean_reciprocal_rank

LIMITS = {"name": 16, "place": 12, "docstring": 48, "code": 116}  # tokens of each field; half of all functions have 82
ENDS = np.cumsum([0, *LIMITS.values()])
DOCSTRING = slice(int(ENDS[2]), int(ENDS[3]))
MASKED = -1e4  # added to the attention to padding; half precision has no larger
AT_ONCE = 4_096  # functions of one pass through the transformer


@dataclass(frozen=True, slots=True)
class DeepOptions:
    """How the transformer is trained; the defaults are those of docs/research/encoder-deep.md."""

    layers: int = 3  # of the starting model, spread evenly over its own
    steps: int = 1_500
    batch: int = 1_024
    rate: float = 4e-4
    scale: float = 18.0  # 1 / temperature of the softmax; with a teacher `TAUGHT_SCALE`
    hard: int = 1  # functions a question that the static encoder ranks high for it
    depth: int = 64  # from which they are drawn
    leniency: float = 0.08  # cosine by which the static encoder must prefer a function for it to be no negative
    hidden_docstrings: float = 0.12  # share of functions shown without docstring; with a teacher twice as many
    way: float = 0.4  # of the exported vectors that is the transformer's; the rest is the static encoder's
    seed: int = 0


# How often a question of each style is drawn, relative to a docstring's sentence: people's questions are few.
DRAWN = {ANSWERED: 8.0, GENERATED: 2.0, SENTENCE: 1.0, "reworded": 0.7, "keywords": 0.5, "comment": 0.7}
NEW = 2  # times the rate for the layers that no model brings
LEARNT = ("weigh", "correct", "kept")  # those layers
TAUGHT_SCALE = 30.0  # of a teacher's cosines, which differ less
RANKING = 0.5  # weight of the teacher's ranking beside its vectors
FEW = 120_000  # vectors that the common space is computed from


class Block(nn.Module):
    """One layer of a BERT: attention, then two linear layers, each normalised after its residual."""

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.attended, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, inner), nn.Linear(inner, width)
        self.after_attention, self.after_layers = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, states: Tensor, present: Tensor) -> Tensor:
        queries, keys, values = self.attended(states).split(self.width, dim=2)
        attention = _attend(queries, keys, values, present, self.heads)
        states = self.after_attention(states + self.joined(attention))
        moved = self.second(nn.functional.gelu(self.first(states)))
        normalised: Tensor = self.after_layers(states + moved)
        return normalised


class DeepStudent(nn.Module):
    """Tokens with their places and fields, a few blocks, and a correction of the static vector from two poolings."""

    def __init__(self, vocabulary: int, dimension: int, width: int, heads: int, inner: int, layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary + 1, width, padding_idx=0)
        self.places = nn.Embedding(LONGEST, width)
        self.fields = nn.Embedding(QUESTION + 1, width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, heads, inner) for _ in range(layers))
        self.weigh = nn.Linear(width, 1)
        self.correct = nn.Linear(2 * width, dimension)
        nn.init.zeros_(self.correct.weight)
        nn.init.zeros_(self.correct.bias)
        self.kept = nn.Parameter(torch.ones(2))  # how much of the static vector stays: of functions, of questions

    def forward(self, ids: Tensor, fields: Tensor, static: Tensor) -> Tensor:
        present = ids > 0
        states = self.norm(self.tokens(ids) + self.places.weight[: ids.shape[1]][None] + self.fields(fields))
        for block in self.blocks:
            states = block(states, present)
        shares = torch.softmax(self.weigh(states)[:, :, 0].float() + torch.where(present, 0.0, MASKED), dim=1)
        counted = present.to(states.dtype)
        mean = (states * counted[:, :, None]).sum(1) / counted.sum(1, keepdim=True).clamp_min(1)
        weighted = (states * shares.to(states.dtype)[:, :, None]).sum(1)
        kept = self.kept[(fields[:, 0] == QUESTION).long()][:, None]
        return normalize(static * kept + self.correct(torch.cat([mean, weighted], dim=1)).float(), dim=1)


class PartOfTheWay(nn.Module):
    """What is exported: unit vectors between the static ones and the student's."""

    def __init__(self, student: DeepStudent, way: float) -> None:
        super().__init__()
        self.student, self.way = student, way

    def forward(self, ids: Tensor, fields: Tensor, static: Tensor) -> Tensor:
        return normalize((1 - self.way) * static + self.way * self.student(ids, fields, static), dim=1)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, present: Tensor, heads: int) -> Tensor:
    if torch.onnx.is_in_onnx_export():
        exported: Tensor = _FusedAttention.apply(queries, keys, values, present.int(), heads)
        return exported
    count, length, width = queries.shape

    def split(states: Tensor) -> Tensor:
        return states.view(count, length, heads, width // heads).transpose(1, 2)

    bias = torch.where(present, 0.0, MASKED)[:, None, None, :].to(queries.dtype)
    found = scaled_dot_product_attention(split(queries), split(keys), split(values), attn_mask=bias)
    return found.transpose(1, 2).reshape(count, length, width)


class _FusedAttention(torch.autograd.Function):
    """ONNX Runtime's own attention in the exported file: about a third faster than its single steps."""

    @staticmethod
    def forward(_: Any, queries: Tensor, keys: Tensor, values: Tensor, present: Tensor, heads: int) -> Tensor:
        del keys, values, present, heads
        return torch.zeros_like(queries)  # only its shape is traced

    @staticmethod
    def symbolic(graph: Any, queries: Any, keys: Any, values: Any, present: Any, heads: int) -> Any:
        nothing = graph.op("prim::Constant")
        nothing.setType(torch._C.OptionalType.ofTensor())
        attention = graph.op(
            "com.microsoft::MultiHeadAttention", queries, keys, values, nothing, present, num_heads_i=heads
        )
        return attention.setType(queries.type())


def start(name: str, tokenizer: Tokenizer, dimension: int, layers: int) -> DeepStudent:
    """A student with some layers and the token vectors of a BERT model, such as all-MiniLM-L6-v2."""
    model, base = bert_model(name)
    config, given = model.config, model.state_dict()
    heads, inner = int(config.num_attention_heads), int(config.intermediate_size)
    student = DeepStudent(len(tokenizer.vocabulary), dimension, int(config.hidden_size), heads, inner, layers)
    chosen = np.linspace(0, config.num_hidden_layers - 1, layers).round().astype(int).tolist()
    table = given["embeddings.word_embeddings.weight"].float()
    known, pieces = {token: number for number, token in enumerate(base)}, Tokenizer(base)
    rows = [
        table[[known[token]] if token in known else pieces.ids(token, 16) or [0]].mean(0)
        for token in tokenizer.vocabulary
    ]
    state = {
        "tokens.weight": torch.stack([torch.zeros(table.shape[1]), *rows]),
        "places.weight": given["embeddings.position_embeddings.weight"][:LONGEST],
        "fields.weight": given["embeddings.token_type_embeddings.weight"][:1].repeat(QUESTION + 1, 1),
        "norm.weight": given["embeddings.LayerNorm.weight"],
        "norm.bias": given["embeddings.LayerNorm.bias"],
    }
    for number, source in enumerate(chosen):
        for kind in ("weight", "bias"):
            three = (
                given[f"encoder.layer.{source}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")
            )
            state[f"blocks.{number}.attended.{kind}"] = torch.cat(list(three))
            for ours, theirs in BERT.items():
                state[f"blocks.{number}.{ours}.{kind}"] = given[f"encoder.layer.{source}.{theirs}.{kind}"]
    student.load_state_dict({name: value.float() for name, value in state.items()}, strict=False)
    return student


BERT = {
    "joined": "attention.output.dense",
    "after_attention": "attention.output.LayerNorm",
    "first": "intermediate.dense",
    "second": "output.dense",
    "after_layers": "output.LayerNorm",
}


class Units(NamedTuple):
    """What the student sees of each function: tokens in blocks by field, static vectors with and without docstring."""

    ids: Tensor
    whole: Tensor
    bare: Tensor

    @classmethod
    def of(cls, functions: Sequence[Function], encoder: StaticEncoder, device: str) -> Units:
        ids = np.zeros((len(functions), int(ENDS[-1])), dtype=np.int32)
        for row, function in zip(ids, functions, strict=True):
            texts = fields(function)._asdict()
            for field, begin in zip(FIELDS, ENDS, strict=False):
                found = text_tokens(encoder.tokenizer, texts[field], LIMITS[field])
                row[begin : begin + len(found)] = found
        stripped = [replace(function, docstring="") for function in functions]
        whole, bare = (standing.strip(encoder.encode_functions(each)) for each in (functions, stripped))
        return cls(*(torch.from_numpy(each).to(device) for each in (ids, whole, bare)))

    def encode(self, student: nn.Module, numbers: Tensor, bare: Tensor) -> Tensor:
        """Unit vectors of these functions; `bare` says for which the docstring is hidden. Sorted by length inside."""
        ids = self.ids[numbers].long()
        ids[:, DOCSTRING] *= ~bare[:, None]
        static = torch.where(bare[:, None], self.bare[numbers], self.whole[numbers])
        order = (ids > 0).sum(1).argsort()
        found = torch.cat([student(*_packed(ids[some]), static[some]).float() for some in torch.split(order, AT_ONCE)])
        return torch.empty_like(found).index_copy(0, order, found)


class Questions(NamedTuple):
    """What the student sees of each question: its tokens and its static vector."""

    ids: Tensor
    static: Tensor

    @classmethod
    def of(cls, texts: Sequence[str], encoder: StaticEncoder, device: str) -> Questions:
        ids = np.zeros((len(texts), ASKED), dtype=np.int32)
        for row, text in zip(ids, texts, strict=True):
            found = text_tokens(encoder.tokenizer, text, ASKED)
            row[: len(found)] = found
        static = standing.strip(encoder.encode_queries(texts))
        return cls(torch.from_numpy(ids).to(device), torch.from_numpy(static).to(device))

    def encode(self, student: nn.Module, numbers: Tensor) -> Tensor:
        ids = self.ids[numbers].long()
        ids = ids[:, : max(1, int((ids > 0).sum(1).max()))]
        found: Tensor = student(ids, torch.where(ids > 0, QUESTION, 0), self.static[numbers])
        return found.float()


def _packed(ids: Tensor) -> tuple[Tensor, Tensor]:
    """The tokens without the gaps between fields, and the field of each."""
    numbered = torch.from_numpy(np.repeat(np.arange(1, len(FIELDS) + 1), list(LIMITS.values()))).to(ids.device)
    order = (ids == 0).to(torch.int8).argsort(dim=1, stable=True)[:, : max(1, int((ids > 0).sum(1).max()))]
    packed = ids.gather(1, order)
    return packed, torch.where(packed > 0, numbered[order], 0)


class Goal(NamedTuple):
    """A teacher's vectors in the static encoder's space, and in its own."""

    queries: Tensor
    whole: Tensor
    bare: Tensor
    teacher: TeacherVectors

    @classmethod
    def of(cls, teacher: TeacherVectors, questions: Questions, units: Units) -> Goal:
        """The strongest directions of the teacher's vectors, turned as near to the static vectors as can be.

        Turning changes no cosine. It lets a student start from the static vectors, and makes an index of both kinds
        of vectors comparable.
        """
        kinds = (teacher.queries, questions.static), (teacher.full, units.whole), (teacher.bare, units.bare)
        taught = torch.cat([own[:FEW].float() for own, _ in kinds])
        static = torch.cat([known[:FEW].float() for _, known in kinds])
        _, directions = torch.linalg.eigh(taught.T @ taught)
        basis = directions[:, -static.shape[1] :]
        left, _, right = torch.linalg.svd(normalize(taught @ basis, dim=1).T @ static, full_matrices=False)
        turned = basis @ (left @ right)
        queries, whole, bare = (normalize(own.float() @ turned, dim=1) for own, _ in kinds)
        return cls(queries, whole, bare, teacher)


def train(
    student: DeepStudent,
    data: TrainingData,
    held_out: Sequence[Function],
    answered: Sequence[tuple[str, int]],
    options: DeepOptions,
    device: str,
    say: Callable[[str], None],
    teacher: str = "",
) -> dict[str, float]:
    """Train on the teacher's vectors, or on which functions answer; returns MRR on held-out functions.

    `answered` are questions about held-out functions; sentences of their docstrings, hidden then, are asked too.
    """
    encoder, rng = StaticEncoder.shipped(), np.random.default_rng(options.seed)
    labelled = np.flatnonzero(data.targets >= 0)
    if not len(labelled):
        raise InputError("no question has a known answer", "add sources with docstrings, or --answered FILE")
    targets = torch.from_numpy(data.targets).to(device)
    known = teach(teacher or str(SHIPPED), data, device)
    hard = highest(data, [known], min(options.depth, len(data.functions)), device)
    units, questions = Units.of(data.functions, encoder, device), Questions.of(data.texts, encoder, device)
    goal = Goal.of(known, questions, units) if teacher else None
    styles = np.array(data.styles)[labelled]
    drawn = np.array([DRAWN.get(style, 1.0) for style in styles])
    groups = {bare: (styles == SENTENCE) == bare for bare in (True, False)}
    share = float(drawn[groups[True]].sum() / drawn.sum())
    student.to(device).train()
    own = [value for name, value in student.named_parameters() if name.startswith(LEARNT)]
    given = [value for name, value in student.named_parameters() if not name.startswith(LEARNT)]
    rates = [{"params": given, "lr": options.rate}, {"params": own, "lr": options.rate * NEW}]
    optimiser = torch.optim.AdamW(rates, weight_decay=0.01)
    schedule = warm_then_cosine(optimiser, options.steps)
    for step in range(options.steps):
        bare = bool(rng.random() < share)
        chosen = drawn if goal else drawn * groups[bare]
        numbers = torch.from_numpy(rng.choice(labelled, options.batch, p=chosen / chosen.sum())).to(device)
        shown = _shown(targets[numbers], hard[numbers], options)
        with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
            if goal:
                loss = _taught(student, units, questions, goal, numbers, shown, options)
            else:
                asked = known.queries[numbers].float()
                loss = _labelled(student, units, asked, targets[numbers], shown, bare, options)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 100 == 0 or step == options.steps - 1:
            say(f"step {step + 1} of {options.steps}: loss {loss.item():.3f}")
    moved = PartOfTheWay(student.eval(), options.way)
    return score(moved, held_out, answered, encoder, device, asks=goal is not None)


def _shown(targets: Tensor, hard: Tensor, options: DeepOptions) -> Tensor:
    """The functions of one step: those that answer, and some that rank high for the questions."""
    drawn = torch.randint(hard.shape[1], (len(hard), options.hard), device=hard.device)
    shown: Tensor = torch.unique(torch.cat([targets, hard.gather(1, drawn).flatten().long()]))
    return shown


def _taught(
    student: DeepStudent,
    units: Units,
    questions: Questions,
    goal: Goal,
    numbers: Tensor,
    functions: Tensor,
    options: DeepOptions,
) -> Tensor:
    """How far the student's vectors are from the teacher's, and its ranking of these functions from the teacher's."""
    bare = torch.rand(len(functions), device=functions.device) < 2 * options.hidden_docstrings
    found, asked = units.encode(student, functions, bare), questions.encode(student, numbers)
    wanted = torch.where(bare[:, None], goal.bare[functions], goal.whole[functions])
    apart = 2 - (found * wanted).sum(1).mean() - (asked * goal.queries[numbers]).sum(1).mean()
    taught = torch.where(bare[:, None], goal.teacher.bare[functions], goal.teacher.full[functions])
    ranked = (goal.teacher.queries[numbers] @ taught.T).float() * TAUGHT_SCALE
    ours = log_softmax(asked @ found.T * TAUGHT_SCALE, dim=1)
    loss: Tensor = 2 * apart + RANKING * kl_div(ours, softmax(ranked, dim=1), reduction="batchmean")
    return loss


def _labelled(
    student: DeepStudent,
    units: Units,
    asked: Tensor,
    targets: Tensor,
    functions: Tensor,
    bare: bool,
    options: DeepOptions,
) -> Tensor:
    """Cross-entropy of the labelled function among those shown.

    Functions that the static encoder clearly prefers may be right too and are no negatives.
    """
    hidden = torch.rand(len(functions), device=functions.device) < (1.0 if bare else options.hidden_docstrings)
    found = units.encode(student, functions, hidden)
    places = torch.searchsorted(functions, targets)
    known = asked @ (units.bare if bare else units.whole)[functions].T
    also_correct = known > known.gather(1, places[:, None]) + options.leniency
    also_correct.scatter_(1, places[:, None], value=False)
    return cross_entropy((asked @ found.T * options.scale).masked_fill(also_correct, MASKED), places)


@torch.no_grad()
def score(
    student: nn.Module,
    functions: Sequence[Function],
    answered: Sequence[tuple[str, int]],
    encoder: StaticEncoder,
    device: str,
    *,
    asks: bool,
) -> dict[str, float]:
    """MRR of held-out questions and docstring sentences, by static and by deep vectors, and the deep best cosine.

    `asks`: whether the student reads questions, too.
    """
    units, numbers = Units.of(functions, encoder, device), torch.arange(len(functions), device=device)
    sentences = [Case(text, (number,)) for number, one in enumerate(functions) if (text := plain_sentence(one))]
    sets = {"sentences": sentences, "answered": [Case(text, (number,)) for text, number in answered]}
    scores = {}
    for name, cases in sets.items():
        if not cases:
            continue
        hidden = torch.full((len(functions),), name == "sentences", device=device)
        static = units.bare if name == "sentences" else units.whole
        questions = Questions.of([case.text for case in cases], encoder, device)
        asked = questions.encode(student, torch.arange(len(cases), device=device)) if asks else questions.static
        deep = asked @ units.encode(student, numbers, hidden).T
        scores[f"{name}, static"] = mean_reciprocal_rank(before := questions.static @ static.T, cases)
        scores[f"{name}, deep"] = mean_reciprocal_rank(deep, cases)
        # how much higher the best cosine is now; the prior in every vector takes a part of it
        scores[f"{name}, higher"] = (
            float((deep.max(1).values - before.max(1).values).mean()) / (1 + standing.REACH**2) ** 0.5
        )
    return scores


def run(
    functions: Sequence[Function],
    options: DeepOptions,
    folder: Path,
    say: Callable[[str], None],
    *,
    model: str,
    answered: Answered,
    generated: Answered,
    never: Sequence[str],
    version: str,
    device: str,
    teacher: str = "",
) -> dict[str, float]:
    """Train from a BERT model and write the encoder; returns the scores on held-out repositories."""
    device = device_of(device)
    torch.manual_seed(options.seed)
    learnt, (_, held_out) = learnable(functions), split(functions)
    tokenizer = StaticEncoder.shipped().tokenizer
    known = QuestionSet(
        answered=match_answers(answered, learnt), generated=match_answers(generated, learnt), never=never
    )
    data = prepare(learnt, tokenizer, count_words(learnt), known, seed=options.seed)
    say(f"{len(data.texts):,} questions of {len(learnt):,} functions; {len(held_out):,} held out; on {device}")
    student = start(model, tokenizer, StaticEncoder.shipped().dimension - 1, options.layers)
    scores = train(student, data, held_out, match_answers(answered, held_out), options, device, say, teacher)
    higher = [scores.pop(name) for name in list(scores) if name.endswith("higher")]
    usual = StaticEncoder.shipped().usual + (float(np.mean(higher)) if higher else 0.0)
    note = f"started from {model}" + (f", taught by {teacher}" if teacher else "")
    size = export(student, folder, version, options, note, usual=usual, questions=bool(teacher))
    say(f"{folder}: {size / 1e6:.1f} MB  " + figures(scores))
    return scores


def export(
    student: DeepStudent,
    folder: Path,
    version: str,
    options: DeepOptions,
    note: str,
    *,
    usual: float,
    questions: bool,
) -> int:
    """Write `deep.onnx` in int8 and `deep.json`; returns their size in bytes."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    folder.mkdir(parents=True, exist_ok=True)
    student = student.cpu().float().eval()
    block = student.blocks[0]
    assert isinstance(block, Block)
    ids = torch.ones(2, 8, dtype=torch.long)
    sample = (ids, ids, torch.ones(2, student.correct.out_features))
    moved = PartOfTheWay(student, options.way)
    rows = {0: "batch", 1: "length"}
    with TemporaryDirectory() as scratch, warnings.catch_warnings():
        # torch's newer exporter cannot write ONNX Runtime's own attention
        warnings.simplefilter("ignore", DeprecationWarning)
        whole, fused = Path(scratch, "whole.onnx"), Path(scratch, "fused.onnx")
        torch.onnx.export(
            moved, sample, str(whole), input_names=["ids", "fields", "static"], output_names=["vectors"],
            dynamic_axes={"ids": rows, "fields": rows, "static": {0: "batch"}},
            opset_version=17, custom_opsets={"com.microsoft": 1}, dynamo=False,
        )  # fmt: skip
        fusion = FusionOptions("bert")
        fusion.enable_embed_layer_norm = False
        sizes = {"num_heads": block.heads, "hidden_size": block.width}
        optimize_model(str(whole), "bert", **sizes, optimization_options=fusion).save_model_to_file(str(fused))
        quantize_dynamic(
            fused, folder / MODEL, weight_type=QuantType.QInt8, per_channel=True,
            op_types_to_quantize=["MatMul", "Gather"], extra_options={"DefaultTensorType": 1},
        )  # fmt: skip
    config = {
        "version": version,
        "static": StaticEncoder.shipped().name,
        "limits": LIMITS,
        "usual": round(usual, 3),
        "questions": questions,
        "note": note,
        "options": asdict(options),
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return sum((folder / name).stat().st_size for name in (MODEL, CONFIG))
