"""Model soup: the average of several runs from one start ranks better than each of them, at no cost when used.

Wortsman et al. 2022, "Model soups: averaging weights of multiple fine-tuned models improves accuracy".
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def average(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each parameter (of the logarithm, for the token weights, which are kept as logarithms)."""
    return {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}
