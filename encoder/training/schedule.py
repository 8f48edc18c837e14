"""The learning rate of every training here: up to its height, then down along a cosine."""

from __future__ import annotations

import math

import torch

WARM_UP = 50  # steps on the way up, or a tenth of all where these are few


def warm_then_cosine(optimiser: torch.optim.Optimizer, steps: int) -> torch.optim.lr_scheduler.LambdaLR:
    """To be stepped after each of so many steps of the optimiser."""
    warm_up = max(1, min(WARM_UP, steps // 10))

    def height(step: int) -> float:
        return min(1.0, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / max(1, steps))))

    return torch.optim.lr_scheduler.LambdaLR(optimiser, height)
