"""The shares of several loaders."""

import pytest

from treeline.engine.protocol import Part


@pytest.mark.parametrize("loaders", [1, 2, 3])
def test_every_file_is_read_by_one_of_the_loaders(loaders: int) -> None:
    parts = [Part(number, loaders) for number in range(1, loaders + 1)]
    readers = [[str(part) for part in parts if part.takes(position)] for position in range(7)]
    assert readers == [[f"{position % loaders + 1}/{loaders}"] for position in range(7)]
