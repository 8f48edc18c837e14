"""Relaxation: full text, then one edit apart, then chunks; only as far as needed, and every hit says its stage."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.search.small_index import parsed, plan_for, publish
from treeline.corpus.analysis import OF_FILE
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import NO_FILTERS, Engine, Filters
from treeline.rerank.fusion import RankedList
from treeline.search.lanes.words import CHUNKS, ENOUGH, FUZZY, MAX_CHUNKS, chunks, keyword_lane
from treeline.search.plan import EXACT
from treeline.search.query import Query

MANY = {
    f"m{number}.py": f"def common_name_{number}():\n    return filler({number})\n" for number in range(ENOUGH + 50)
} | {
    "rare.py": "def exponential_delay():\n    return wobble\n\n\ndef backoff_delay():\n    return 1\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    store = EmbeddedStore(tmp_path_factory.mktemp("home"))
    publish(store, *parsed(MANY), encoders=[])
    engine = store.open("small")
    yield engine
    engine.close()


def found(engine: Engine, text: str, k: int = 300, filters: Filters = NO_FILTERS) -> dict[str, str]:
    """Name → stage."""
    lane: RankedList = keyword_lane(engine, text, k, filters)
    assert len(lane.hits) == len(lane.stages) == len({hit.id for hit in lane.hits})
    return {hit.address.func_name: stage for hit, stage in zip(lane.hits, lane.stages, strict=True)}


class Watched:
    """Counts the calls of an engine's methods, but for those about whole files."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._engine, name)

        def call(what: Any, *arguments: Any) -> Any:
            if not (name == "keyword" and what[0].startswith(OF_FILE)):
                self.calls.append(name)
            return method(what, *arguments)

        return call


def test_with_a_hundred_found_nothing_is_relaxed(engine: Engine) -> None:
    watched = Watched(engine)
    stages = found(watched, "common name")
    assert len(stages) >= ENOUGH
    assert set(stages.values()) == {EXACT}
    assert watched.calls == ["keyword"]


def test_fuzzy_finds_a_one_letter_typo(engine: Engine) -> None:
    assert found(engine, "wobblr") == {"exponential_delay": FUZZY}


def test_exact_hits_stay_in_front_of_relaxed_ones(engine: Engine) -> None:
    stages = list(found(engine, "exponential delay").values())
    assert stages[0] == EXACT
    assert stages == sorted(stages, key=[EXACT, FUZZY, CHUNKS].index)


def test_words_run_together_are_found_in_chunks(engine: Engine) -> None:
    stages = found(engine, "exponentialbackoff")
    assert stages["exponential_delay"] == stages["backoff_delay"] == CHUNKS


def test_relaxing_stops_at_enough(engine: Engine) -> None:
    assert len(found(engine, "common", k=20)) == 20
    watched = Watched(engine)
    found(watched, "common", k=20)
    assert watched.calls == ["keyword"]


def test_nothing_is_found_for_nothing(engine: Engine) -> None:
    assert found(engine, "!?") == {}


def test_a_word_without_meaning_finds_nothing_by_its_pieces(engine: Engine) -> None:
    assert found(engine, "zzqqwobblr") == {}  # `wobblr` is one edit from a word


def test_filters_hold_at_every_stage(engine: Engine) -> None:
    for text in ("delay", "wobblr", "exponentialbackoff"):
        everywhere = keyword_lane(engine, text, 300, Filters()).hits
        assert everywhere, text
        path = everywhere[0].address.path
        lane = keyword_lane(engine, text, 300, Filters(path=path))
        assert everywhere[0].id in {hit.id for hit in lane.hits}, text
        assert all(hit.address.path.startswith(path) for hit in lane.hits), text
        assert not keyword_lane(engine, text, 300, Filters(path="nowhere")).hits, text


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("read csv file fast", ["read csv", "file fast", "read", "csv", "file", "fast"]),
        ("read csv file", ["read", "csv", "file"]),
        ("", []),
    ],
)
def test_chunks_get_smaller(text: str, first: Sequence[str]) -> None:
    assert chunks(text)[: len(first)] == list(first)


def test_a_long_question_has_a_bounded_number_of_chunks() -> None:
    assert len(chunks("word " * 200)) <= MAX_CHUNKS
    assert len(chunks(" ".join(map(str, range(10_000))))) <= MAX_CHUNKS


def test_the_language_that_is_asked_for_is_no_word_to_look_for(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    named = {
        "version.py": "def python_version():\n    return 3\n",
        "json.py": "def check_string(string):\n    return valid(json)\n",
    }
    publish(store, *parsed(MANY | named), encoders=[])
    with closing(store.open("small")) as engine:
        for text in ("python check if a string is valid json", "check if a string is valid json in python"):
            there = found(engine, plan_for(Query(text)).language.rest)
            assert next(iter(there)) == "check_string"
            assert "python_version" not in there
        assert "python_version" in found(
            engine, plan_for(Query("python version")).language.rest
        )  # a question about the word
