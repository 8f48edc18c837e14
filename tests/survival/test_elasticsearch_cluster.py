"""Three real nodes, three shards, one replica: nodes die, restart and hang, during loads and searches."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchmarks import scale
from tests.elasticsearch_download import BEFORE_NEWEST, NEWEST, ServerMissing, fetch, java_home
from tests.elasticsearch_server import Cluster
from tests.made_up_source import MadeUpSource
from tests.survival.cluster import INDEX, Trial, settings_on, wait_for
from treeline.corpus.errors import TreelineError
from treeline.engine.elasticsearch import client
from treeline.engine.elasticsearch.engine import HANGING_SECONDS
from treeline.engine.names import alias_name
from treeline.search.live import LiveSearcher
from treeline.search.query import Query

pytestmark = [pytest.mark.slow, pytest.mark.elasticsearch]
COUNT = 4_000
QUESTIONS = ("parse the json file", "retry the request", "merge the list", "open the socket")
LANE_TIMEOUT = 3.0
# Seconds; a cluster puts a silent node out after three checks of ten, and until then may ask it for its shards;
# on a busy machine all of this takes several times as long.
EXPELLED = 300.0
# Seconds; the lanes, then the bodies from one node or another, and what a busy machine adds.
LONGEST = LANE_TIMEOUT + 2 * HANGING_SECONDS + 60
TIMED_OUT = ("timed out", "no answer within")  # a busy machine's fault, not that of a node that went away


@pytest.fixture(scope="module")
def trial(three_nodes: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    settings = settings_on(three_nodes, str(tmp_path_factory.mktemp("home")))
    scale.load_sources(settings, [MadeUpSource(COUNT)])
    loaded = Trial(three_nodes, settings, QUESTIONS)
    loaded.wait_until_well()
    return loaded


def test_a_node_killed_under_search_and_load_loses_nothing_and_search_goes_on(trial: Trial) -> None:
    figures = trial.kill_a_node_while_loading([MadeUpSource(2 * COUNT, version=1, name="more")])
    assert (figures["lost"], figures["unexpected"]) == (0, 0)
    assert figures["total"] == figures["loaded"] == 3 * COUNT
    searches = figures["searches"]
    assert searches["asked"] > len(QUESTIONS)
    assert searches["empty"] == 0
    longest = trial.settings.lane_timeout + LONGEST
    assert searches["longest_ms"] < longest * 1000
    assert searches["failing_seconds"] < longest, searches["failures"]


def test_a_load_writes_to_a_clone_only_once_it_has_its_replicas(trial: Trial) -> None:
    """Else the node with the only copy could go away, and the load would wait for it."""
    slow = {"indices.recovery.max_bytes_per_sec": "500kb"}
    trial.admin.cluster.put_settings(persistent=slow)
    try:
        with trial.store.begin(INDEX, trial.store.info(INDEX).encoders, "copied") as writer:
            states = {row["index"]: row["health"] for row in rows_of(trial, "index,health")}
            writer.abandon()
    finally:
        trial.admin.cluster.put_settings(persistent=dict.fromkeys(slow))
    assert states[max(states)] == "green"


def test_an_unfinished_generation_without_its_shards_is_begun_again(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoders, before = trial.store.info(INDEX).encoders, set(trial.ids())
    with trial.store.begin(INDEX, encoders, "lost") as writer:
        writer.checkpoint(b"half")
    index = max(row["index"] for row in rows_of(trial, "index"))
    trial.admin.indices.put_settings(index=index, settings={"auto_expand_replicas": False, "number_of_replicas": 0})
    shards: Any = trial.admin.cat.shards(index=index, h="node", format="json")
    node = next(node for node in trial.cluster.nodes if node.name == shards[0]["node"])
    node.kill()
    try:
        wait_for(lambda: trial.admin.cluster.health(index=index)["status"] == "red")
        monkeypatch.setattr(client, "READY_SECONDS", 2.0)
        with trial.store.begin(INDEX, encoders, "lost") as writer:
            resumed = writer.resumed
            writer.abandon()
    finally:
        trial.cluster.start(node)
        trial.wait_until_well()
    assert resumed is None
    assert trial.ids() == before


def rows_of(trial: Trial, columns: str) -> list[dict[str, str]]:
    found: Any = trial.admin.cat.indices(index=f"{alias_name(INDEX)}-*", h=columns, format="json")
    return list(found)


@pytest.mark.timeout(2_700)  # three nodes start again, each in minutes on a busy machine
def test_a_rolling_upgrade_fails_no_search(trial: Trial) -> None:
    """What follows runs on the newer version, with what the older one wrote."""
    version, why_not = NEWEST, ""
    try:
        fetch(NEWEST)
        java_home(NEWEST)
    except ServerMissing as missing:
        version, why_not = BEFORE_NEWEST, str(missing)
    figures = trial.restart_one_by_one(version)
    assert figures["versions"] == [version] * 3
    searches = figures["searches"]
    assert searches["asked"] > len(QUESTIONS) and searches["empty"] == 0
    assert [failure for failure in searches["failures"] if not any(words in failure for words in TIMED_OUT)] == []
    if why_not:
        pytest.skip(f"restarted, not upgraded: {why_not}")


def test_a_roll_back_and_a_restored_snapshot_bring_back_every_function(trial: Trial) -> None:
    assert trial.count() == 3 * COUNT
    assert trial.roll_back()["total"] == COUNT
    figures = trial.snapshot_and_restore()
    assert figures["lost"] == 0 and figures["snapshot_mb"] > 0
    assert trial.count() == COUNT


def test_a_node_that_hangs_is_passed_over(trial: Trial) -> None:
    """It accepts connections and answers nothing: the worst way to fail for a client."""
    searcher = LiveSearcher(trial.store, INDEX, replace(trial.settings, lane_timeout=LANE_TIMEOUT))
    searcher.search(Query("parse the json file"))
    node = trial.cluster.nodes[2]
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


def timed(work: Callable[[], object]) -> tuple[float, bool]:
    begin = time.monotonic()
    try:
        found = bool(work())
    except TreelineError:
        found = False
    return time.monotonic() - begin, found
