"""The student in torch: what `treeline.encoder.static` computes in numpy, made learnable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, normalize

from treeline.encoder.static import FIELDS, QUERY
from treeline.encoder.training.bags import Bags

FAINTEST = 1e-7  # weights are kept as logarithms: half precision makes the smallest of them nothing
START_GATES = (1.0, 1.0, 1.0, 0.2)  # name, docstring, code, place: where a function lies says least of what it does


class Student(nn.Module):
    """Vectors of tokens and pairs, a weight for each of them in each field, and one hidden layer on either side."""

    def __init__(
        self, table: NDArray[np.float32], weights: NDArray[np.float32], hidden: int, dropped: float = 0.0
    ) -> None:
        super().__init__()
        self.dropped = dropped  # share of tokens hidden at each step, so that no single one is relied on
        dimension = table.shape[1]
        self.table = nn.Parameter(torch.from_numpy(table))
        self.log_weights = nn.Parameter(torch.log(torch.from_numpy(weights)))
        self.gates = nn.Parameter(torch.tensor(START_GATES))
        self.function_layer = _layer(dimension * len(FIELDS), hidden, dimension) if hidden else None
        self.query_layer = _layer(dimension, hidden, dimension) if hidden else None

    @classmethod
    def of(cls, parts: dict[str, NDArray[np.float32]], dropped: float = 0.0, fields: Sequence[float] = ()) -> Student:
        """What an encoder is (its `parts`), to be taught further; `fields` count so much more or less than they did."""
        hidden = len(parts["query_first_bias"]) if "query_first_bias" in parts else 0
        student = cls(parts["table"], np.maximum(parts["weights"], FAINTEST), hidden, dropped)
        state = student.state_dict() | {"gates": torch.from_numpy(parts["gates"])}
        for side in ("function", "query") if hidden else ():
            for place, name in ((0, f"{side}_first"), (2, f"{side}_second")):
                state[f"{side}_layer.{place}.weight"] = torch.from_numpy(parts[name].T)
                state[f"{side}_layer.{place}.bias"] = torch.from_numpy(parts[f"{name}_bias"])
        student.load_state_dict(state)
        if fields:
            student.weigh(fields)
        return student

    def weigh(self, fields: Sequence[float]) -> None:
        """Let each field count so much more or less than it did."""
        with torch.no_grad():
            each = torch.tensor(fields)
            self.gates.mul_(each)
            if self.function_layer is not None:
                inputs = self.function_layer.get_parameter("0.weight")
                inputs.mul_(each.repeat_interleave(self.table.shape[1]))

    def settle(self, start: Mapping[str, Tensor], ends: Sequence[Mapping[str, Tensor]], way: float) -> None:
        """So much of the way from what it was to the mean of what runs made of it (Wortsman et al. 2022, twice): the
        mean is better than each of them, and what the last data does not have is kept."""
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
        summed = sum(gate * part for gate, part in zip(self.gates, parts, strict=True))
        assert isinstance(summed, Tensor)
        if self.function_layer is not None:
            summed = summed + self.function_layer(torch.cat(parts, 1))
        return normalize(summed)

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
