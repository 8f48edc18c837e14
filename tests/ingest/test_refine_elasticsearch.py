"""Refinement of an index on a real Elasticsearch: the vectors and answers of the embedded one, and nothing lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.elasticsearch_server import Cluster
from tests.encoder.deep_model import write_model
from tests.ingest.loading import FUNCTIONS, project
from treeline.corpus.errors import InputError
from treeline.encoder.deep import DeepEncoder
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import load as load_encoder
from treeline.encoder.static import StaticEncoder
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit
from treeline.engine.names import index_name
from treeline.engine.protocol import Engine, Store
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.refine import Refinement, complete, refine, refinement
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

pytestmark = pytest.mark.elasticsearch

ROOT = Path(__file__).parent.parent.parent
FILES = {
    **{f"file{n}.py": f"def sell_{n}(count):\n    return count * PRICES[{n}]\n" for n in range(12)},
    "tree.py": 'def walk(node):\n    """Visit all."""\n    for child in node:\n        walk(child)\n',
}
ASKED = (["sell"], ["count", "price"], ["~recursion"], ["visit"])
# Refines, and kills itself when some units are written again, or before the new generation is published.
REFINER = """
import os, signal, sys
from pathlib import Path
from treeline.encoder.registry import load
from treeline.engine.elasticsearch import ElasticsearchStore, writer
from treeline.ingest import refine

url, name, work, model, moment = sys.argv[1:]

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "publishing":
    writer.ElasticsearchWriter.publish = die
else:
    writer.REWRITTEN_AT_ONCE = 5
    rewrite, calls = writer.ElasticsearchWriter._rewrite, []
    writer.ElasticsearchWriter._rewrite = lambda *given: calls.append(rewrite(*given)) or (die() if calls[1:] else 5)
refine.refine(ElasticsearchStore([url]), name, load(model, Path(work) / "vectors.sqlite"), Path(work))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def store(elasticsearch_cluster: Cluster) -> Iterator[ElasticsearchStore]:
    with closing(ElasticsearchStore(elasticsearch_cluster.urls)) as opened:
        yield opened


@pytest.fixture
def name(store: ElasticsearchStore) -> Iterator[str]:
    name = f"refined-{uuid.uuid4().hex[:12]}"
    yield name
    store.drop(name)


def loaded(store: Store, name: str, shop: Path, work: Path) -> None:
    load(store, name, [open_source(str(shop), ReadOptions(kinds=FUNCTIONS))], LoadOptions(work=work, workers=0))


def encoder(model: Path, work: Path) -> Encoder:
    found = load_encoder(str(model), work / "vectors.sqlite")
    assert found is not None
    return found


def by_keyword(engine: Engine) -> list[dict[str, float]]:
    return [scores(engine.keyword(some, 100)) for some in ASKED]


def scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.id: round(hit.score, 5) for hit in hits}


def test_it_gives_the_vectors_and_answers_of_the_embedded_engine_and_changes_nothing_else(
    store: ElasticsearchStore, name: str, model: Path, tmp_path: Path
) -> None:
    shop, work = project(tmp_path / "shop", FILES), tmp_path / "work"
    other = EmbeddedStore(tmp_path / "home")
    for some in (store, other):
        loaded(some, name, shop, work)
    assert refinement(store, name) == Refinement("", 0, len(FILES))
    with closing(store.open(name)) as engine:
        units, addresses, keyword = list(engine.scan()), list(engine.addresses()), by_keyword(engine)
        entries, artifacts = list(engine._all_entries()), [engine.artifact(one) for one in ("state", "tree")]
    assert all(keyword)
    steps: list[tuple[str, int, int]] = []
    done = refine(store, name, encoder(model, work), work, lambda *step: steps.append(step))
    assert done == Refinement(str(model), len(FILES), len(FILES)) == refinement(store, name)
    assert steps[-1] == ("refining", len(FILES), len(FILES))
    refine(other, name, encoder(model, work), work)
    question = StaticEncoder.shipped().encode_queries(["sell by the count"])[0]
    ids = [unit.id for unit in units]
    with closing(store.open(name)) as engine, closing(other.open(name)) as embedded:
        assert (list(engine.scan()), list(engine.addresses()), list(engine._all_entries())) == (
            units,
            addresses,
            entries,
        )
        assert by_keyword(engine) == keyword
        assert [engine.artifact(one) for one in ("state", "tree")] == artifacts
        assert complete(engine) == str(model)
        assert np.allclose(engine.vectors(ids), DeepEncoder(model).encode_functions(units), atol=2e-3)
        assert np.allclose(engine.vectors(ids), embedded.vectors(ids), atol=2e-3)
        near, wanted = scores(engine.knn(question, 100)), scores(embedded.knn(question, 100))
        assert near.keys() == wanted.keys() and np.allclose([near[id] - wanted[id] for id in wanted], 0, atol=2e-3)
    generation = store.current(name)
    assert refine(store, name, encoder(model, work), work).is_complete and store.current(name) == generation


def test_a_changed_unit_has_a_static_vector_until_the_next_refinement(
    store: ElasticsearchStore, name: str, model: Path, tmp_path: Path
) -> None:
    shop, work = project(tmp_path / "shop", FILES), tmp_path / "work"
    loaded(store, name, shop, work)
    refine(store, name, encoder(model, work), work)
    project(shop, {"file3.py": "def buy(count):\n    return -count\n"})
    loaded(store, name, shop, work)
    assert refinement(store, name) == Refinement(str(model), len(FILES) - 1, len(FILES))
    with closing(store.open(name)) as engine:
        units = list(engine.scan())
        deep, static = DeepEncoder(model).encode_functions(units), StaticEncoder.shipped().encode_functions(units)
        wanted = [static[at] if unit.func_name == "buy" else deep[at] for at, unit in enumerate(units)]
        assert np.allclose(engine.vectors([unit.id for unit in units]), wanted, atol=2e-3)
    assert refine(store, name, encoder(model, work), work).is_complete
    with closing(store.open(name)) as engine:
        assert np.allclose(engine.vectors([unit.id for unit in units]), deep, atol=2e-3)


@pytest.mark.parametrize("moment", ["rewriting", "publishing"])
def test_a_killed_refinement_leaves_the_index_whole_and_continues(
    store: ElasticsearchStore, name: str, model: Path, tmp_path: Path, elasticsearch_cluster: Cluster, moment: str
) -> None:
    shop, work = project(tmp_path / "shop", FILES), tmp_path / "work"
    loaded(store, name, shop, work)
    before = store.current(name)
    words = [sys.executable, "-c", REFINER, elasticsearch_cluster.url, name, str(work), str(model), moment]
    assert subprocess.run(words, cwd=ROOT, check=False, timeout=240).returncode == -signal.SIGKILL
    assert store.current(name) == before
    with closing(store.open(name)) as engine:
        units = list(engine.scan())
        static, ids = StaticEncoder.shipped().encode_functions(units), [unit.id for unit in units]
        assert np.allclose(engine.vectors(ids), static, atol=2e-3)
        keyword = by_keyword(engine)
    assert refine(store, name, encoder(model, work), work).is_complete
    with closing(store.open(name)) as engine:
        assert np.allclose(engine.vectors(ids), DeepEncoder(model).encode_functions(units), atol=2e-3)
        assert by_keyword(engine) == keyword
    assert len(store._metas(name)) == 2  # what the killed one left is gone


def test_an_index_of_an_older_version_says_what_to_do(
    store: ElasticsearchStore, name: str, model: Path, tmp_path: Path
) -> None:
    shop, work = project(tmp_path / "shop", FILES), tmp_path / "work"
    loaded(store, name, shop, work)
    index = index_name(name, store.current(name))
    told = dict(store._metas(name)[store.current(name)])
    del told["keeps_shapes"]
    store.client.indices.put_mapping(index=index, meta={"treeline": told})
    found = refinement(store, name)
    assert found is not None and not found.is_complete and "--fresh" in found.problem
    with pytest.raises(InputError, match="older version") as refused:
        refine(store, name, encoder(model, work), work)
    assert refused.value.hint == "index it again with `--fresh`"
    project(shop, {"new.py": "def buy(count):\n    return -count\n"})
    loaded(store, name, shop, work)  # still brought up to date, and still old
    static = store.info(name).encoders
    with store.begin(name, static, "g") as writer, pytest.raises(InputError, match="older version"):
        writer.replace_vectors(static[0].name, ["0" * 32], np.zeros((1, static[0].dimension), np.float32))
