"""The whole tree's embedding as an artifact, and split by repository."""

import pytest

from tests.graph.trees import SMALL, address
from treeline.graph import global_embedding, tree
from treeline.graph.embedding import NotSeparable


def test_the_artifact_keeps_every_point_and_says_what_it_is_worth() -> None:
    grown = tree.grow((str(i), a) for i, a in enumerate(SMALL))
    whole = global_embedding.load(global_embedding.dump(global_embedding.embed_whole(grown)))
    assert len(whole.embedding.points) == len(grown)
    assert whole.separable
    assert whole.quality.average_distortion < 0.1
    assert whole.quality.mean_average_precision == pytest.approx(1.0)


def test_a_split_gives_each_repository_a_disk_of_its_own() -> None:
    found = global_embedding.embed_split(tree.grow((str(i), a) for i, a in enumerate(SMALL)))
    assert set(found) == {"owner/one", "owner/two"}
    nodes, embedding = found["owner/one"]
    assert len(nodes) == len(embedding.points)
    assert embedding.points.x[0] == pytest.approx([0.0, 0.0])


def test_a_repository_that_cannot_be_split_further_is_named() -> None:
    deep = [address("o/deep", "/".join("abcdefghijklmnop") + "/f.py", f"f{i}") for i in range(500)]
    with pytest.raises(NotSeparable, match="o/deep"):
        global_embedding.embed_split(tree.grow((str(i), a) for i, a in enumerate(deep)))
