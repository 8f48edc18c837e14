"""The deep encoder in torch: a transformer that moves static vectors, its training, and its export to ONNX in int8.

The transformer starts as a correction of zero, so training starts where the static encoder is, and questions keep
their static vectors: what is learnt is how to read a function better, nothing else.
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
from torch.nn.functional import cross_entropy, normalize, scaled_dot_product_attention

from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder import standing
from treeline.encoder.deep import CONFIG, FIELDS, LONGEST, MODEL
from treeline.encoder.static import SHIPPED, StaticEncoder
from treeline.encoder.text import fields
from treeline.encoder.tokens import Tokenizer
from treeline.encoder.training.data import QuestionSet, TrainingData, count_words, prepare
from treeline.encoder.training.examples import ANSWERED, GENERATED, SENTENCE, Answered, match_answers, plain_sentence
from treeline.encoder.training.models import bert_model, device_of, warm_then_cosine
from treeline.encoder.training.run import learnable, split
from treeline.encoder.training.teacher import teach
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
    steps: int = 2_000
    batch: int = 1_024
    rate: float = 2e-4
    scale: float = 18.0  # 1 / temperature of the softmax
    hard: int = 1  # functions a question that the static encoder ranks high for it
    depth: int = 64  # from which they are drawn
    leniency: float = 0.08  # cosine by which the static encoder must prefer a function for it to be no negative
    hidden_docstrings: float = 0.12  # share of functions shown without docstring
    way: float = 1.0  # of the correction that is exported; less forgets less of the static encoder
    seed: int = 0


# How often a question of each style is drawn, relative to a docstring's sentence: people's questions are few.
DRAWN = {ANSWERED: 8.0, GENERATED: 2.0, SENTENCE: 1.0, "reworded": 0.7, "keywords": 0.5, "comment": 0.7}
NEW = 4  # times the rate for the layers that no model brings


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
        self.fields = nn.Embedding(len(FIELDS) + 1, width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, heads, inner) for _ in range(layers))
        self.weigh = nn.Linear(width, 1)
        self.correct = nn.Linear(2 * width, dimension)
        nn.init.zeros_(self.correct.weight)
        nn.init.zeros_(self.correct.bias)

    def forward(self, ids: Tensor, fields: Tensor, static: Tensor) -> Tensor:
        present = ids > 0
        states = self.norm(self.tokens(ids) + self.places.weight[: ids.shape[1]][None] + self.fields(fields))
        for block in self.blocks:
            states = block(states, present)
        shares = torch.softmax(self.weigh(states)[:, :, 0].float() + torch.where(present, 0.0, MASKED), dim=1)
        counted = present.to(states.dtype)
        mean = (states * counted[:, :, None]).sum(1) / counted.sum(1, keepdim=True).clamp_min(1)
        weighted = (states * shares.to(states.dtype)[:, :, None]).sum(1)
        return normalize(static + self.correct(torch.cat([mean, weighted], dim=1)).float(), dim=1)


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
        "fields.weight": given["embeddings.token_type_embeddings.weight"][:1].repeat(len(FIELDS) + 1, 1),
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
            texts, known = fields(function)._asdict(), len(encoder.tokenizer.vocabulary)
            for field, begin in zip(FIELDS, ENDS, strict=False):
                found = [1 + one for one in encoder.tokenizer.ids(texts[field], LIMITS[field]) if one < known]
                row[begin : begin + len(found)] = found
        stripped = [replace(function, docstring="") for function in functions]
        whole, bare = (standing.strip(encoder.encode_functions(each)) for each in (functions, stripped))
        return cls(*(torch.from_numpy(each).to(device) for each in (ids, whole, bare)))

    def encode(self, student: DeepStudent, numbers: Tensor, bare: Tensor) -> Tensor:
        """Unit vectors of these functions; `bare` says for which the docstring is hidden. Sorted by length inside."""
        ids = self.ids[numbers].long()
        ids[:, DOCSTRING] *= ~bare[:, None]
        static = torch.where(bare[:, None], self.bare[numbers], self.whole[numbers])
        order = (ids > 0).sum(1).argsort()
        found = torch.cat([student(*_packed(ids[some]), static[some]).float() for some in torch.split(order, AT_ONCE)])
        return torch.empty_like(found).index_copy(0, order, found)


def _packed(ids: Tensor) -> tuple[Tensor, Tensor]:
    """The tokens without the gaps between fields, and the field of each."""
    numbered = torch.from_numpy(np.repeat(np.arange(1, len(FIELDS) + 1), list(LIMITS.values()))).to(ids.device)
    order = (ids == 0).to(torch.int8).argsort(dim=1, stable=True)[:, : max(1, int((ids > 0).sum(1).max()))]
    packed = ids.gather(1, order)
    return packed, torch.where(packed > 0, numbered[order], 0)


def train(
    student: DeepStudent,
    data: TrainingData,
    held_out: Sequence[Function],
    answered: Sequence[tuple[str, int]],
    options: DeepOptions,
    device: str,
    say: Callable[[str], None],
) -> dict[str, float]:
    """Train on questions with known answers; returns MRR on held-out functions, static and deep.

    `answered` are questions about held-out functions; sentences of their docstrings, hidden then, are asked too.
    """
    encoder, rng = StaticEncoder.shipped(), np.random.default_rng(options.seed)
    labelled = np.flatnonzero(data.targets >= 0)
    if not len(labelled):
        raise InputError("no question has a known answer", "add sources with docstrings, or --answered FILE")
    targets = torch.from_numpy(data.targets).to(device)
    known = teach(str(SHIPPED), data, device)
    asked, hard = known.queries.float(), highest(data, [known], min(options.depth, len(data.functions)), device)
    units = Units.of(data.functions, encoder, device)
    styles = np.array(data.styles)[labelled]
    drawn = np.array([DRAWN.get(style, 1.0) for style in styles])
    groups = {bare: (styles == SENTENCE) == bare for bare in (True, False)}
    share = float(drawn[groups[True]].sum() / drawn.sum())
    student.to(device).train()
    own = [value for name, value in student.named_parameters() if name.startswith(("weigh", "correct"))]
    given = [value for name, value in student.named_parameters() if not name.startswith(("weigh", "correct"))]
    rates = [{"params": given, "lr": options.rate}, {"params": own, "lr": options.rate * NEW}]
    optimiser = torch.optim.AdamW(rates, weight_decay=0.01)
    schedule = warm_then_cosine(optimiser, options.steps)
    for step in range(options.steps):
        bare = bool(rng.random() < share)
        chosen = drawn * groups[bare]
        numbers = torch.from_numpy(rng.choice(labelled, options.batch, p=chosen / chosen.sum())).to(device)
        with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
            loss = _loss(student, units, asked[numbers], targets[numbers], hard[numbers], bare, options)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 100 == 0 or step == options.steps - 1:
            say(f"step {step + 1} of {options.steps}: loss {loss.item():.3f}")
    with torch.no_grad():  # the exported correction is the whole one times `way`
        student.correct.weight.mul_(options.way)
        student.correct.bias.mul_(options.way)
    return score(student, held_out, answered, encoder, device)


def _loss(
    student: DeepStudent, units: Units, asked: Tensor, targets: Tensor, hard: Tensor, bare: bool, options: DeepOptions
) -> Tensor:
    """Cross-entropy of the labelled function among those of the batch and hard ones.

    Functions that the static encoder clearly prefers may be right too and are no negatives.
    """
    drawn = torch.randint(hard.shape[1], (len(hard), options.hard), device=hard.device)
    functions = torch.unique(torch.cat([targets, hard.gather(1, drawn).flatten().long()]))
    hidden = torch.rand(len(functions), device=hard.device) < (1.0 if bare else options.hidden_docstrings)
    found = units.encode(student, functions, hidden)
    places = torch.searchsorted(functions, targets)
    known = asked @ (units.bare if bare else units.whole)[functions].T
    also_correct = known > known.gather(1, places[:, None]) + options.leniency
    also_correct.scatter_(1, places[:, None], value=False)
    return cross_entropy((asked @ found.T * options.scale).masked_fill(also_correct, MASKED), places)


@torch.no_grad()
def score(
    student: DeepStudent,
    functions: Sequence[Function],
    answered: Sequence[tuple[str, int]],
    encoder: StaticEncoder,
    device: str,
) -> dict[str, float]:
    """MRR of held-out questions and docstring sentences, by static and by deep vectors."""
    student.eval()
    units, numbers = Units.of(functions, encoder, device), torch.arange(len(functions), device=device)
    sentences = [Case(text, (number,)) for number, one in enumerate(functions) if (text := plain_sentence(one))]
    sets = {"sentences": sentences, "answered": [Case(text, (number,)) for text, number in answered]}
    scores = {}
    for name, cases in sets.items():
        hidden = torch.full((len(functions),), name == "sentences", device=device)
        vectors = {"static": units.bare if name == "sentences" else units.whole}
        vectors["deep"] = units.encode(student, numbers, hidden)
        queries = torch.from_numpy(standing.strip(encoder.encode_queries([case.text for case in cases]))).to(device)
        for kind, rows in vectors.items() if cases else ():
            scores[f"{name}, {kind}"] = mean_reciprocal_rank(queries @ rows.T, cases)
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
    scores = train(student, data, held_out, match_answers(answered, held_out), options, device, say)
    size = export(student, folder, version, options, f"started from {model}")
    say(f"{folder}: {size / 1e6:.1f} MB  " + figures(scores))
    return scores


def export(student: DeepStudent, folder: Path, version: str, options: DeepOptions, note: str) -> int:
    """Write `deep.onnx` in int8 and `deep.json`; returns their size in bytes."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    folder.mkdir(parents=True, exist_ok=True)
    student = student.cpu().float().eval()
    block = student.blocks[0]
    assert isinstance(block, Block)
    ids = torch.ones(2, 8, dtype=torch.long)
    sample = (ids, ids, torch.zeros(2, student.correct.out_features))
    rows = {0: "batch", 1: "length"}
    with TemporaryDirectory() as scratch, warnings.catch_warnings():
        # torch's newer exporter cannot write ONNX Runtime's own attention
        warnings.simplefilter("ignore", DeprecationWarning)
        whole, fused = Path(scratch, "whole.onnx"), Path(scratch, "fused.onnx")
        torch.onnx.export(
            student, sample, str(whole), input_names=["ids", "fields", "static"], output_names=["vectors"],
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
    config = {"version": version, "static": StaticEncoder.shipped().name, "limits": LIMITS, "note": note}
    config["options"] = asdict(options)
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return sum((folder / name).stat().st_size for name in (MODEL, CONFIG))
