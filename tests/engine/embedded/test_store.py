"""What only the embedded engine promises: files that outlive a crash, a small disk, a changed format."""

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.engine.functions import ENCODER, SAMPLE, build, function, vectors, write
from treeline.corpus.analysis import terms
from treeline.corpus.errors import TreelineError
from treeline.engine.embedded import EmbeddedStore, columns, engine, fulltext, words
from treeline.engine.embedded import scans as vector_search
from treeline.engine.protocol import Filters

MANY = [function(f"f{number}", path=f"{number % 9}.py", line=number + 1) for number in range(600)]


def of_two_generations(home: Path) -> EmbeddedStore:
    """An index whose second generation has lost fifty rows and got the sample's."""
    store = EmbeddedStore(home)
    build(store, "x", MANY)
    with store.begin("x", [ENCODER], "g") as writer:
        writer.delete([one.id for one in MANY[:50]])
        write(writer, SAMPLE)
        writer.publish()
    return store


def test_a_loader_goes_on_from_its_checkpoint_on_a_disk_without_hard_links(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    for resumed, functions in ((None, SAMPLE[:3]), (b"state", SAMPLE[3:])):
        with store.begin("x", [ENCODER], "plan") as writer:
            assert writer.resumed == resumed
            write(writer, functions)
            writer.checkpoint(b"state")
    with store.begin("x", [ENCODER], "plan") as writer:
        assert writer.publish().functions == len(SAMPLE)


def test_only_the_last_checkpoint_is_kept_and_nothing_of_it_once_published(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    """Each has the whole text index; a long load has hundreds."""
    with store.begin("x", [ENCODER], "plan") as writer:
        for start in range(0, 150, 50):
            write(writer, MANY[start : start + 50])
            writer.checkpoint(b"")
        left = sorted(
            path.name.partition("-")[0] for path in (tmp_path / "x" / "building").iterdir() if "-" in path.name
        )
        assert left == ["dead", "part", "part", "part", "text"]
        info = writer.publish()
    published = tmp_path / "x" / info.generation
    assert not [path.name for path in published.rglob("*") if path.name.startswith(("dead-", "part-", "text-"))]
    assert not list(published.rglob("checkpoint*"))


def test_a_body_is_read_by_its_address_not_by_looking_through_all_of_them(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(store, "x", MANY)
    opened = store.open("x")

    def look(*_: object) -> None:
        raise AssertionError("all documents were asked where they are")

    monkeypatch.setattr(fulltext, "_addresses", look)
    assert [one.original_string for one in opened.fetch([MANY[7].id])] == [MANY[7].original_string]


def test_a_word_one_edit_away_counts_less_the_shorter_it_is(store: EmbeddedStore) -> None:
    """As in Lucene: 1 − 1/n for words of n letters, with the rarity of the most common of them."""
    for word, other in (("wobble", "wobbly"), ("cat", "cab")):
        build(store, word, [function(one, code=f"def {one}(x): pass") for one in (word, other, "third", "fourth")])
        engine = store.open(word)
        exact, near = engine.fuzzy(word, 5)
        assert near.score / exact.score == pytest.approx(1 - 1 / len(word), rel=1e-3)
        engine.close()


def test_a_large_index_is_searched_by_signs_and_filtered_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_search, "SIGNS_FROM_ROWS", 100)
    monkeypatch.setattr(vector_search, "SIGNS_FROM_DIMENSIONS", 1)
    monkeypatch.setattr(vector_search, "CANDIDATES", 50)
    store = of_two_generations(tmp_path)
    opened = store.open("x")
    store.drop("x")
    for one in (*MANY[50:60], *SAMPLE):
        assert opened.knn(vectors([one])[0], 1)[0].id == one.id
    assert MANY[0].id not in {hit.id for hit in opened.knn(vectors([MANY[0]])[0], 100)}
    assert len(opened.knn(vectors(SAMPLE)[0], 5, Filters(repo="bob/tools"))) == 2


def test_bodies_are_kept_within_bounds_and_read_once_while_they_are(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BODIES_CACHED", 20)
    build(store, "x", MANY)
    opened = store.open("x")
    few, more = [one.id for one in MANY[:5]], [one.id for one in MANY[5:60]]
    assert opened.fetch(few) == MANY[:5]
    with monkeypatch.context() as away:
        away.setattr(opened._bodies, "_body", lambda _: pytest.fail("read again"))
        assert opened.fetch(few[::-1]) == MANY[4::-1]
        with pytest.raises(pytest.fail.Exception):
            opened.fetch(more)
    assert opened.fetch(more) == MANY[5:60]
    assert opened._function.cache_info().currsize <= 20
    assert [one.id for one in opened.scan()] == [id for id, _ in opened.addresses()]


def test_an_open_engine_outlives_the_removal_of_its_generation(store: EmbeddedStore) -> None:
    with store.begin("x", [ENCODER], "f") as writer:
        write(writer, SAMPLE)
        writer.put_artifact("tree", b"oak")
        writer.publish()
    engine = store.open("x")
    store.drop("x")
    assert engine.keyword(terms("parse json"), 1)[0].id == SAMPLE[0].id
    assert engine.knn(vectors(SAMPLE)[0], 1)[0].id == SAMPLE[0].id
    assert engine.fuzzy("parse_jsn", 1)[0].id == SAMPLE[0].id
    assert engine.fetch([SAMPLE[0].id]) == [SAMPLE[0]]
    assert engine.artifact("tree") == b"oak"


def test_a_failed_build_leaves_the_current_generation(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    build(store, "x")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("treeline.engine.embedded.columns.np.save", full)
    with store.begin("x", [ENCODER], "g") as writer:
        write(writer, MANY)
        with pytest.raises(TreelineError, match="disk is full"):
            writer.publish()
    monkeypatch.undo()
    assert store.open("x").count() == len(SAMPLE)
    assert build(store, "x", MANY).functions == len(MANY)


def test_a_writer_that_has_published_does_not_abandon_what_the_next_one_writes(store: EmbeddedStore) -> None:
    first = store.begin("some", [ENCODER], "first")
    write(first, SAMPLE)
    first.publish()
    with store.begin("some", [ENCODER], "second") as second:
        first.abandon()
        assert second.publish().functions == len(SAMPLE)


def test_another_format_is_refused_and_named(store: EmbeddedStore, tmp_path: Path) -> None:
    build(store, "x")
    path = tmp_path / "x" / "000001" / "info.json"
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "format": 99}))
    with pytest.raises(TreelineError, match="format 99"):
        store.open("x")


def test_one_engine_serves_many_threads(store: EmbeddedStore) -> None:
    build(store, "x", MANY)
    engine = store.open("x")
    wrong: list[str] = []

    def ask(numbers: range) -> None:
        for number in numbers:
            one = MANY[number]
            if engine.knn(vectors([one])[0], 1)[0].id != one.id or engine.named(one.func_name, 1)[0].id != one.id:
                wrong.append(one.func_name)

    threads = [threading.Thread(target=ask, args=(range(start, start + 30),)) for start in range(0, 240, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


@pytest.mark.parametrize("removals", range(4))
def test_a_loader_that_dies_while_it_clears_up_leaves_an_index_that_can_be_written(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, removals: int
) -> None:
    """Whatever of the checkpoint's files is gone by then."""
    build(store, "x", SAMPLE)
    writer = store.begin("x", [ENCODER], "plan")
    write(writer, MANY[:50])
    writer.checkpoint(b"50")
    with monkeypatch.context() as dying:
        remove, left, listed = shutil.rmtree, [removals], Path.iterdir

        def dies(path: Path, ignore_errors: bool = False) -> None:
            if path.name.startswith(("text-", "part-", "base")) and not left[0]:
                raise KeyboardInterrupt
            left[0] -= path.name.startswith(("text-", "part-", "base"))
            remove(path, ignore_errors=ignore_errors)

        def checkpoint_last(folder: Path) -> Iterator[Path]:
            return iter(sorted(listed(folder), key=lambda path: path.name == "checkpoint.json"))

        dying.setattr("treeline.engine.embedded.writer.shutil.rmtree", dies)
        dying.setattr(Path, "iterdir", checkpoint_last)
        with suppress(KeyboardInterrupt):
            writer.publish()
    writer.__exit__(None, None, None)
    with store.begin("x", [ENCODER], "plan") as again:
        write(again, MANY[50:60])
        assert again.publish().functions >= len(SAMPLE) + 10


def test_addresses_are_the_same_however_few_are_kept(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    build(store, "x", MANY)
    wanted = [one.id for one in (*MANY[:9], MANY[4], *MANY[300:305])]
    expected = [(one.id, one.address) for one in (*MANY[:9], MANY[4], *MANY[300:305])]
    with_room = store.open("x")
    monkeypatch.setattr(columns, "ENTRIES_CACHED", 5)
    for opened in (with_room, store.open("x")):
        for some in (slice(0, 3), slice(2, 9), slice(0, 15), slice(12, 15)):
            assert [(hit.id, hit.address) for hit in opened.locate(wanted[some])] == expected[some]


def test_an_id_that_ends_in_a_zero_byte_is_known_after_a_resume(store: EmbeddedStore) -> None:
    """numpy strips zeros off the end of bytes: the row would be written a second time."""
    ending = next(one for one in (function(f"zero_{number}") for number in range(10_000)) if one.id.endswith("00"))
    with store.begin("x", [ENCODER], "f") as writer:
        write(writer, [ending, *SAMPLE])
        writer.checkpoint(b"half")
    with store.begin("x", [ENCODER], "f") as writer:
        assert writer.resumed == b"half"
        assert write(writer, [ending]) == 0, "it is taken for a new one"
        assert writer.publish().functions == 1 + len(SAMPLE)
    with store.begin("x", [ENCODER], "g") as writer:
        assert writer.delete([ending.id]) == 1
        assert writer.publish().functions == len(SAMPLE)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_vector_that_is_no_number_is_never_written(store: EmbeddedStore, broken: float) -> None:
    given = vectors(SAMPLE)
    given[2, 3] = broken
    with store.begin("x", [ENCODER], "f") as writer:
        writer.write(SAMPLE, [""] * len(SAMPLE), {ENCODER.name: given})
        writer.publish()
    engine = store.open("x")
    kept = engine.vectors([one.id for one in SAMPLE])
    assert np.isfinite(kept).all()
    assert np.linalg.norm(kept, axis=1) == pytest.approx(np.ones(len(SAMPLE)), abs=1e-2)
    hits = engine.knn(vectors(SAMPLE)[0], 10)
    assert hits[0].id == SAMPLE[0].id
    assert all(np.isfinite(hit.score) for hit in hits)


def test_an_update_adds_its_words_and_makes_no_others_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EmbeddedStore(tmp_path)
    build(store, "words")
    monkeypatch.setattr(words, "build", lambda *_: pytest.fail("all words are made again"))
    with closing(store.open("words")) as before, store.begin("words", [ENCODER], "f") as writer:
        writer.delete([function("sort", repo="bob/tools", path="lib/sort.py", partition="test").id])
        write(writer, [function("wibble", docstring="A documant.")])
        writer.publish()
        with closing(store.open("words")) as after:
            assert after.spellings("document") == {"document": 1, "documant": 1}
            assert before.spellings("document") == {"document": 1}
            assert after.spellings("wibble") == {"wibble": 1}
            assert [hit.address.func_name for hit in after.fuzzy("wobble", 5)] == ["wibble"]
