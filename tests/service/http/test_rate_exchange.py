"""Machines on one Elasticsearch share their rate limits, and each counts alone while it is away."""

import json
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from elasticsearch import Elasticsearch

from tests.elasticsearch_server import Cluster, free_port
from tests.service.http.test_guard import FAR, client
from tests.service_process import ServiceProcess, service
from treeline.engine.names import internal_name
from treeline.search.settings import Settings
from treeline.service.http import rate_exchange
from treeline.service.http.guard import Guard
from treeline.service.http.rate import RateLimiter
from treeline.service.http.rate_exchange import RateExchange

pytestmark = pytest.mark.elasticsearch
PATIENCE = 120.0  # seconds; only a fault takes as long
ADDRESS = "address 203.0.113.9"
RATE, BURST = 1.0, 6  # a minute for each call, so that no bucket empties during a test


class Machine:
    """A machine that exchanges when told to."""

    def __init__(self, server: Elasticsearch, index: str, table: Path) -> None:
        self.limiter = RateLimiter(table)
        self.side = RateExchange(server, index)

    def ask(self, times: int, caller: str = ADDRESS) -> int:
        """How many of so many calls are allowed."""
        return sum(not self.limiter.wait(caller, RATE, BURST) for _ in range(times))

    def exchange(self) -> bool:
        return self.side.attempt(self.limiter)


@pytest.fixture
def server(elasticsearch_cluster: Cluster) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_cluster.urls, request_timeout=PATIENCE) as opened:
        yield opened


@pytest.fixture
def index(server: Elasticsearch) -> Iterator[str]:
    name = internal_name(f"rates-{uuid.uuid4().hex}")
    yield name
    server.options(ignore_status=404).indices.delete(index=name)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_exchange, "ANSWER_SECONDS", PATIENCE)


@pytest.fixture
def machines(server: Elasticsearch, index: str, tmp_path: Path) -> tuple[Machine, Machine]:
    """Two machines that know of each other."""
    one, other = (Machine(server, index, tmp_path / name / "limits") for name in ("one", "other"))
    exchange(one, other, times=3)
    assert one.limiter.key() == other.limiter.key()
    return one, other


def exchange(*machines: Machine, times: int = 1) -> None:
    for _ in range(times):
        assert all(machine.exchange() for machine in machines)


def test_what_one_machine_allowed_the_other_does_not_allow_again(machines: tuple[Machine, Machine]) -> None:
    one, other = machines
    assert one.ask(4) == 4
    exchange(one, other)
    assert other.ask(9) == 2
    assert other.ask(9, "address 203.0.113.10") == BURST
    exchange(other, one)
    assert one.ask(9) == 0


def test_nothing_is_counted_twice(machines: tuple[Machine, Machine]) -> None:
    one, other = machines
    one.ask(2)
    exchange(one, other, times=5)
    one.ask(1)
    exchange(one, other, times=5)
    assert other.ask(9) == BURST - 3


def test_a_third_machine_counts_what_comes_after_it(
    machines: tuple[Machine, Machine], server: Elasticsearch, index: str, tmp_path: Path
) -> None:
    one, other = machines
    one.ask(2)
    exchange(one, other)
    third = Machine(server, index, tmp_path / "third" / "limits")
    exchange(third, one, other)
    exchange(third)
    one.ask(1)
    other.ask(1)
    exchange(one, other, third)
    assert third.ask(9) == BURST - 2


def test_clocks_may_differ(machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = machines
    assert one.ask(4) == 4
    exchange(one)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 3_600)
    other.side._read_at -= 3_600  # by this machine's clock
    exchange(other)
    assert other.ask(9) == 2


def test_no_caller_is_in_the_index_in_clear(
    machines: tuple[Machine, Machine], server: Elasticsearch, index: str
) -> None:
    one, other = machines
    one.ask(1)
    one.ask(1, "key 1a2b3c4d")
    exchange(one, other)
    found = server.search(index=index, size=100).body["hits"]["hits"]
    text = json.dumps(found)
    assert sum(len(hit["_source"].get("callers", ())) for hit in found) == 2
    assert "203.0.113" not in text
    assert "1a2b3c4d" not in text


def test_documents_of_machines_that_are_gone_are_removed(
    machines: tuple[Machine, Machine],
    server: Elasticsearch,
    index: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = machines
    assert server.count(index=index)["count"] == 3  # and the key
    monkeypatch.setattr(rate_exchange, "DEAD_AFTER_SECONDS", -1.0)
    exchange(one)
    assert server.count(index=index)["count"] == 2
    monkeypatch.undo()
    exchange(other)  # it lives after all
    assert server.count(index=index)["count"] == 3


def test_a_document_is_bounded(
    machines: tuple[Machine, Machine], server: Elasticsearch, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = machines
    monkeypatch.setattr(rate_exchange, "MOST_CALLERS", 3)
    for number in range(10):
        one.ask(1, f"caller {number}")
    one.ask(5, "the greedy one")
    exchange(one, other)
    [callers] = [row for hit in documents(server, index) if (row := hit.get("callers"))]
    assert len(callers) == 3
    assert other.ask(9, "the greedy one") == 1


def test_a_caller_who_has_paid_is_not_told_of_any_longer(
    machines: tuple[Machine, Machine], server: Elasticsearch, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = machines
    one.ask(1)
    exchange(one, other)
    monkeypatch.setattr(rate_exchange, "KEPT_SECONDS", -3_600.0)
    one.ask(1, "somebody else")
    exchange(one)
    assert not any(hit.get("callers") for hit in documents(server, index))


def test_alone_a_machine_writes_nothing_but_a_heartbeat(
    server: Elasticsearch, index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_exchange, "HEARTBEAT_SECONDS", 3_600.0)  # not now
    one = Machine(server, index, tmp_path / "limits")
    exchange(one, times=3)
    before = writes(server, index)
    one.ask(3)
    exchange(one, times=5)
    assert writes(server, index) == before == 2  # the key and itself


def test_a_damaged_document_is_left_out(machines: tuple[Machine, Machine], server: Elasticsearch, index: str) -> None:
    one, other = machines
    bad = {"callers": ["zz"], "seconds": [1.0], "full": [360.0]}
    server.index(index=index, id="bad", document=bad)
    server.index(index=index, id="short", document={"callers": ["01", "02"]}, refresh=True)
    one.ask(4)
    exchange(one, other)
    assert other.ask(9) == 2


def test_a_removed_index_is_made_again_with_the_same_key(
    machines: tuple[Machine, Machine], server: Elasticsearch, index: str
) -> None:
    one, other = machines
    key = one.limiter.key()
    server.indices.delete(index=index)
    exchange(one, other, times=3)
    assert one.limiter.key() == other.limiter.key() == key
    one.ask(4)
    exchange(one, other)
    assert other.ask(9) == 2


def test_services_share_a_limit_by_themselves(elasticsearch_cluster: Cluster, tmp_path: Path) -> None:
    settings = Settings(
        engine="elasticsearch",
        elasticsearch_url=elasticsearch_cluster.url,
        index=uuid.uuid4().hex,
        rate_per_address=int(RATE),
        rate_burst=BURST,
    )
    one, other = (client(replace(settings, home=str(tmp_path / home))) for home in ("one", "other"))
    guard: Guard = other.application.extensions["treeline.guard"]

    def counted(calls: int) -> bool:
        """Whether the other has counted so many calls of one caller."""
        return bool((guard.limiter.slots()["empty_at"] > time.time() + (calls - 0.5) * 60 / RATE).any())

    strangers = ({"REMOTE_ADDR": f"2001:db8:{number:x}::1"} for number in count())
    until(lambda: one.get("/api/search", environ_base=next(strangers)).status_code == 200 and counted(1))
    codes = [one.get("/api/search", environ_base=FAR).status_code for _ in range(BURST)]
    assert codes == [200] * BURST
    begin = time.monotonic()
    until(lambda: counted(BURST))
    print(f"counted elsewhere after {time.monotonic() - begin:.2f} s")
    assert other.get("/api/search", environ_base=FAR).status_code == 429


@pytest.mark.slow
def test_two_services_of_two_processes_each_tell_each_other_as_two_machines(
    elasticsearch_cluster: Cluster, server: Elasticsearch, tmp_path: Path
) -> None:
    name = uuid.uuid4().hex
    settings = {
        "engine": "elasticsearch",
        "elasticsearch_url": elasticsearch_cluster.url,
        "index": name,
        "first_source": "",  # without an index a search answers 503, which counts as well
        "trust_loopback": "false",
        "trusted_proxies": "1",
        "workers": "2",
        "rate_per_address": str(int(RATE)),
        "rate_burst": str(BURST),
    }
    with (
        service(tmp_path / "one", settings | {"home": str(tmp_path / "one")}) as one,
        service(tmp_path / "other", settings | {"home": str(tmp_path / "other")}) as other,
    ):
        for running in (one, other):
            running.wait_for("/healthz", 200)
        table = RateLimiter(tmp_path / "other" / ".run" / "limits")

        def ask(running: ServiceProcess, address: str) -> int:
            return running.get("/api/search?q=x", PATIENCE, {"X-Forwarded-For": address})[0]

        def counted(calls: int) -> bool:
            return bool((table.slots()["empty_at"] > time.time() + (calls - 0.5) * 60 / RATE).any())

        numbers = count()
        until(lambda: ask(one, f"2001:db8:{next(numbers):x}::1") == 503 and counted(1))
        assert [ask(one, "203.0.113.9") for _ in range(BURST + 1)] == [503] * BURST + [429]
        begin = time.monotonic()
        until(lambda: counted(BURST))
        print(f"counted elsewhere after {time.monotonic() - begin:.2f} s")
        assert ask(other, "203.0.113.9") == 429
        assert len(documents(server, internal_name(f"rates-{name}"))) == 3  # two machines and the key
    server.indices.delete(index=internal_name(f"rates-{name}"))


def documents(server: Elasticsearch, index: str) -> list[dict[str, list[object]]]:
    found = server.search(index=index, size=100, ignore_unavailable=True)
    return [hit["_source"] for hit in found["hits"]["hits"]]


def writes(server: Elasticsearch, index: str) -> int:
    total: int = server.indices.stats(index=index, metric="indexing")["_all"]["primaries"]["indexing"]["index_total"]
    return total


def until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_while_the_cluster_is_away_a_machine_counts_alone_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Elasticsearch(f"http://127.0.0.1:{free_port()}", max_retries=0) as away:
        machine = Machine(away, internal_name("rates-none"), tmp_path / "limits")
        with caplog.at_level(logging.WARNING, rate_exchange.__name__):
            assert [machine.exchange() for _ in range(3)] == [False] * 3
        [said] = [record.message for record in caplog.records if record.name == rate_exchange.__name__]
        assert "counts rates by itself until the cluster takes part: Elasticsearch does not answer" in said
        assert machine.ask(9) == BURST


def test_no_request_waits_for_a_cluster_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exchange stands still during all requests: not one of them asks the cluster."""
    settings = Settings(engine="elasticsearch", home=str(tmp_path), rate_per_address=1, rate_burst=BURST)
    asked = []

    def hang(*_: object) -> bool:
        asked.append(time.monotonic())
        time.sleep(PATIENCE)
        return False

    monkeypatch.setattr(RateExchange, "attempt", hang)
    far = client(settings)
    until(lambda: bool(asked))
    codes = [far.get("/api/search", environ_base=FAR).status_code for _ in range(BURST + 2)]
    assert codes == [200] * BURST + [429] * 2
    assert len(asked) == 1


def test_of_the_processes_of_a_machine_one_exchanges(tmp_path: Path) -> None:
    held = rate_exchange._lock(tmp_path / "limits.lock")
    assert held >= 0
    assert rate_exchange._lock(tmp_path / "limits.lock") == -1


def test_a_wrong_address_of_the_cluster_does_not_keep_the_service_from_starting(tmp_path: Path) -> None:
    settings = Settings(engine="elasticsearch", elasticsearch_url="nonsense", home=str(tmp_path))
    assert client(settings).get("/api/search", environ_base=FAR).status_code == 200
