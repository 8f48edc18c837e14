"""A long-lived searcher switches to a new generation without failing a search, and refuses a foreign encoder."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, cast

import pytest

from tests.ingest.loading import loaded, project
from tests.search.small_index import FILES, parsed, publish, shipped, small_store
from treeline.corpus.errors import EncoderMismatch, EngineUnavailable, IndexDamaged, IndexMissing, InputError
from treeline.encoder.protocol import Encoder
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import Store
from treeline.rerank.candidates import Candidate
from treeline.search import live
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.overview import cluster_of, clusters_of, find_similar, locations, overview
from treeline.search.query import Query
from treeline.search.settings import Settings

MORE = {**FILES, "text/more.py": 'def frobnicate():\n    """Turn the knob."""\n    return "knob"\n'}


@pytest.fixture
def always_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(live, "LOOK_TIMEOUT_S", 60.0)


def first(searcher: LiveSearcher, text: str) -> str:
    return searcher.search(Query(text)).results[0].function.func_name


@pytest.mark.usefixtures("always_looking")
def test_a_new_generation_is_noticed(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small")
    before = searcher.info.generation
    assert "frobnicate" not in [one.address.func_name for one in searcher.search(Query("frobnicate")).candidates]
    publish(store, *parsed(MORE))
    assert first(searcher, "frobnicate") == "frobnicate"
    assert searcher.info.generation != before
    searcher.close()


@pytest.mark.usefixtures("always_looking")
def test_another_index_of_the_same_name_and_number_is_noticed(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small")
    before = searcher.info
    store.drop("small")
    publish(store, *parsed(MORE))
    assert first(searcher, "frobnicate") == "frobnicate"
    assert searcher.info.generation == before.generation
    assert searcher.info.identity != before.identity
    assert not searcher.refresh()
    searcher.close()


@pytest.mark.usefixtures("always_looking")
def test_what_is_read_once_a_generation_is_read_anew_after_a_drop(tmp_path: Path) -> None:
    home = tmp_path / "home"
    loaded(home, project(tmp_path / "one", {"a.py": "def alpha(x):\n    return x\n"}))
    store = EmbeddedStore(home)
    (name,) = store.names()
    searcher = LiveSearcher(store, name)
    assert "alpha" in labels(searcher) and overview(searcher).info == searcher.info
    before = clusters_of(searcher)
    assert clusters_of(searcher) is before  # not for every question
    store.drop(name)
    loaded(home, project(tmp_path / "two", {"b.py": "def beta(x):\n    return x\n"}))
    assert "beta" in labels(searcher) and "alpha" not in labels(searcher)
    assert overview(searcher).info == searcher.info == store.info(name)
    (beta,) = (id_ for id_, _ in searcher.engine.addresses())
    after = clusters_of(searcher)
    assert after is not None and after is not before and after.of(beta) is not None
    searcher.close()


def test_an_overview_counts_and_what_is_similar_says_whether_it_is_in_the_same_cluster(tmp_path: Path) -> None:
    home = tmp_path / "home"
    files = {
        f"dates/{name}.py": f"def parse_{name}(text):\n    return text.split()\n" for name in ("day", "year", "week")
    }
    files |= {
        f"net/{name}.py": f"def open_{name}(port):\n    return socket(port)\n" for name in ("link", "door", "pipe")
    }
    files["web.js"] = "function show(page) { return page; }\n"
    loaded(home, project(tmp_path / "code", files))
    searcher = LiveSearcher(EmbeddedStore(home), "small")
    counts = overview(searcher)
    assert list(counts.languages.items()) == [("python", 6), ("javascript", 1)] and counts.repositories == 1
    clusters = clusters_of(searcher)
    assert clusters is not None
    for id_, _ in searcher.engine.addresses():
        found = find_similar(searcher, id_, 3)
        cluster = clusters.of(id_)
        assert cluster is not None and found.cluster == cluster
        assert len(found.hits) == 3 and id_ not in {hit.id for hit, _ in found.hits}
        assert [same for _, same in found.hits] == [clusters.of(hit.id) == cluster for hit, _ in found.hits]
        candidate = Candidate(id_, searcher.engine.locate([id_])[0].address, 1.0)
        assert cluster_of(candidate, clusters) == cluster
        assert cluster_of(candidate._replace(cluster=7), clusters) == 7
        assert cluster_of(candidate, None) is None
    assert find_similar(searcher, id_, 1).hits[0] == find_similar(searcher, id_, 3).hits[0]
    searcher.close()


def labels(searcher: LiveSearcher) -> Sequence[str]:
    places = locations(searcher)
    assert places is not None
    return places.tree.labels


def test_it_looks_at_the_store_only_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_EVERY", 3600.0)
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small")
    publish(store, *parsed(MORE))
    assert first(searcher, "turn the knob") != "frobnicate"
    assert searcher.refresh()
    assert not searcher.refresh()
    assert first(searcher, "turn the knob") == "frobnicate"
    searcher.close()


def test_a_look_asks_the_store_for_the_current_generation_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher, original = LiveSearcher(small_store(tmp_path), "small"), EmbeddedStore.current
    asked: list[str] = []

    def counted(self: EmbeddedStore, name: str) -> str:
        asked.append(name)
        return original(self, name)

    monkeypatch.setattr(EmbeddedStore, "current", counted)
    assert not searcher.refresh()
    assert asked == ["small"]
    searcher.close()


@pytest.mark.usefixtures("always_looking")
def test_no_search_fails_while_generations_come_and_go(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small", Settings(lane_timeout=60))
    failures: list[Exception] = []
    answers = 0
    stop = threading.Event()

    def ask() -> None:
        nonlocal answers
        while not stop.is_set():
            try:
                answer = searcher.search(Query("convert int to string"))
                assert answer.results[0].function.func_name == "int_to_string"
                assert answer.degraded == ()
                answers += 1
            except Exception as error:  # noqa: BLE001 - any failure at all is what the test looks for
                failures.append(error)
                return

    people = [threading.Thread(target=ask) for _ in range(4)]
    for person in people:
        person.start()
    try:
        for files in (MORE, FILES, MORE, FILES):
            publish(store, *parsed(files))
            store.prune("small", keep=1)
            enough, patience = answers + 10, perf_counter() + 240
            while answers < enough and not failures:
                assert perf_counter() < patience
                sleep(0.01)
    finally:
        stop.set()
        for person in people:
            person.join()
    assert failures == []
    searcher.close()


@pytest.mark.usefixtures("always_looking")
def test_an_old_generation_is_closed_when_its_last_search_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small")
    closed: list[str] = []
    with searcher.searcher() as old:
        close = old.engine.close

        def noted() -> None:
            closed.append("old")
            close()

        monkeypatch.setattr(old.engine, "close", noted)
        publish(store, *parsed(MORE))
        assert first(searcher, "frobnicate") == "frobnicate"
        assert closed == []
        assert old.search(Query("convert int to string")).results
    assert closed == ["old"]
    searcher.close()


@pytest.mark.usefixtures("always_looking")
def test_an_old_generation_stays_open_while_a_lane_past_its_timeout_still_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small", Settings(lane_timeout=0.5))
    reading, released, closed = threading.Event(), threading.Event(), threading.Event()
    old = searcher.engine

    def slow(*_args: Any, **_named: Any) -> list[Any]:
        reading.set()
        released.wait(600)
        return []

    monkeypatch.setattr(old, "knn", slow)
    monkeypatch.setattr(old, "close", closed.set)
    while not reading.is_set():  # a lane that is given up before it begins reads nothing
        with suppress(EngineUnavailable):  # the other lanes may be late too
            searcher.search(Query("convert int to string"))
    monkeypatch.setattr(searcher, "settings", Settings(lane_timeout=60))
    publish(store, *parsed(MORE))
    assert first(searcher, "frobnicate") == "frobnicate"
    assert not closed.is_set()
    released.set()
    patience = perf_counter() + 60
    while not closed.is_set():
        assert perf_counter() < patience
        first(searcher, "frobnicate")
        sleep(0.01)
    searcher.close()


def test_an_index_of_another_encoder_is_refused_and_both_are_named(tmp_path: Path) -> None:
    class Stranger:
        name, dimension = "stranger", 7

        def __getattr__(self, name: str) -> Any:
            raise AssertionError("a refused encoder is not used")

    with pytest.raises(EncoderMismatch, match=rf"{shipped().name}.*stranger \(7 dimensions\)"):
        LiveSearcher(small_store(tmp_path), "small", load_encoder=lambda _name: Stranger())


class Renamed:
    """The shipped encoder under the name of one that cannot be had."""

    name = "static:0"

    def __getattr__(self, name: str) -> Any:
        return getattr(shipped(), name)


@pytest.mark.usefixtures("always_looking")
def test_a_generation_that_cannot_be_opened_is_told_once_until_one_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small")
    assert searcher.passed_over == ""
    for generation in (2, 3):
        made = publish(store, *parsed(MORE), encoders=[cast(Encoder, Renamed())])
        assert made.generation == f"{generation:06}"
        for _ in range(3):
            assert first(searcher, "convert int to string") == "int_to_string"
    assert "made with encoder 'static:0'" in searcher.passed_over
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(told) == 2  # one a generation, not one a look
    assert "index 'small' stays at generation 000001: " in told[0] and "'static:0'" in told[0]
    store.roll_back("small")
    store.roll_back("small")
    first(searcher, "convert int to string")
    assert searcher.passed_over == ""
    searcher.close()


@pytest.mark.usefixtures("always_looking")
def test_an_encoder_that_was_away_is_used_when_it_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def away_twice(name: str) -> Encoder:
        asked.append(name)
        if len(asked) <= 2:
            raise InputError("the hub does not answer", "try again")
        return shipped()

    searcher = LiveSearcher(small_store(tmp_path), "small", load_encoder=away_twice, without_encoder=True)
    query = Query("convert int to string")
    assert [one.lane for one in searcher.search(query).degraded] == ["dense"]
    assert len(asked) == 1  # not asked again for every question
    monkeypatch.setattr(live, "RETRY_ENCODER", 0.0)
    assert [one.lane for one in searcher.search(query).degraded] == ["dense"]
    assert searcher.search(query).degraded == ()
    assert searcher.search(query).results[0].function.func_name == "int_to_string"
    assert len(asked) == 3
    searcher.close()


def test_a_missing_index_is_said(tmp_path: Path) -> None:
    with pytest.raises(IndexMissing):
        open_searcher(Settings(home=str(tmp_path)), "nothing")


@pytest.mark.usefixtures("always_looking")
def test_a_store_that_goes_away_leaves_the_open_generation_answering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small")

    def away(_name: str) -> str:
        raise EngineUnavailable("the store is away")

    monkeypatch.setattr(store, "info", away)
    assert first(searcher, "convert int to string") == "int_to_string"
    searcher.close()


@pytest.mark.usefixtures("always_looking")
def test_an_index_that_is_dropped_answers_no_more_until_it_is_made_again(tmp_path: Path) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small")
    store.drop("small")
    with pytest.raises(IndexMissing):
        for _ in range(100):  # the look may take longer than a search waits for it
            first(searcher, "convert int to string")
    small_store(tmp_path)
    patience, found = perf_counter() + 60, ""
    while not found:
        assert perf_counter() < patience
        with suppress(IndexMissing):
            found = first(searcher, "convert int to string")
    assert found == "int_to_string"
    searcher.close()


@pytest.mark.usefixtures("always_looking")
def test_a_store_that_hangs_does_not_hold_up_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = small_store(tmp_path)
    searcher = LiveSearcher(store, "small")
    monkeypatch.setattr(live, "LOOK_TIMEOUT_S", 0.05)
    released = threading.Event()

    def hanging(_name: str) -> str:
        released.wait(60)
        return ""

    monkeypatch.setattr(store, "current", hanging)
    first(searcher, "convert int to string")
    begin = perf_counter()
    for _ in range(20):
        assert first(searcher, "convert int to string") == "int_to_string"
    assert perf_counter() - begin < 30  # not the minute that the store hangs
    released.set()
    searcher.close()


def test_it_has_every_method_of_the_searcher(tmp_path: Path) -> None:
    from treeline.search.searcher import Searcher

    public = {name for name in dir(Searcher) if not name.startswith("_")}
    assert public <= set(dir(LiveSearcher))
    small_store(tmp_path)
    searcher = open_searcher(Settings(home=str(tmp_path), index="small"))
    hit = searcher.engine.named("parse_url", 1)[0]
    query = Query("convert int to string")
    assert searcher.rank(query).candidates
    plan = searcher.plan(query)
    results = searcher.lanes(plan)
    fused = searcher.fuse(results)
    assert {one.id for one in searcher.rerank(results, fused)} == {one.id for one in fused}
    assert searcher.similar(hit.id, 1)
    assert searcher.function(hit.id) is not None
    assert searcher.suggest("parse_", 1) == ["parse_url"]
    assert searcher.structure("parse_url").neighbours
    assert [one.name for one in searcher.callers(hit.id)] == ["Client.send"]
    assert searcher.callees(hit.id) == []
    searcher.close()


def test_an_index_that_cannot_be_read_is_said_to_be_damaged(tmp_path: Path) -> None:
    class Broken:
        def open(self, name: str) -> Any:
            raise UnicodeDecodeError("utf-8", b"x", 0, 1, "a broken header")

    with pytest.raises(IndexDamaged, match="small is damaged: UnicodeDecodeError"):
        LiveSearcher(cast(Store, Broken()), "small")


def test_an_answer_names_what_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = LiveSearcher(small_store(tmp_path), "small")
    monkeypatch.setattr(type(searcher.engine), "damaged", ("generation 000002: rows.npy",))
    answer = searcher.search(Query("convert int to string"))
    assert answer.results
    assert [(one.lane, one.reason) for one in answer.degraded] == [("index", "generation 000002: rows.npy")]
    searcher.close()
