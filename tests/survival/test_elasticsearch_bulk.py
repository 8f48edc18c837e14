"""A busy server, lost answers and refused documents during a load: nothing lost, nothing twice, everything counted."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.elasticsearch_server import Cluster
from tests.made_up_source import MadeUpChunk, MadeUpSource, MadeUpUnit, made_up
from tests.survival.proxy import OUTAGE, WAYS, failing_proxy
from treeline.engine.elasticsearch import ElasticsearchStore, client
from treeline.engine.protocol import Store
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import Chunk, Parsed, Unit

pytestmark = [pytest.mark.slow, pytest.mark.elasticsearch]
COUNT = 3_000


def options(folder: Path) -> LoadOptions:
    return LoadOptions(work=folder, encoders=("none",), workers=0, checkpoint_seconds=1)


def ids_in(store: Store, name: str) -> list[str]:
    engine = store.open(name)
    return [function.id for function in engine.scan()]


def test_through_a_server_that_is_busy_half_of_the_time_all_arrive_once(
    elasticsearch_cluster: Cluster, tmp_path: Path
) -> None:
    with failing_proxy(elasticsearch_cluster.url, chance=0.5) as proxy:
        store = ElasticsearchStore([proxy.url])
        summary = load(store, "busy", [MadeUpSource(COUNT)], options(tmp_path))
        happened = proxy.happened
    assert summary.total == summary.indexed == COUNT
    assert happened.keys() >= set(WAYS)
    found = ids_in(ElasticsearchStore([elasticsearch_cluster.url]), "busy")
    assert len(found) == COUNT
    assert set(found) == {made_up(number).id for number in range(COUNT)}


def test_an_update_outlasts_a_server_that_is_away_at_each_of_its_steps(
    elasticsearch_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)
    direct = ElasticsearchStore([elasticsearch_cluster.url])
    load(direct, "away", [MadeUpSource(500)], options(tmp_path))
    outages = {
        "_clone/": "lost answer",
        "PUT /treeline-away-000002/_mapping": "broken off",
        "_mget": "503",
        "_refresh": "503",
        "_settings": "lost answer",
        "_aliases": "lost answer",
    }
    with failing_proxy(elasticsearch_cluster.url, outages=outages) as proxy:
        more = MadeUpSource(1_000, version=1, name="more")
        summary = load(ElasticsearchStore([proxy.url]), "away", [more], options(tmp_path))
        happened = dict(proxy.happened)
    assert happened == dict.fromkeys(outages, OUTAGE) | {"pass": happened["pass"]}
    assert summary.total == len(set(ids_in(direct, "away"))) == 1_500
    assert direct.current("away") == summary.generation


class BrokenChunk(MadeUpChunk):
    """A chunk in which every tenth function has a path longer than the server's longest term (32,766 bytes)."""

    def parse(self) -> Parsed:
        functions = list(super().parse().functions)
        functions[::10] = [replace(one, path="x" * 40_000) for one in functions[::10]]
        return Parsed(tuple(functions))


class BrokenUnit(MadeUpUnit):
    def chunks(self) -> Iterator[Chunk]:
        yield BrokenChunk(self.first, self.last, self.version)


class BrokenSource(MadeUpSource):
    def units(self) -> Iterator[Unit]:
        yield BrokenUnit(0, 0, self.count, 0, self.count)


def test_documents_that_the_mapping_refuses_are_counted_and_listed_and_the_rest_goes_in(
    elasticsearch_cluster: Cluster, tmp_path: Path
) -> None:
    store = ElasticsearchStore([elasticsearch_cluster.url])
    summary = load(store, "refused", [BrokenSource(100)], options(tmp_path))
    assert summary.rejected == 10
    assert summary.total == 90
    lines = [json.loads(line) for line in Path(summary.rejects_file).read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 10
    assert all("immense term" in json.dumps(line) for line in lines)
    assert store.open("refused").count() == 90


def test_a_search_never_sees_a_half_built_index(elasticsearch_cluster: Cluster, tmp_path: Path) -> None:
    store = ElasticsearchStore([elasticsearch_cluster.url])
    load(store, "swap", [MadeUpSource(500)], options(tmp_path))
    seen: set[int] = set()

    def look(_what: str, _done: int, _total: int) -> None:
        seen.add(store.open("swap").count())

    load(store, "swap", [MadeUpSource(1_500, version=1)], options(tmp_path), look)
    assert seen == {500}
    assert store.open("swap").count() == 1_500
    assert store.roll_back("swap").functions == 500
    assert store.open("swap").count() == 500
