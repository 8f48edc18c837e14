"""What only the Elasticsearch engine promises: a server that is away, one writer, exact mappings."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elasticsearch import NotFoundError

from tests.elasticsearch_server import Cluster, free_port
from tests.engine.functions import ENCODER, SAMPLE, build, function, terms_of, vectors, write
from tests.survival.proxy import OUTAGE, failing_proxy
from tests.waiting import until
from treeline.corpus.errors import CredentialsError, EngineUnavailable, IndexOutdated, InputError, TreelineError
from treeline.corpus.function import Function
from treeline.engine.elasticsearch import ElasticsearchStore, bulk, client, columns, engine, lease, preview
from treeline.engine.elasticsearch.bulk import Action, Bulk, _requests
from treeline.engine.elasticsearch.client import server_errors
from treeline.engine.elasticsearch.mapping import WHOLE_NUMBERS, whole_numbers
from treeline.engine.elasticsearch.writer import MOST_SEGMENTS
from treeline.engine.names import ALL_CURRENT, alias_name, index_name
from treeline.engine.protocol import EncoderSpec

pytestmark = pytest.mark.elasticsearch
NAME = "only-elasticsearch"
HASTY, SLOW = 0.1, 0.5  # seconds: a time-out, and how long a slow proxy waits at least before it answers


@pytest.fixture
def server(elasticsearch_cluster: Cluster) -> Iterator[ElasticsearchStore]:
    store = ElasticsearchStore(elasticsearch_cluster.urls)
    yield store
    if NAME in store.names():
        store.drop(NAME)
    store.close()


def away() -> ElasticsearchStore:
    """On a server that does not answer."""
    return ElasticsearchStore([f"http://127.0.0.1:{free_port()}"])


def test_a_server_that_is_away_is_noticed_at_once() -> None:
    store = away()
    started = time.monotonic()
    for ask in (lambda: store.open("x"), store.names, lambda: store.begin("x", [ENCODER], "f")):
        with pytest.raises(EngineUnavailable, match=r"does not answer at http://127\.0\.0\.1"):
            ask()
    assert time.monotonic() - started < 60  # the client would wait for a minute each time
    store.close()


ADDRESS = "http://127.0.0.1:9200"


@pytest.mark.parametrize(
    ("url", "options", "message", "hint"),
    [
        *((url, {}, "is no address", "http://HOST") for url in ("nonsense", "http://", "ftp://127.0.0.1:9200")),
        *(
            (url, {}, "is no address", "")
            for url in ("me:secret@host:9200", "http://me:secret@", "http://me:sec/secret@h:p")
        ),
        ("", {}, "no address", "TREELINE_ELASTICSEARCH_URL"),
        (ADDRESS, {"api_key": "k", "user": "me", "password": "p"}, "an API key and a user", "unset"),
        (ADDRESS, {"user": "me"}, "_USER is set and TREELINE_ELASTICSEARCH_PASSWORD is not", "both or neither"),
        (ADDRESS, {"password": "p"}, "_PASSWORD is set and TREELINE_ELASTICSEARCH_USER is not", "both or neither"),
        (ADDRESS, {"ca": "/not/there"}, "/not/there", "TREELINE_ELASTICSEARCH_CA"),
        (ADDRESS, {"ca": __file__}, r"test_store\.py' holds no certificate", "TREELINE_ELASTICSEARCH_CA"),
    ],
)
def test_a_wrong_setting_is_named_without_its_password(
    url: str, options: dict[str, str], message: str, hint: str
) -> None:
    with pytest.raises(InputError, match=message) as told:
        ElasticsearchStore([url] if url else [], **options)  # type: ignore[arg-type]
    assert hint in told.value.hint
    assert "secret" not in str(told.value)


def test_a_server_without_tls_is_not_told_to_be_started(elasticsearch_cluster: Cluster) -> None:
    store = ElasticsearchStore([elasticsearch_cluster.url.replace("http:", "https:")])
    with pytest.raises(EngineUnavailable) as told:
        store.names()
    assert told.value.message.endswith(": wrong version number")
    assert "http:// or https://" in told.value.hint
    store.close()


class SomethingElse(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"version": {"distribution": "opensearch"}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_another_server_than_elasticsearch_is_called_that() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SomethingElse) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        store = ElasticsearchStore([f"http://127.0.0.1:{other.server_address[1]}"])
        with pytest.raises(EngineUnavailable, match="is no Elasticsearch 8 or 9") as told:
            store.names()
        assert "TREELINE_ELASTICSEARCH_URL" in told.value.hint
        assert "OpenSearch" in told.value.hint
        store.close()
        other.shutdown()


def test_an_index_of_which_a_part_is_lost_does_not_answer_as_if_it_were_all(
    server: ElasticsearchStore, elasticsearch_cluster: Cluster
) -> None:
    two_shards = ElasticsearchStore(elasticsearch_cluster.urls, shards=2)
    info = build(two_shards, NAME)
    index = index_name(NAME, info.generation)
    folder = elasticsearch_cluster.nodes[0].folder / "data" / "indices"
    found = server.client.indices.get_settings(index=index)[index]["settings"]["index"]["uuid"]
    server.client.indices.close(index=index)
    shutil.rmtree(folder / found / "0")
    server.client.indices.open(index=index, wait_for_active_shards=0)
    until(lambda: server.client.cluster.health(index=index)["active_shards"] == 1)
    engine = server.open(NAME)
    questions: list[Callable[[], object]] = [
        engine.count,
        engine.facets,
        lambda: engine.keyword(terms_of(SAMPLE)[0].split(), 10),
        lambda: engine.knn(vectors(SAMPLE)[0], 10),
        lambda: engine.fetch([one.id for one in SAMPLE]),
        lambda: list(engine.addresses()),
        lambda: engine.suggest("", 10),
        lambda: engine.spellings("sorted"),
    ]
    for ask in questions:
        with pytest.raises(EngineUnavailable, match=rf"cannot answer now: .*missing shards.*{index}"):
            ask()
    two_shards.close()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, ""),  # published, and so closed to writing
        ({"blocks.write": None, "blocks.read_only_allow_delete": True}, "flood-stage"),  # as the server sets it
    ],
    ids=["published", "full disk"],
)
def test_an_index_closed_to_writing_is_called_neither_overload_nor_a_lack_of_rights(
    server: ElasticsearchStore, settings: dict[str, Any], said: str
) -> None:
    index = index_name(NAME, build(server, NAME).generation)
    if settings:
        server.client.indices.put_settings(index=index, settings=settings)
    with pytest.raises(EngineUnavailable, match=rf"takes nothing in: .*{said}") as told, server_errors(server.client):
        server.client.index(index=index, document={})
    assert "disk" in told.value.hint
    assert not isinstance(told.value, CredentialsError)


def test_a_node_above_its_disk_watermark_is_named_at_once(server: ElasticsearchStore) -> None:
    build(server, NAME)
    disk = "cluster.routing.allocation.disk"
    settings: dict[str, Any] = {
        f"{disk}.threshold_enabled": True,
        f"{disk}.watermark.low": "5000tb",  # so much must be free
        f"{disk}.watermark.high": "4000tb",
        f"{disk}.watermark.flood_stage": "1b",
        "cluster.info.update.interval": "10s",
    }
    server.client.cluster.put_settings(persistent=settings)
    try:
        explained = server.client.cluster.allocation_explain
        known: dict[str, Any] = {"index": lease.INDEX, "shard": 0, "primary": True, "include_disk_info": True}
        until(lambda: bool(explained(**known)["cluster_info"]["nodes"]))
        # A new index, and the clone of one.
        for fresh, exceeded in ((True, "watermark.high=4000tb"), (False, "watermark.low=5000tb")):
            with pytest.raises(
                EngineUnavailable, match=r"no room for treeline-only-elasticsearch-00000\d: node "
            ) as told:
                server.begin(NAME, [ENCODER], "g", fresh=fresh)
            assert f"{disk}.{exceeded}" in told.value.message
            assert "actual free" in told.value.message
            assert "make room" in told.value.hint
    finally:
        server.client.cluster.put_settings(persistent=dict.fromkeys(settings))
    assert build(server, NAME, fresh=False, fingerprint="g").functions == len(SAMPLE)  # with room, as if nothing was


def test_a_new_index_gets_its_graph_once_when_it_is_published(server: ElasticsearchStore) -> None:
    with server.begin(NAME, [ENCODER], "f") as writer:
        for number in range(2 * MOST_SEGMENTS):
            write(writer, [function(f"piece_{number}")])
            writer.preview()  # a segment each
        index = index_name(NAME, "000001")
        assert vector_index_type(server, index) == "int8_flat"  # while it is loaded, no merge builds a graph
        info = writer.publish()
    assert vector_index_type(server, index) == "int8_hnsw"
    await_segments(server, index, 1)

    with server.begin(NAME, [ENCODER], "g") as writer:
        for number in range(2 * MOST_SEGMENTS):
            write(writer, [function(f"later_{number}")])
            writer.preview()
        info = writer.publish()
    await_segments(server, index_name(NAME, info.generation), MOST_SEGMENTS)
    assert server.open(NAME).count() == 4 * MOST_SEGMENTS


def test_deleted_units_soon_count_no_more_in_bm25(server: ElasticsearchStore) -> None:
    units = [function(f"read_{number}", docstring="Read a page. " * (number % 7), line=number) for number in range(60)]
    kept, words = units[9:], ["read", "page"]  # of many more deleted ones the server disposes by itself
    build(server, NAME, kept)
    wanted = [(hit.id, round(hit.score, 4)) for hit in server.open(NAME).keyword(words, 60)]
    build(server, NAME, units)
    with server.begin(NAME, [ENCODER], "g") as writer:
        assert writer.delete([one.id for one in units[:9]]) == 9
        writer.publish()
    until(lambda: [(hit.id, round(hit.score, 4)) for hit in server.open(NAME).keyword(words, 60)] == wanted)


def test_both_lanes_can_be_asked_raw_in_one_request(server: ElasticsearchStore) -> None:
    build(server, NAME)
    opened = server.open(NAME)
    terms, vector = terms_of(SAMPLE[:1])[0].split(), vectors(SAMPLE[:1])[0]
    assert opened.raw(terms, vector, 5) == len(opened.keyword(terms, 5)) + len(opened.knn(vector, 5)) > 1


def await_segments(server: ElasticsearchStore, index: str, most: int) -> None:
    until(lambda: len(server.client.cat.segments(index=index, format="json").body) <= most)


def vector_index_type(server: ElasticsearchStore, index: str) -> str:
    mappings = server.client.indices.get_mapping(index=index)[index]["mappings"]
    return str(mappings["properties"]["vector0"]["index_options"]["type"])


def test_one_alias_has_the_current_generation_of_every_index_and_no_other(server: ElasticsearchStore) -> None:
    longer = f"{NAME}-too"  # its generations begin like those of the other

    def together() -> set[str]:
        found = server.client.options(ignore_status=404).indices.get_alias(name=ALL_CURRENT)
        return {index for index in found if index.startswith("treeline-only")}

    for index, count in ((longer, 1), (NAME, 1), (NAME, 2)):
        build(server, index, SAMPLE[:count])
    try:
        assert together() == {index_name(NAME, "000002"), index_name(longer, "000001")}
        server.roll_back(NAME)
        assert together() == {index_name(NAME, "000001"), index_name(longer, "000001")}
    finally:
        server.drop(longer)
    assert together() == {index_name(NAME, "000001")}
    assert longer not in server.names()


def test_vectors_are_sent_as_whole_numbers_of_the_same_direction() -> None:
    rows = vectors(SAMPLE)
    sent = whole_numbers(rows)
    for row, numbers in zip(rows, sent, strict=True):
        assert numbers is not None
        assert abs(numbers).max() == WHOLE_NUMBERS
        assert numbers / (numbers @ numbers) ** 0.5 == pytest.approx(row, abs=0.001)
    assert whole_numbers(0 * rows[:1]) == [None]


def test_bulk_requests_are_cut_to_a_bearable_size() -> None:
    actions = [Action(str(number), b"x" * 1_000) for number in range(1_000)]
    assert [len(part) for part in _requests(actions)] == [250, 250, 250, 250]
    large = [Action(str(number), b"x" * 3_000_000) for number in range(3)]
    assert [len(part) for part in _requests(large)] == [1, 1, 1]
    assert _requests([]) == []


def test_closing_in_an_outage_does_not_wait_for_the_server_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "FIRST_PAUSE", 600.0)
    store = away()
    sender = Bulk(store.client, "x")
    with ThreadPoolExecutor(1) as caller:
        sending = caller.submit(sender, [Action(str(number), b"{}") for number in range(1_000)])
        until(lambda: sender.repeated > 0)
        started = time.monotonic()
        sender.close()
        assert time.monotonic() - started < 60  # not the minutes of the pause
        with pytest.raises(EngineUnavailable, match="ended before"):
            sending.result()
    store.close()


def test_a_closed_sender_takes_nothing_more_and_says_so() -> None:
    store = away()
    sender = Bulk(store.client, "x")
    sender.close()
    with pytest.raises(EngineUnavailable, match="it was closed"):
        sender([Action(str(number), b"{}") for number in range(1_000)])
    store.close()


def test_a_document_the_mapping_refuses_is_named_and_the_rest_goes_in(server: ElasticsearchStore) -> None:
    long_path = function("too_long", path="p" * 40_000)
    with server.begin(NAME, [ENCODER], "f") as writer:
        assert write(writer, [SAMPLE[0], long_path, SAMPLE[1]]) == 2
        assert [id for id, _ in writer.rejected] == [long_path.id]
        assert "path" in writer.rejected[0][1]
        assert writer.publish().functions == 2


def test_a_published_generation_cannot_be_changed(server: ElasticsearchStore) -> None:
    build(server, NAME)
    bulk = Bulk(server.client, index_name(NAME, "000001"))
    assert "blocked" in bulk([Action(SAMPLE[0].id, None)])[0][1]
    assert server.open(NAME).count() == len(SAMPLE)
    bulk.close()


def test_an_index_of_another_version_is_refused_and_still_says_what_it_was_made_of(server: ElasticsearchStore) -> None:
    with server.begin(NAME, [ENCODER], "f") as writer:
        write(writer, SAMPLE)
        writer.put_artifact("manifest", b"a folder")
        writer.publish()
    index = index_name(NAME, "000001")
    said = server.client.indices.get_mapping(index=index)[index]["mappings"]["_meta"]["treeline"]
    server.client.indices.put_mapping(index=index, meta={"treeline": {**said, "format": 99}})
    with pytest.raises(IndexOutdated, match="format 99"):
        server.open(NAME)
    assert server.artifact(NAME, "manifest") == b"a folder"


def test_the_mapping_is_the_one_we_pin_and_refuses_an_unknown_field(server: ElasticsearchStore) -> None:
    build(server, NAME)
    index = index_name(NAME, "000001")
    mapping = server.client.indices.get_mapping(index=f"treeline-{NAME}")[index]["mappings"]
    assert mapping["properties"]["terms"]["analyzer"] == "whitespace"
    assert mapping["_meta"]["treeline"]["functions"] == len(SAMPLE)
    server.client.indices.put_settings(index=index, settings={"blocks.write": False})
    bulk = Bulk(server.client, index)
    assert "strict_dynamic_mapping" in bulk([Action("1", b'{"surprise": 1}')])[0][1]
    bulk.close()


def test_a_dead_writer_of_this_machine_makes_way_at_once(
    server: ElasticsearchStore, elasticsearch_cluster: Cluster
) -> None:
    assert lease._is_running(lease._process(os.getpid()))
    assert not lease._is_running(f"{os.getpid()}:1")  # another one had this number
    script = (
        "import os, sys\n"
        "from engine.elasticsearch import ElasticsearchStore\n"
        "from tests.engine.functions import ENCODER, SAMPLE, write\n"
        f"writer = ElasticsearchStore([sys.argv[1]]).begin({NAME!r}, [ENCODER], 'f')\n"
        "write(writer, SAMPLE[:3])\n"
        "writer.checkpoint(b'three')\n"
        "write(writer, SAMPLE[3:])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, elasticsearch_cluster.url], check=False, timeout=240)
    with server.begin(NAME, [ENCODER], "f") as writer:
        assert writer.resumed == b"three"
        assert writer.publish().functions == 3


def test_a_silent_writer_elsewhere_makes_way_after_a_while(
    server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = lease.Lease(server.client, NAME)
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    with pytest.raises(InputError, match="is being written by process"):
        server.begin(NAME, [ENCODER], "f")
    monkeypatch.setattr(lease, "DEAD_AFTER_SECONDS", 0.0)
    server.begin(NAME, [ENCODER], "f").abandon()
    held.release()


def test_a_writer_that_is_silent_is_not_taken_for_dead_and_one_that_was_writes_no_more(
    server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT_SECONDS", 0.1)
    writer = server.begin(NAME, [ENCODER], "f")
    before = heard(server)
    until(lambda: heard(server) > before)
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    monkeypatch.setattr(lease, "DEAD_AFTER_SECONDS", -60.0)
    others: list[lease.Lease] = []

    def taken_over() -> bool:
        with suppress(InputError):  # a heartbeat came in between: the writer lives
            others.append(lease.Lease(server.client, NAME))
        return bool(others)

    until(taken_over)
    until(lambda: writer._lease is not None and writer._lease._lost)
    with pytest.raises(TreelineError, match="taken over"):
        write(writer, SAMPLE)
    writer.abandon()
    assert heard(server)  # the other's still
    others[0].release()


def test_a_writer_that_was_silent_does_not_release_the_lease_of_its_successor(
    server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = lease.Lease(server.client, NAME)
    with monkeypatch.context() as patched:
        patched.setattr(socket, "gethostname", lambda: "elsewhere")
        patched.setattr(lease, "DEAD_AFTER_SECONDS", 0.0)
        successor = lease.Lease(server.client, NAME)
    silent.release()
    assert heard(server)
    successor.release()
    with pytest.raises(NotFoundError):
        heard(server)


def test_a_lease_is_released_although_the_answer_to_a_heartbeat_was_lost(server: ElasticsearchStore) -> None:
    held = lease.Lease(server.client, NAME)
    server.client.index(index=lease.INDEX, id=NAME, document={**held._who, "at": time.time()})
    held.release()
    with pytest.raises(NotFoundError):
        heard(server)


def test_a_lease_that_cannot_be_released_hides_no_other_error_and_ends_by_itself(
    server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = lease.Lease(server.client, NAME)
    nowhere = away()
    monkeypatch.setattr(held, "_client", nowhere.client)
    held.release()
    nowhere.close()
    with pytest.raises(InputError, match="is being written by process"):
        server.begin(NAME, [ENCODER], "f")
    monkeypatch.setattr(lease, "DEAD_AFTER_SECONDS", 0.0)
    server.begin(NAME, [ENCODER], "f").abandon()


def test_a_unit_whose_shard_is_away_is_not_taken_for_a_new_one(
    elasticsearch_cluster: Cluster, server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(server, NAME)
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)
    with failing_proxy(elasticsearch_cluster.url, outages={"_mget": "shard away"}) as proxy:
        store = ElasticsearchStore([proxy.url])
        with store.begin(NAME, [ENCODER], "again") as writer:
            write(writer, SAMPLE)
            assert writer.publish().functions == len(SAMPLE)
        store.close()
        assert proxy.happened["_mget"] == OUTAGE


def test_bodies_of_a_busy_cluster_are_waited_for(
    elasticsearch_cluster: Cluster, server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(server, NAME)
    monkeypatch.setattr(engine, "HANGING_SECONDS", HASTY)
    with failing_proxy(elasticsearch_cluster.url, chance=0, delay=SLOW) as proxy:
        store = ElasticsearchStore([proxy.url])
        assert [found.id for found in store.open(NAME).fetch([SAMPLE[0].id])] == [SAMPLE[0].id]
        store.close()


def test_bodies_that_were_read_are_not_asked_for_again(
    server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(server, NAME)
    opened = server.open(NAME)
    asked: list[int] = []
    search = opened._search_soon

    def counted(**request: Any) -> Any:
        asked.append(request["size"])
        return search(**request)

    monkeypatch.setattr(opened, "_search_soon", counted)
    ids = [one.id for one in SAMPLE]
    assert opened.fetch(ids[:2]) == list(SAMPLE[:2])
    assert opened.fetch([*ids[:3], "0" * 32]) == list(SAMPLE[:3])
    assert opened.fetch(ids[:2]) == list(SAMPLE[:2])
    assert asked == [2, 2]
    monkeypatch.setattr(engine, "BODIES_CACHED", 4)
    for id, function_ in zip(ids, SAMPLE, strict=True):
        assert opened.fetch([id]) == [function_]
        assert len(opened._bodies or ()) <= 4


def test_what_is_still_being_written_is_read_anew(server: ElasticsearchStore) -> None:
    with server.begin(NAME, [ENCODER], "f") as writer:
        write(writer, SAMPLE[:1])
        preview = writer.preview()
        assert preview.fetch([SAMPLE[0].id]) == list(SAMPLE[:1])
        writer.delete([SAMPLE[0].id])
        writer.preview()
        assert preview.fetch([SAMPLE[0].id]) == []
        writer.abandon()


@pytest.mark.parametrize("base", [(), SAMPLE[3:]], ids=["new", "on a base"])
def test_a_preview_says_of_what_was_written_what_the_server_says(
    server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch, base: tuple[Function, ...]
) -> None:
    if base:
        build(server, NAME, base)
    refused = function("too_long", path="x" * 40_000)
    ids = [one.id for one in (*SAMPLE, refused)]
    with server.begin(NAME, [ENCODER], "g") as writer:
        write(writer, [*SAMPLE[:4], refused])
        write(writer, SAMPLE[:1])
        writer.delete([SAMPLE[1].id])
        told = []
        for most in (preview.MOST_UNITS, 0):
            monkeypatch.setattr(preview.WriteLog, "__len__", lambda kept, most=most: min(most, len(kept._units)))
            monkeypatch.setattr(preview.WriteLog, "knows", lambda kept, id, most=most: most > 0 and id in kept._units)
            view = writer.preview()
            told.append((list(view.addresses()), list(view.locate(ids[:1])), list(view.locate(ids)), view.vectors(ids)))
        (known, *located, rows), (asked, *searched, read) = told
        assert known == asked
        assert {id for id, _ in known} == {one.id for one in (SAMPLE[0], *SAMPLE[2:4], *base)}
        assert known[-1][0] == SAMPLE[0].id  # written again, and so the last
        assert located == searched
        np.testing.assert_allclose(rows, read, atol=1e-6)
        writer.abandon()


def test_what_was_written_is_not_read_back(server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object, **request: object) -> None:
        raise AssertionError(request)

    with server.begin(NAME, [ENCODER], "g") as writer:
        write(writer, SAMPLE)
        view = writer.preview()
        monkeypatch.setattr(engine, "whole_answer", asked)
        assert [id for id, _ in view.addresses()] == [one.id for one in SAMPLE]
        assert [hit.address for hit in view.locate([SAMPLE[1].id])] == [SAMPLE[1].address]
        np.testing.assert_allclose(view.vectors([SAMPLE[1].id]), vectors(SAMPLE[1:2]), atol=1e-3)
        monkeypatch.undo()
        writer.abandon()


def test_of_a_load_beyond_the_memory_for_it_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "MOST_UNITS", 2)
    written = preview.WriteLog()
    for number, one in enumerate((*SAMPLE[:2], *SAMPLE[:2], *SAMPLE[2:])):
        written.add(one, None)
        assert len(written) == ((1, 2, 2, 2)[number] if number < 4 else 0)
    written.close()


def test_without_room_for_vectors_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "TemporaryFile", lambda **given: Path("/dev/full").open("wb", **given))  # noqa: SIM115
    written = preview.WriteLog()
    written.add(SAMPLE[0], None)
    assert written.knows(SAMPLE[0].id)
    written.add(SAMPLE[1], np.ones(16, dtype=np.int32))
    assert not len(written)
    written.add(SAMPLE[2], None)
    assert not len(written)


def test_the_vectors_of_what_was_written_are_the_last_of_each_unit() -> None:
    written = preview.WriteLog()
    first, second = np.arange(16, dtype=np.int32), np.arange(16, 0, -1, dtype=np.int32)
    for one, row in ((SAMPLE[0], first), (SAMPLE[1], None), (SAMPLE[2], second), (SAMPLE[0], second)):
        written.add(one, row)
    rows = written.vectors([one.id for one in (SAMPLE[2], SAMPLE[1], SAMPLE[0])], 16)
    np.testing.assert_allclose(rows, [second / np.linalg.norm(second), np.zeros(16), second / np.linalg.norm(second)])
    written.close()


def test_a_busy_cluster_is_waited_for_when_writing_begins(
    elasticsearch_cluster: Cluster, server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ANSWER_SECONDS", HASTY)
    with failing_proxy(elasticsearch_cluster.url, chance=0, delay=SLOW) as proxy:
        hasty = ElasticsearchStore([proxy.url])
        with pytest.raises(EngineUnavailable):
            hasty.names()
        held = lease.Lease(hasty.client, NAME)
        monkeypatch.setattr(held, "_client", server.client)
        held.release()
        hasty.close()


def heard(server: ElasticsearchStore) -> float:
    """When the writer of the index last said that it is alive."""
    return float(server.client.get(index=lease.INDEX, id=NAME)["_source"]["at"])


def test_two_encoders_of_one_dimension_do_not_mix(server: ElasticsearchStore) -> None:
    one, two = EncoderSpec("one", 16), EncoderSpec("two", 16)
    with server.begin(NAME, [one, two], "f") as writer:
        writer.write(SAMPLE, terms_of(SAMPLE), {"one": vectors(SAMPLE), "two": -vectors(SAMPLE)})
        writer.publish()
    engine = server.open(NAME)
    assert engine.knn(vectors(SAMPLE)[0], 1, encoder="one")[0].score == pytest.approx(1, abs=0.01)
    assert engine.knn(-vectors(SAMPLE)[0], 1, encoder="two")[0].score == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"match": {"docstring": {"query": "Convrt integer", "fuzziness": 1}}}, {"int_to_string"}),
        ({"match_phrase": {"docstring": "sort a list"}}, {"Sorter.quick_sort"}),
        ({"match_phrase": {"code": "return loads"}}, {"parse_json"}),
        ({"match": {"func_name": "parse_json"}}, {"parse_json"}),
        ({"term": {"func_name.keyword": "Sorter.quick_sort"}}, {"Sorter.quick_sort"}),
        ({"exists": {"field": "code"}}, {one.func_name for one in SAMPLE}),
        ({"exists": {"field": "docstring"}}, {one.func_name for one in SAMPLE if one.docstring}),
    ],
    ids=lambda value: str(sorted(value)),
)
def test_the_papers_query_and_kibanas_are_answered(
    server: ElasticsearchStore, query: dict[str, Any], names: set[str]
) -> None:
    build(server, NAME)
    found = server.client.search(index=alias_name(NAME), query=query, source_includes=["func_name"])["hits"]["hits"]
    assert {hit["_source"]["func_name"] for hit in found} == names


def test_the_queries_that_the_docs_give_for_kibanas_console_find_what_they_say(server: ElasticsearchStore) -> None:
    code = "def as_text(number):\n    return str(number)\n"
    silent, spoken = (
        function("as_text", code=code),
        function("to_text", code=code, docstring="Convrt an int to string."),
    )
    build(server, NAME, [*SAMPLE, silent, spoken])
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "operate.md").read_text(encoding="utf-8")
    block = page.partition("```console\n")[2].partition("```")[0]
    requests = [part.partition("\n")[::2] for part in block.strip().split("\n\n")]
    assert [line for line, _ in requests] == [f"GET {alias_name('default')}/_search"] * 2
    found = [
        server.client.search(index=alias_name(NAME), body=json.loads(body))["hits"]["hits"] for _, body in requests
    ]
    assert found[0][0]["_source"]["func_name"] == "to_text"
    assert [hit["_source"]["func_name"] for hit in found[1]] == ["to_text"]


def test_addresses_come_from_columns_read_ahead_once_a_service_asks_often(
    server: ElasticsearchStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    build(server, NAME)
    opened = server.open(NAME)
    expected = list(opened.keyword(["valu"], 10))
    assert {hit.id: hit.address for hit in expected} == {one.id: one.address for one in SAMPLE[1:]}
    for _ in range(columns.ASKED_OFTEN):
        opened.keyword(["valu"], 10)
    until(lambda: opened._columns._local() is not None)
    monkeypatch.setattr(columns.FetchedColumns, "entries", lambda *_: pytest.fail("asked the server"))
    assert list(opened.keyword(["valu"], 10)) == expected
    assert list(server.open(NAME).keyword(["valu"], 10)) == expected  # another process finds them on the disk
