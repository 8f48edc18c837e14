"""Three real nodes, one replica: one of them dies with `kill -9`, during a load and during searches."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.elasticsearch_server import Cluster, Node
from tests.made_up_source import MadeUpSource, made_up
from treeline.corpus.errors import TreelineError
from treeline.engine.elasticsearch import ElasticsearchStore
from treeline.engine.elasticsearch.engine import HANGING_SECONDS
from treeline.engine.protocol import Store
from treeline.ingest.pipeline import LoadOptions, load
from treeline.search.live import LiveSearcher
from treeline.search.query import Query
from treeline.search.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.elasticsearch]
COUNT = 6_000
INDEX = "cluster"
LANE_TIMEOUT = 3.0
# Seconds; a cluster puts a silent node out after three checks of ten, and until then may ask it for its shards;
# on a busy machine all of this takes several times as long.
EXPELLED = 300.0
# Seconds; the lanes, then the bodies from one node or another, and what a busy machine adds.
LONGEST = LANE_TIMEOUT + 2 * HANGING_SECONDS + 60


def store_of(cluster: Cluster) -> Store:
    return ElasticsearchStore(cluster.urls)


def busy_node(cluster: Cluster, store: Store, index: str) -> Node:
    """The node that holds the primary of the newest index: the worst one to lose."""
    client = store.client  # type: ignore[attr-defined]
    shards = client.cat.shards(index=f"treeline-{index}-*", h="index,node,prirep", format="json")
    newest = max(row["index"] for row in shards)
    name = next(row["node"] for row in shards if row["index"] == newest and row["prirep"] == "p")
    return next(node for node in cluster.nodes if node.name == name)


def come_back(cluster: Cluster, node: Node, store: Store) -> None:
    cluster.start(node)
    cluster.wait(3)
    client = store.client  # type: ignore[attr-defined]
    client.options(request_timeout=300).cluster.health(wait_for_status="green", timeout="290s")


def test_a_node_killed_during_a_load_loses_nothing(three_nodes: Cluster, tmp_path: Path) -> None:
    store = store_of(three_nodes)
    killed: list[Node] = []

    def kill_in_the_middle(_what: str, done: int, total: int) -> None:
        if not killed and done > total / 3:
            killed.append(busy_node(three_nodes, store, INDEX))
            killed[0].kill()

    options = LoadOptions(work=tmp_path, encoders=("none",), workers=0, checkpoint_seconds=2)
    summary = load(store, INDEX, [MadeUpSource(COUNT)], options, kill_in_the_middle)
    assert killed, "nothing was killed"
    assert summary.total == COUNT
    assert summary.rejected == 0
    found = {function.id for function in store.open(INDEX).scan()}
    assert found == {made_up(number).id for number in range(COUNT)}
    come_back(three_nodes, killed[0], store)


def test_a_node_killed_during_searches_fails_no_search_for_longer_than_the_time_out(
    three_nodes: Cluster, tmp_path: Path
) -> None:
    store = store_of(three_nodes)
    if INDEX not in store.names():
        load(store, INDEX, [MadeUpSource(COUNT)], LoadOptions(work=tmp_path, encoders=("none",), workers=0))
    searcher = LiveSearcher(store, INDEX, Settings(lane_timeout=LANE_TIMEOUT))
    searcher.search(Query("parse the json file"))
    asked: list[tuple[float, float, bool]] = []  # when, how long, answered
    stop = threading.Event()

    def ask(number: int) -> None:
        while not stop.is_set():
            begin = time.monotonic()
            try:
                answer = searcher.search(Query(f"retry the request {number}"))
                answered = len(answer.results) > 0
            except TreelineError:
                answered = False
            asked.append((begin, time.monotonic() - begin, answered))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: len(asked) > 25)
        node = busy_node(three_nodes, store, INDEX)
        node.kill()
        dead = len(asked)
        time.sleep(15)
        wait_for(lambda: len(asked) > dead + 25 and all(answered for _, _, answered in asked[-5:]))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        searcher.close()
    longest = max(took for _, took, _ in asked)
    failed = [begin for begin, _, answered in asked if not answered]
    assert longest < LONGEST, f"a search took {longest:.1f} s"
    assert not failed or max(failed) - min(failed) < LONGEST, "searches kept failing"
    come_back(three_nodes, node, store_of(three_nodes))


def test_a_node_that_hangs_is_passed_over(three_nodes: Cluster, tmp_path: Path) -> None:
    """It accepts connections and answers nothing: the worst way to fail for a client."""
    store = store_of(three_nodes)
    if INDEX not in store.names():
        load(store, INDEX, [MadeUpSource(COUNT)], LoadOptions(work=tmp_path, encoders=("none",), workers=0))
    searcher = LiveSearcher(store, INDEX, Settings(lane_timeout=LANE_TIMEOUT))
    searcher.search(Query("parse the json file"))
    node = three_nodes.nodes[2]
    node.pause()
    answers: list[tuple[float, bool]] = []
    end = time.monotonic() + EXPELLED
    try:
        while time.monotonic() < end and sum(found for _, found in answers) < 3:
            answers.append(timed(lambda: searcher.search(Query("parse the json file")).results))
            time.sleep(0.1)
    finally:
        node.resume()
        searcher.close()
    assert max(took for took, _ in answers) < LONGEST
    assert sum(found for _, found in answers) >= 1, "the two healthy nodes answered nothing"


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + EXPELLED
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)


def timed(work: Callable[[], object]) -> tuple[float, bool]:
    begin = time.monotonic()
    try:
        found = bool(work())
    except TreelineError:
        found = False
    return time.monotonic() - begin, found
