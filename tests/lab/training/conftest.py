"""What the tests of training share."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny models train on one thread: several that wait for each other take ten times as long on a busy machine."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
