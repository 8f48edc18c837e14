"""Side products of an index that was brought up to date are those of one made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ingest.loading import NAME, loaded, project
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import Engine
from treeline.graph import callgraph, corpus_clusters, global_embedding, tree
from treeline.ingest import artifacts, pipeline
from treeline.ingest.workers import Workers

FILES = 20


def module(number: int) -> str:
    """A file whose functions call each other and those of the file before."""
    before = f"from .m{number - 1} import Tool{number - 1}\n\n\n" if number else ""
    call = f"Tool{number - 1}().work(1)" if number else "1"
    return (
        f"{before}class Tool{number}:\n    def work(self, n):\n        return helper_{number}(n)\n\n\n"
        f"def helper_{number}(n):\n    return n + {call}\n"
    )


def sources(folder: Path) -> list[Path]:
    """Two repositories."""
    return [
        project(folder / name, {f"pkg/m{number}.py": module(number) for number in range(FILES)})
        for name in ("one", "two")
    ]


@pytest.fixture
def updated(tmp_path: Path) -> Engine:
    """An index after one file was edited, one added and one removed."""
    both = sources(tmp_path)
    loaded(tmp_path / "home", *both)
    edited = module(3) + "\n\ndef fresh():\n    return helper_3(2)\n"
    project(both[0], {"pkg/m3.py": edited, "pkg/added.py": "from .m3 import fresh\n\n\ndef last():\n    fresh()\n"})
    (both[0] / "pkg/m7.py").unlink()
    summary = loaded(tmp_path / "home", *both)
    assert (summary.indexed, summary.removed) == (2, 2)
    return EmbeddedStore(tmp_path / "home").open(NAME)


@pytest.fixture
def anew(updated: Engine, tmp_path: Path) -> Engine:
    """The same made afresh from the same sources."""
    loaded(tmp_path / "again", tmp_path / "one", tmp_path / "two")
    return EmbeddedStore(tmp_path / "again").open(NAME)


def stored(engine: Engine, name: str) -> bytes:
    data = engine.artifact(name)
    assert data is not None
    return data


def places(engine: Engine) -> tuple[int, dict[str, list[tuple[str, int]]]]:
    """How many nodes the tree has, and for each function the way to it from the root."""
    found = tree.load(stored(engine, artifacts.TREE))
    return len(found), {
        id_: [(found.labels[node], int(found.kinds[node])) for node in found.path(leaf)]
        for id_, leaf in found.leaves.items()
    }


def test_the_call_graph_is_the_same_to_the_byte(updated: Engine, anew: Engine) -> None:
    assert stored(updated, artifacts.CALLGRAPH) == stored(anew, artifacts.CALLGRAPH)


def test_only_repositories_that_changed_are_resolved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = sources(tmp_path)
    loaded(tmp_path / "home", *both)
    resolved: list[str] = []
    original = artifacts.resolve

    def noted(repositories: list[tuple[str, list[bytes], bytes]]) -> artifacts.PackedGraphs:
        resolved.extend(repo for repo, *_ in repositories)
        return original(repositories)

    monkeypatch.setattr(artifacts, "resolve", noted)
    project(both[1], {"pkg/m0.py": module(0) + "\n\ndef more():\n    return helper_0(1)\n"})
    loaded(tmp_path / "home", *both)
    assert resolved == ["two"]


def test_the_tree_has_the_same_functions_in_the_same_places(updated: Engine, anew: Engine) -> None:
    assert places(updated) == places(anew)


def test_every_node_of_the_tree_has_its_place_in_the_disk(updated: Engine) -> None:
    embedding = global_embedding.load(stored(updated, artifacts.EMBEDDING)).embedding
    assert len(embedding.points) == places(updated)[0]
    assert np.all(embedding.points.gap > 0)


def test_newcomers_join_the_nearest_cluster_and_the_gone_leave(updated: Engine) -> None:
    clusters = corpus_clusters.load(stored(updated, artifacts.CLUSTERS))
    pairs = dict(updated.addresses())
    assert set(clusters.ids) == set(pairs)
    (fresh,) = [id_ for id_, address in pairs.items() if address.func_name == "fresh"]
    away = np.linalg.norm(clusters.centres - updated.vectors([fresh]), axis=1)
    assert clusters.of(fresh) == int(away.argmin())


def test_an_index_that_lost_everything_has_side_products_of_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path / "one", {"a.py": module(0)})
    loaded(tmp_path / "home", folder)
    loaded(tmp_path / "home", remove=(str(folder),))
    engine = EmbeddedStore(tmp_path / "home").open(NAME)
    assert len(callgraph.load(stored(engine, artifacts.CALLGRAPH))) == 0
    assert not tree.load(stored(engine, artifacts.TREE)).leaves
    assert not corpus_clusters.load(stored(engine, artifacts.CLUSTERS)).ids


def test_repositories_go_to_workers_in_trips_of_limited_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trips: list[int] = []

    class Counting(Workers):
        def call(self, function: Any, *given: Any, **named: Any) -> Any:
            if function is artifacts.resolve:
                trips.append(len(given[0]))
            return super().call(function, *given, **named)

    monkeypatch.setattr(pipeline, "Workers", Counting)
    three = [project(tmp_path / name, {"m.py": module(0)}) for name in ("a", "b", "c")]
    loaded(tmp_path / "together", *three)
    assert trips == [3]
    monkeypatch.setattr(artifacts, "FACTS_A_TRIP", 1)
    loaded(tmp_path / "apart", *three)
    assert trips == [3, 1, 1, 1]
