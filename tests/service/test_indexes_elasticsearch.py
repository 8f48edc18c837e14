"""Several indexes on one cluster: loaded at the same time, searched together."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.elasticsearch_server import Cluster
from tests.ingest.loading import project
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.ingest.pipeline import LoadOptions, Summary, load
from treeline.ingest.sources import open_source
from treeline.search.settings import Settings
from treeline.service.app import create_app

CODE = {
    "bakery": 'def bake_bread(flour):\n    """Bake a loaf of bread."""\n    return flour\n',
    "garage": 'def change_tyre(car):\n    """Change a flat tyre of the car."""\n    return car\n',
    "harbour": 'def moor_boat(boat):\n    """Tie the boat to the quay."""\n    return boat\n',
}

pytestmark = pytest.mark.elasticsearch


def test_indexes_loaded_side_by_side_answer_as_one_ranked_list(elasticsearch_cluster: Cluster, tmp_path: Path) -> None:
    def load_one(name: str) -> Summary:
        folder = project(tmp_path / name, {"work.py": CODE[name]})
        store = ElasticsearchStore(elasticsearch_cluster.urls)
        options = LoadOptions(work=tmp_path / "work", workers=0, encoders=("static",), fresh=True)
        return load(store, name, [open_source(str(folder))], options)

    with ThreadPoolExecutor(len(CODE)) as threads:
        assert all(summary.published for summary in threads.map(load_one, CODE))

    settings = Settings(
        home=str(tmp_path),
        engine="elasticsearch",
        elasticsearch_url=elasticsearch_cluster.urls[0],
        index="bakery",
        indexes="garage,harbour",
        feedback=False,
    )
    app = create_app(settings)
    for question, name, index in (
        ("bake a loaf of bread", "bake_bread", "bakery"),
        ("change a flat tyre", "change_tyre", "garage"),
        ("tie the boat to the quay", "moor_boat", "harbour"),
    ):
        body = app.test_client().get("/api/search", query_string={"q": question, "index": "all", "k": 9}).get_json()
        assert body["results"][0]["index"] == index
        assert name in [row["func_name"] for row in body["results"][:2]]
        assert {row["index"] for row in body["results"]} == set(CODE)
        assert [row["rank"] for row in body["results"]] == list(range(1, len(body["results"]) + 1))
        assert not body["degraded"]
    app.extensions["treeline"].close()
    for name in CODE:
        ElasticsearchStore(elasticsearch_cluster.urls).drop(name)
