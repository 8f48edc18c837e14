"""Sparse bags of tokens on the training device, from which any rows can be taken at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_matrix


class Rows(NamedTuple):
    """Some rows of a bag, flattened: the token of each entry, its count's weight, its row, where rows start."""

    tokens: torch.Tensor
    counts: torch.Tensor
    owners: torch.Tensor
    starts: torch.Tensor


class Bags:
    """A compressed sparse matrix as three tensors; kept whole on the device, since it fits."""

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
