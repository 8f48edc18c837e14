"""Functions that score the same come in the same order, however many are asked for."""

import numpy as np
import pytest

from tests.engine.functions import DIMENSION, ENCODER, function
from treeline.engine.embedded import EmbeddedStore

ALIKE = [function(f"alike_{number:03d}", path=f"src/f{number:03d}.py", docstring="Send it.") for number in range(80)]


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    """Eighty functions that score the same, in several pieces of the text index, with the same vector."""
    store = EmbeddedStore(tmp_path_factory.mktemp("alike"))
    vectors = np.zeros((len(ALIKE), DIMENSION), dtype=np.float32)
    vectors[:, 0] = 1
    for half in (slice(start, start + 10) for start in range(0, 80, 10)):
        with store.begin("x", [ENCODER], "f") as writer:
            writer.write(ALIKE[half], ["send it"] * 10, {ENCODER.name: vectors[half]})
            writer.publish()
    return store


@pytest.mark.parametrize("lane", ["keyword", "knn", "phrase"])
def test_ties_are_the_same_for_every_k(alike: EmbeddedStore, lane: str) -> None:
    engine = alike.open("x")
    vector = np.eye(1, DIMENSION, dtype=np.float32)[0]
    given = {"keyword": ["send"], "knn": vector, "phrase": "return value"}[lane]
    everything = [hit.id for hit in getattr(engine, lane)(given, 80)]
    assert everything == [one.id for one in ALIKE], "not in order of writing"
    for k in (1, 2, 3, 5, 10, 39, 40, 41, 79, 80, 200):
        assert [hit.id for hit in getattr(engine, lane)(given, k)] == everything[:k], k
