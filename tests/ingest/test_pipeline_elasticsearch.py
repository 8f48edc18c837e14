"""The same loads into a real Elasticsearch: the same functions, the same promises."""

from pathlib import Path
from typing import Any

import pytest

from tests.elasticsearch_server import Cluster
from tests.ingest.loading import FUNCTIONS, functions, loaded, project, record, records_file
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.ingest.pipeline import LoadOptions, Summary, load
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

NAME = "pipeline-test"
FILES = {
    "a.py": "def stays():\n    return 'the same'\n\n\ndef goes():\n    return stays()\n",
    "b.py": "def other():\n    return 'untouched'\n",
}

pytestmark = pytest.mark.elasticsearch


def loaded_there(cluster: Cluster, work: Path, *specs: Path, **options: Any) -> Summary:
    store = ElasticsearchStore(cluster.urls)
    sources = [open_source(str(spec), ReadOptions(kinds=FUNCTIONS)) for spec in specs]
    return load(store, NAME, sources, LoadOptions(work=work, workers=0, **options))


def test_an_index_is_made_kept_up_to_date_and_holds_what_the_embedded_one_holds(
    elasticsearch_cluster: Cluster, tmp_path: Path
) -> None:
    work, demo = tmp_path / "work", project(tmp_path / "demo", FILES)
    made = loaded_there(elasticsearch_cluster, work, demo, fresh=True)
    assert (made.indexed, made.total, made.engine) == (3, 3, "elasticsearch")
    assert not loaded_there(elasticsearch_cluster, work, demo).published

    project(tmp_path / "demo", {"a.py": "def new():\n    return 1\n\n\ndef stays():\n    return 'the same'\n"})
    more = records_file(tmp_path / "more.jsonl", [record("extra"), record("extra")])
    changed = loaded_there(elasticsearch_cluster, work, demo, more)
    assert (changed.indexed, changed.updated, changed.unchanged, changed.duplicate) == (2, 1, 1, 1)
    assert (changed.removed, changed.total) == (1, 4)

    loaded(tmp_path / "home", demo, more)
    store = ElasticsearchStore(elasticsearch_cluster.urls)
    engine = store.open(NAME)
    assert {function.id: function for function in engine.scan()} == functions(tmp_path / "home")
    for artifact in ("state", "tree", "callgraph", "clusters"):
        assert engine.artifact(artifact), artifact
    engine.close()
    store.drop(NAME)
