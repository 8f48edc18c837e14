"""The small transformer in torch that the deep encoder and the model of pairs share: its layers, its start, its export.

It starts from a BERT model, or from a student that `python -m lab.train deep` wrote. It is exported to ONNX in int8.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lab.training.models import bert_model
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.deep import FIELDS, LONGEST, QUESTION, text_tokens
from treeline.encoder.static import Tokenizer
from treeline.encoder.text import fields

STUDENT = "student.safetensors"  # a trained transformer in half precision, for another training to start from
MASKED = -1e4  # added to the attention to padding; half precision has no larger


class Shape(NamedTuple):
    """The size of a transformer."""

    vocabulary: int
    width: int
    heads: int
    inner: int
    layers: int


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
        shift = self.second(nn.functional.gelu(self.first(states)))
        unit_rows: Tensor = self.after_layers(states + shift)
        return unit_rows


class Reader(nn.Module):
    """Tokens with their places and fields, a few blocks, and two poolings of what they give."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.tokens = nn.Embedding(shape.vocabulary + 1, shape.width, padding_idx=0)
        self.places = nn.Embedding(LONGEST, shape.width)
        self.fields = nn.Embedding(QUESTION + 1, shape.width)
        self.norm = nn.LayerNorm(shape.width)
        self.blocks = nn.ModuleList(Block(shape.width, shape.heads, shape.inner) for _ in range(shape.layers))
        self.weigh = nn.Linear(shape.width, 1)

    def pooled(self, ids: Tensor, fields: Tensor) -> Tensor:
        """The mean of the last states, and their weighted mean."""
        present = ids > 0
        states = self.norm(self.tokens(ids) + self.places.weight[: ids.shape[1]][None] + self.fields(fields))
        for block in self.blocks:
            states = block(states, present)
        shares = torch.softmax(self.weigh(states)[:, :, 0].float() + torch.where(present, 0.0, MASKED), dim=1)
        counts = present.to(states.dtype)
        mean = (states * counts[:, :, None]).sum(1) / counts.sum(1, keepdim=True).clamp_min(1)
        weights_by = (states * shares.to(states.dtype)[:, :, None]).sum(1)
        return torch.cat([mean, weights_by], dim=1)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, present: Tensor, heads: int) -> Tensor:
    if torch.onnx.is_in_onnx_export():
        export_file: Tensor = _FusedAttention.apply(queries, keys, values, present.int(), heads)
        return export_file
    count, length, width = queries.shape

    def split(states: Tensor) -> Tensor:
        return states.view(count, length, heads, width // heads).transpose(1, 2)

    bias = torch.where(present, 0.0, MASKED)[:, None, None, :].to(queries.dtype)
    results = scaled_dot_product_attention(split(queries), split(keys), split(values), attn_mask=bias)
    return results.transpose(1, 2).reshape(count, length, width)


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


def start(name: str, tokenizer: Tokenizer, layers: int) -> tuple[Shape, dict[str, Tensor]]:
    """The shape and the weights to start from: of a BERT model such as all-MiniLM-L6-v2, or of a trained student.

    Of more layers than wanted, some are taken, spread evenly.
    """
    file = Path(name) / STUDENT
    shape, weights = _of_student(file, tokenizer) if file.is_file() else _of_bert(name, tokenizer)
    selection = np.linspace(0, shape.layers - 1, min(layers, shape.layers)).round().astype(int).tolist()
    rows = {name: value for name, value in weights.items() if not name.startswith("blocks.")}
    for number, source in enumerate(selection):
        before = f"blocks.{source}."
        names = {name.removeprefix(before): value for name, value in weights.items() if name.startswith(before)}
        rows |= {f"blocks.{number}.{name}": value for name, value in names.items()}
    return shape._replace(layers=len(selection)), rows


def save(student: Reader, folder: Path) -> None:
    """Write the student for a training to start from."""
    weights = {name: value.detach().half().cpu().contiguous() for name, value in student.state_dict().items()}
    save_file(weights, folder / STUDENT, {"heads": str(student.shape.heads)})


def _of_student(file: Path, tokenizer: Tokenizer) -> tuple[Shape, dict[str, Tensor]]:
    with safe_open(file, "pt") as artifact:
        heads = int(artifact.metadata()["heads"])
        weights = {name: artifact.get_tensor(name).float() for name in artifact.keys()}  # noqa: SIM118 - no mapping
    rows, width = weights["tokens.weight"].shape
    if rows != len(tokenizer.vocabulary) + 1:
        raise InputError(f"{file} was trained on another version of the static encoder", "train it again")
    layers = len({name.split(".")[1] for name in weights if name.startswith("blocks.")})
    return Shape(rows - 1, width, heads, len(weights["blocks.0.first.bias"]), layers), weights


BERT = {
    "joined": "attention.output.dense",
    "after_attention": "attention.output.LayerNorm",
    "first": "intermediate.dense",
    "second": "output.dense",
    "after_layers": "output.LayerNorm",
}


def _of_bert(name: str, tokenizer: Tokenizer) -> tuple[Shape, dict[str, Tensor]]:
    model, base = bert_model(name)
    config, inputs = model.config, model.state_dict()
    table = inputs["embeddings.word_embeddings.weight"].float()
    known, pieces = {token: number for number, token in enumerate(base)}, Tokenizer(base)
    rows = [
        table[[known[token]] if token in known else pieces.ids(token, 16) or [0]].mean(0)
        for token in tokenizer.vocabulary
    ]
    state = {
        "tokens.weight": torch.stack([torch.zeros(table.shape[1]), *rows]),
        "places.weight": inputs["embeddings.position_embeddings.weight"][:LONGEST],
        "fields.weight": inputs["embeddings.token_type_embeddings.weight"][:1].repeat(QUESTION + 1, 1),
        "norm.weight": inputs["embeddings.LayerNorm.weight"],
        "norm.bias": inputs["embeddings.LayerNorm.bias"],
    }
    for number in range(config.num_hidden_layers):
        layer = f"encoder.layer.{number}"
        for kind in ("weight", "bias"):
            three = (inputs[f"{layer}.attention.self.{part}.{kind}"] for part in ("query", "key", "value"))
            state[f"blocks.{number}.attended.{kind}"] = torch.cat(list(three))
            for ours, theirs in BERT.items():
                state[f"blocks.{number}.{ours}.{kind}"] = inputs[f"{layer}.{theirs}.{kind}"]
    sizes = (config.hidden_size, config.num_attention_heads, config.intermediate_size, config.num_hidden_layers)
    shape = Shape(len(tokenizer.vocabulary), *map(int, sizes))
    return shape, {name: value.float() for name, value in state.items()}


def function_matrix(
    functions: Sequence[Function], tokenizer: Tokenizer, limits: Mapping[str, int]
) -> NDArray[np.int32]:
    """The tokens of each function: a row of blocks, one a field, each as wide as its limit."""
    ends = np.cumsum([0, *(limits[field] for field in FIELDS)])
    ids = np.zeros((len(functions), int(ends[-1])), dtype=np.int32)
    for row, function in zip(ids, functions, strict=True):
        texts = fields(function)._asdict()
        for field, begin in zip(FIELDS, ends, strict=False):
            results = text_tokens(tokenizer, texts[field], limits[field])
            row[begin : begin + len(results)] = results
    return ids


def question_matrix(texts: Sequence[str], tokenizer: Tokenizer, longest: int) -> NDArray[np.int32]:
    """The first tokens of each question."""
    ids = np.zeros((len(texts), longest), dtype=np.int32)
    for row, text in zip(ids, texts, strict=True):
        results = text_tokens(tokenizer, text, longest)
        row[: len(results)] = results
    return ids


def field_numbers(limits: Mapping[str, int], device: str) -> Tensor:
    """The field of each column of `function_matrix`."""
    widths = [limits[field] for field in FIELDS]
    return torch.from_numpy(np.repeat(np.arange(1, len(FIELDS) + 1), widths)).to(device)


def packed(ids: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """The tokens without the gaps between fields, and the field of each; `numbers` are those of the columns."""
    order = (ids == 0).to(torch.int8).argsort(dim=1, stable=True)[:, : max(1, int((ids > 0).sum(1).max()))]
    results = ids.gather(1, order)
    return results, torch.where(results > 0, numbers[order], 0)


def write_int8(model: nn.Module, shape: Shape, path: Path, inputs: Sequence[str], output: str, *more: Tensor) -> None:
    """Export a model that takes ids, fields and perhaps `more` to ONNX, its attention fused and its weights in int8."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    path.parent.mkdir(parents=True, exist_ok=True)
    ids = torch.ones(2, 8, dtype=torch.long)
    rows = {name: {0: "batch", 1: "length"} if position < 2 else {0: "batch"} for position, name in enumerate(inputs)}
    with TemporaryDirectory() as scratch, warnings.catch_warnings():
        # torch's newer exporter cannot write ONNX Runtime's own attention
        warnings.simplefilter("ignore", DeprecationWarning)
        whole, fused = Path(scratch, "whole.onnx"), Path(scratch, "fused.onnx")
        torch.onnx.export(
            model, (ids, ids, *more), str(whole), input_names=list(inputs), output_names=[output], dynamic_axes=rows,
            opset_version=17, custom_opsets={"com.microsoft": 1}, dynamo=False,
        )  # fmt: skip
        fusion = FusionOptions("bert")
        fusion.enable_embed_layer_norm = False
        sizes = {"num_heads": shape.heads, "hidden_size": shape.width}
        optimize_model(str(whole), "bert", **sizes, optimization_options=fusion).save_model_to_file(str(fused))
        quantize_dynamic(
            fused, path, weight_type=QuantType.QInt8, per_channel=True,
            op_types_to_quantize=["MatMul", "Gather"], extra_options={"DefaultTensorType": 1},
        )  # fmt: skip
