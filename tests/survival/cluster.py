"""What a cluster survives, measured: a node killed under search and load, a rolling restart, a roll-back, a snapshot.

`python -m tests.survival.cluster` starts real nodes on loopback, loads copies of CodeSearchNet and does all of it while
searches go on; `make cluster` is three nodes with three shards and a replica.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import orjson

from benchmarks import scale
from benchmarks.http import questions
from benchmarks.scale import COPY_SIZE, GrownSource, copies
from benchmarks.watch import Watch
from tests.elasticsearch_download import VERSION, ServerMissing
from tests.elasticsearch_server import Cluster, Node, running
from treeline.corpus.errors import TreelineError
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.engine.names import alias_name
from treeline.eval.sets.codesearchnet import data_folder
from treeline.ingest.source import ReadOptions, Source
from treeline.ingest.sources import open_source
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.settings import Settings, open_store

INDEX = scale.INDEX
REPOSITORY = "survival"
TIMEOUT_S = 1_800.0  # seconds for a cluster to get well again; only a fault takes longer
KILLED_AT = 0.3  # of the load


class Trial:
    """One index on a cluster that is put through its paces, step by step; each step returns its figures."""

    def __init__(self, cluster: Cluster, settings: Settings, asked: Sequence[str]) -> None:
        self.cluster, self.settings, self.asked = cluster, settings, asked
        store = open_store(settings)
        assert isinstance(store, ElasticsearchStore)
        self.store = store
        self.admin = store.client.options(request_timeout=TIMEOUT_S)

    def kill_a_node_while_loading(self, sources: Sequence[Source]) -> dict[str, Any]:
        """Load, and kill a node that holds a primary of what is written; raises if anything is lost."""
        before = self.ids()
        expected = before | {
            function.id
            for source in sources
            for unit in source.units()
            for chunk in unit.chunks()
            for function in chunk.parse().functions
        }
        with self._step() as figures, self.searching(figures):
            loaded: dict[str, Any] = {}
            thread = threading.Thread(target=self._load, args=(sources, loaded))
            thread.start()
            node = self._kill_at((len(expected) - len(before)) * KILLED_AT, thread)
            killed = time.monotonic()
            if len(self.cluster.nodes) == 1:
                self.cluster.start(node)
            thread.join()
            if "error" in loaded:
                raise loaded["error"]
            figures |= loaded
            if len(self.cluster.nodes) > 1:
                self.cluster.start(node)
            self.wait_until_well()
            figures["well_again_seconds"] = time.monotonic() - killed
        found = self.ids()
        figures |= {"lost": len(expected - found), "unexpected": len(found - expected), "total": len(found)}
        if found != expected:
            raise TreelineError(f"{figures['lost']} functions lost, {figures['unexpected']} too many")
        return figures

    def restart_one_by_one(self, version: str = "") -> dict[str, Any]:
        """A rolling restart as Elastic describes it: no replica moves while a node is away. With a version it is the
        upgrade to it."""
        with self._step() as figures, self.searching(figures):
            for node in self.cluster.nodes:
                self._allocate("primaries")
                self.admin.indices.flush(index="_all")
                node.stop()
                # A busy master may not have noticed yet; waiting for all nodes would then end at once.
                wait_for(lambda: self.admin.cluster.health()["number_of_nodes"] < len(self.cluster.nodes))
                self.cluster.start(node, version)
                self.cluster.wait(len(self.cluster.nodes))
                self._allocate(None)
                self.wait_until_well()
        return figures | {"versions": self.versions()}

    def versions(self) -> list[str]:
        nodes = self.admin.nodes.info(node_id="_all", metric="none")["nodes"]
        return sorted(node["version"] for node in nodes.values())

    def roll_back(self) -> dict[str, Any]:
        """Back to the generation before, until a searcher that is open has followed."""
        with self._step() as figures, self.searching(figures) as searcher:
            begin = time.monotonic()
            wanted = self.store.roll_back(INDEX)
            figures["rolled_back_seconds"] = time.monotonic() - begin
            wait_for(lambda: searcher.info.generation == wanted.generation)
            figures |= {"followed_seconds": time.monotonic() - begin, "total": self.count()}
        if figures["total"] != wanted.functions:
            raise TreelineError(f"rolled back to {wanted.functions} functions, {figures['total']} are there")
        return figures

    def snapshot_and_restore(self) -> dict[str, Any]:
        """A snapshot while searches go on, then the index is dropped and restored."""
        before, indices = self.ids(), f"{alias_name(INDEX)}-*"
        location = str(self.cluster.folder / "snapshots")
        snapshots = self.admin.snapshot
        snapshots.create_repository(name=REPOSITORY, repository={"type": "fs", "settings": {"location": location}})
        with self._step() as figures:
            begin = time.monotonic()
            with self.searching(figures):
                snapshots.create(
                    repository=REPOSITORY,
                    snapshot="one",
                    indices=indices,
                    include_global_state=False,
                    wait_for_completion=True,
                )
            figures["snapshot_seconds"] = time.monotonic() - begin
            files = [path for path in Path(location).rglob("*") if path.is_file()]
            figures["snapshot_mb"] = sum(path.stat().st_size for path in files) / 1e6
            self.store.drop(INDEX)
            begin = time.monotonic()
            snapshots.restore(repository=REPOSITORY, snapshot="one", indices=indices, wait_for_completion=True)
            self.wait_until_well()
            figures["restore_seconds"] = time.monotonic() - begin
        snapshots.delete(repository=REPOSITORY, snapshot="one")
        figures["lost"] = len(before - self.ids())
        if figures["lost"]:
            raise TreelineError(f"{figures['lost']} functions are not in the restored index")
        return figures

    def ids(self) -> set[str]:
        return {id for id, _ in self.store.open(INDEX).addresses()}

    def count(self) -> int:
        return self.store.open(INDEX).count()

    def wait_until_well(self) -> None:
        """Until all nodes are there and every shard has its copies."""
        self.cluster.wait(len(self.cluster.nodes))
        wait_for(lambda: self.admin.cluster.health()["status"] == "green")

    @contextmanager
    def searching(self, figures: dict[str, Any]) -> Iterator[LiveSearcher]:
        """Searches in the background as long as the block lasts; their figures are added at its end."""
        with closing(open_searcher(self.settings, INDEX)) as searcher:
            with Watch(searcher, self.asked) as watch:
                yield searcher
            figures["searches"] = watch.figures()

    @contextmanager
    def _step(self) -> Iterator[dict[str, Any]]:
        figures: dict[str, Any] = {}
        begin = time.monotonic()
        yield figures
        figures |= {"seconds": time.monotonic() - begin, "load_average": os.getloadavg()[1]}

    def _load(self, sources: Sequence[Source], loaded: dict[str, Any]) -> None:
        begin = time.monotonic()
        try:
            total, added, _, processor = scale.in_fresh_process(scale.load_sources, self.settings, sources, 2)
        except Exception as error:  # noqa: BLE001 - raised again where the thread is joined
            loaded["error"] = error
            return
        loaded |= {
            "added": added,
            "loaded": total,
            "load_seconds": time.monotonic() - begin,
            "loader_processor": processor,
        }

    def _kill_at(self, written: float, loading: threading.Thread) -> Node:
        """Kill a node with a primary of the newest generation, once so many functions are written."""
        old = max(self.admin.indices.get_alias(name=alias_name(INDEX)))
        while loading.is_alive():
            found = self.admin.indices.stats(index=f"{alias_name(INDEX)}-*", metric="indexing")["indices"]
            newest = max(found, default=old)
            if newest > old and found[newest]["primaries"]["indexing"]["index_total"] >= written:
                rows: Any = self.admin.cat.shards(index=newest, h="node,prirep", format="json")
                name = next(row["node"] for row in rows if row["prirep"] == "p")
                node = next(node for node in self.cluster.nodes if node.name == name)
                node.kill()
                return node
            time.sleep(0.1)
        raise TreelineError("the load ended before a node could be killed", "load more")

    def _allocate(self, which: str | None) -> None:
        self.admin.cluster.put_settings(persistent={"cluster.routing.allocation.enable": which})


def wait_for(happened: Callable[[], bool], seconds: float = TIMEOUT_S) -> None:
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise TreelineError(f"it did not happen within {seconds:.0f} s")
        time.sleep(0.1)


def settings_on(cluster: Cluster, home: str) -> Settings:
    """An index on the cluster with a shard for each node."""
    return Settings(
        home=home,
        index=INDEX,
        engine="elasticsearch",
        elasticsearch_url=",".join(cluster.urls),
        elasticsearch_shards=len(cluster.nodes),
    )


def run(
    trial: Trial,
    first: Sequence[Source],
    second: Sequence[Source],
    keep: Callable[[dict[str, Any]], None],
    upgrade: str = "",
) -> None:
    """All steps, the first load included unless the index is there already."""
    document: dict[str, Any] = {"nodes": len(trial.cluster.nodes), "shards": trial.settings.elasticsearch_shards}
    if INDEX not in trial.store.names():
        document["grown"] = asdict(scale.grow(trial.settings, first, rounds=1))
        keep(document)
    steps: dict[str, Callable[[], dict[str, Any]]] = {"killed": lambda: trial.kill_a_node_while_loading(second)}
    if len(trial.cluster.nodes) > 1:
        steps["rolling restart"] = lambda: trial.restart_one_by_one(upgrade)
    steps |= {"rolled back": trial.roll_back, "snapshot": trial.snapshot_and_restore}
    for name, step in steps.items():
        document[name] = step()
        keep(document)


@click.command(help=__doc__)
@click.option("--nodes", default=3, help="As many nodes, and shards of the index.")
@click.option("--functions", default=COPY_SIZE, help="In the index before anything happens.")
@click.option("--more", default=COPY_SIZE // 10, help="Are loaded while a node is killed.")
@click.option("--heap", default="1500m", help="Of each node.")
@click.option("--version", default=VERSION, help="Of Elasticsearch.")
@click.option("--upgrade", default="", metavar="VERSION", help="Restart the nodes in another version, one by one.")
@click.option("--kept", type=click.Path(path_type=Path), help="Folder of the data; its index is not loaded again.")
@click.option("--json", "target", type=click.Path(path_type=Path), help="A file for the figures.")
def main(
    nodes: int,
    functions: int,
    more: int,
    heap: str,
    version: str,
    upgrade: str,
    kept: Path | None,
    target: Path | None,
) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    def keep(document: dict[str, Any]) -> None:
        written = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
        if target:
            target.write_text(written + "\n", encoding="utf-8")
        print(written, flush=True)

    try:
        data = f"codesearchnet:{data_folder()}"
        first = list(copies(functions, data))
        second = GrownSource(open_source(data, ReadOptions()), len(first), more / COPY_SIZE)
        with (
            TemporaryDirectory(prefix="treeline-cluster-") as home,
            running(nodes=nodes, heap=heap, version=version, lasting=True, kept=kept) as cluster,
        ):
            run(Trial(cluster, settings_on(cluster, home), questions()), first, [second], keep, upgrade)
    except (ServerMissing, TreelineError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
