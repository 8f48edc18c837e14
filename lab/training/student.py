"""The student in torch: a trainable form of `treeline.encoder.static`, and its export."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, normalize

from treeline.encoder.static import CONFIG, FIELDS, MATRICES, QUERY, TENSORS, VOCABULARY, StaticEncoder, Tokenizer

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_matrix


class Rows(NamedTuple):
    """Some rows of a bag, flattened: token, weight and row of each entry, and where rows start."""

    tokens: torch.Tensor
    counts: torch.Tensor
    owners: torch.Tensor
    starts: torch.Tensor


class Bags:
    """A compressed sparse matrix as three tensors on the device."""

    def __init__(self, matrix: csr_matrix, device: str) -> None:
        import torch

        self.starts = torch.from_numpy(matrix.indptr.astype("int64")).to(device)
        self.tokens = torch.from_numpy(matrix.indices.astype("int32")).to(device)
        self.counts = torch.from_numpy(matrix.data.astype("float32")).to(device)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows(self, numbers: torch.Tensor) -> Rows:
        import torch

        begins = self.starts[numbers]
        lengths = self.starts[numbers + 1] - begins
        starts = torch.cumsum(lengths, 0) - lengths
        owners = torch.repeat_interleave(torch.arange(len(numbers), device=numbers.device), lengths)
        places = torch.arange(len(owners), device=numbers.device) - starts[owners] + begins[owners]
        return Rows(self.tokens[places].long(), self.counts[places], owners, starts)


FAINTEST = 1e-7  # smallest weight: weights are stored as logarithms, and half precision rounds smaller ones to zero
START_GATES = (1.0, 1.0, 1.0, 0.2)  # name, docstring, code, path: the path says least about what a function does


class Student(nn.Module):
    """Vectors of tokens and pairs, their weights per field, and one hidden layer on either side."""

    def __init__(
        self, table: NDArray[np.float32], weights: NDArray[np.float32], hidden: int, dropped: float = 0.0
    ) -> None:
        super().__init__()
        self.dropped = dropped  # share of tokens hidden at each step, as dropout
        dimension = table.shape[1]
        self.table = nn.Parameter(torch.from_numpy(table))
        self.log_weights = nn.Parameter(torch.log(torch.from_numpy(weights)))
        self.gates = nn.Parameter(torch.tensor(START_GATES))
        self.function_layer = _layer(dimension * len(FIELDS), hidden, dimension) if hidden else None
        self.query_layer = _layer(dimension, hidden, dimension) if hidden else None

    @classmethod
    def of(cls, parts: dict[str, NDArray[np.float32]], dropped: float = 0.0, fields: Sequence[float] = ()) -> Student:
        """A student from an encoder's `parts`, for further training; `fields` scales the weight of each field."""
        activations = len(parts["query_first_bias"]) if "query_first_bias" in parts else 0
        student = cls(parts["table"], np.maximum(parts["weights"], FAINTEST), activations, dropped)
        state = student.state_dict() | {"gates": torch.from_numpy(parts["gates"])}
        for side in ("function", "query") if activations else ():
            for position, name in ((0, f"{side}_first"), (2, f"{side}_second")):
                state[f"{side}_layer.{position}.weight"] = torch.from_numpy(parts[name].T)
                state[f"{side}_layer.{position}.bias"] = torch.from_numpy(parts[f"{name}_bias"])
        student.load_state_dict(state)
        if fields:
            student.weigh(fields)
        return student

    def weigh(self, fields: Sequence[float]) -> None:
        """Scale the weight of each field."""
        with torch.no_grad():
            each = torch.tensor(fields)
            self.gates.mul_(each)
            if self.function_layer is not None:
                inputs = self.function_layer.get_parameter("0.weight")
                inputs.mul_(each.repeat_interleave(self.table.shape[1]))

    def interpolate(self, start: Mapping[str, Tensor], ends: Sequence[Mapping[str, Tensor]], way: float) -> None:
        """Interpolate from the start to the mean of the runs (Wortsman et al. 2022, both papers).

        The mean beats each run, and going part of the way keeps what the new data lacks.
        """
        with torch.no_grad():
            for name, value in self.state_dict().items():
                mean = torch.stack([end[name].to(value.device) for end in ends]).mean(0)
                value.copy_(torch.lerp(start[name].to(value.device), mean, way))

    def pool(self, bags: Bags, numbers: Tensor, field: int) -> Tensor:
        """The weighted mean of the token vectors of each row."""
        rows = bags.rows(numbers)
        weights = rows.counts * torch.exp(self.log_weights[field, rows.tokens])
        if self.training and self.dropped:
            weights = weights * (torch.rand_like(weights) >= self.dropped)
        totals = torch.zeros(len(numbers), device=weights.device).index_add(0, rows.owners, weights)
        sums = embedding_bag(rows.tokens, self.table, rows.starts, mode="sum", per_sample_weights=weights)
        return sums / totals.clamp_min(1e-9)[:, None]

    def queries(self, bags: Bags, numbers: Tensor) -> Tensor:
        pooled = self.pool(bags, numbers, QUERY)
        return normalize(pooled if self.query_layer is None else pooled + self.query_layer(pooled))

    def functions(self, bags: tuple[Bags, ...], numbers: Tensor, kept: Tensor) -> Tensor:
        """`kept` (rows × fields) is 0 where a field is hidden from the student."""
        parts = [self.pool(bag, numbers, field) * kept[:, field, None] for field, bag in enumerate(bags)]
        sums = sum(gate * part for gate, part in zip(self.gates, parts, strict=True))
        assert isinstance(sums, Tensor)
        if self.function_layer is not None:
            sums = sums + self.function_layer(torch.cat(parts, 1))
        return normalize(sums)

    def small_parts(self) -> dict[str, NDArray[np.float32]]:
        """Everything but the table, under the names that `treeline.encoder.static` reads."""
        parts = {"weights": torch.exp(self.log_weights), "gates": self.gates}
        for name, layer in (("function", self.function_layer), ("query", self.query_layer)):
            if layer is not None:
                first, second = layer[0], layer[2]
                assert isinstance(first, nn.Linear)
                assert isinstance(second, nn.Linear)
                parts |= {f"{name}_first": first.weight.T, f"{name}_first_bias": first.bias}
                parts |= {f"{name}_second": second.weight.T, f"{name}_second_bias": second.bias}
        return {name: value.detach().float().cpu().numpy() for name, value in parts.items()}


def _layer(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    layer = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
    last = layer[2]
    assert isinstance(last, nn.Linear)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return layer


INT8_MOST = 127


def parts_of(encoder: StaticEncoder) -> dict[str, NDArray[np.float32]]:
    """A copy of every array by its name in the file, in full precision, for further training.

    Copies, because training changes its arrays in place, and the encoder is shared by the whole process.
    """
    table = encoder._table_with(np.arange(encoder.tokenizer.size, dtype=np.int32))
    parts = {"table": table, "weights": encoder._weights, "gates": encoder._gates}
    for side, layer in (("function", encoder._function_layer), ("query", encoder._query_layer)):
        if layer is not None:
            names = ("first", "first_bias", "second", "second_bias")
            parts |= {f"{side}_{name}": part for name, part in zip(names, layer, strict=True)}
    return {name: part.copy() for name, part in parts.items()}


def quantise(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Quantise each row to int8 with its own scale; the error is at most half a step."""
    scale = (np.abs(table).max(axis=1) / INT8_MOST).astype(np.float16)
    steps = np.where(scale > 0, scale, 1.0).astype(np.float32)
    return np.clip(np.rint(table / steps[:, None]), -INT8_MOST, INT8_MOST).astype(np.int8), scale


def write(
    folder: Path,
    tokenizer: Tokenizer,
    table: NDArray[np.float32],
    small: Mapping[str, NDArray[np.float32]],
    config: Mapping[str, Any],
) -> int:
    """Write the model folder; returns its size in bytes. `small` holds weights, gates and the layers."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, NDArray[Any]] = {"pairs": tokenizer.pairs}
    for name, value in {"table": table, **small}.items():
        if name in MATRICES:
            tensors[name], tensors[f"{name}_scale"] = quantise(value)
        else:
            tensors[name] = value.astype(np.float16)
    # safetensors writes memory as it is laid out, so a transposed view would come back scrambled
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, folder / TENSORS)
    (folder / VOCABULARY).write_text("\n".join(tokenizer.vocabulary), encoding="utf-8")
    (folder / CONFIG).write_text(
        json.dumps({**config, "unknown": tokenizer.unknown}, indent=1) + "\n", encoding="utf-8"
    )
    return sum((folder / name).stat().st_size for name in (TENSORS, VOCABULARY, CONFIG))
