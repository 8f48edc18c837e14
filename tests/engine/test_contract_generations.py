"""How every engine goes from one generation to the next: whole or not at all. One suite, both engines."""

import threading
from dataclasses import replace

import pytest

from tests.engine.functions import ENCODER, OTHER_ENCODER, SAMPLE, build, function, vectors, write
from tests.waiting import until
from treeline.corpus.analysis import terms
from treeline.corpus.errors import IndexMissing, InputError, TreelineError
from treeline.engine.protocol import Filters, Store

MORE = tuple(function(f"extra_{number}", path="src/extra.py", line=10 * number + 1) for number in range(30))


def ids_in(store: Store, name: str) -> list[str]:
    return [id for id, _ in store.open(name).addresses()]


def test_an_index_that_is_not_there_is_named(store: Store) -> None:
    for ask in (store.open, store.current, store.info, store.generations, store.roll_back, store.drop):
        with pytest.raises(IndexMissing, match="nowhere"):
            ask("nowhere")


@pytest.mark.parametrize("bad", ["", "../up", "Upper", "a b", "-x", "a/b", "x" * 200, "a*"])
def test_a_bad_name_is_refused(store: Store, bad: str) -> None:
    with pytest.raises(InputError, match="cannot be the name"):
        store.begin(bad, [ENCODER], "f")


def test_nothing_is_seen_before_it_is_published(store: Store, name: str) -> None:
    with store.begin(name, [ENCODER], "f") as writer:
        write(writer, SAMPLE)
        writer.checkpoint(b"")
        assert name not in store.names()
        with pytest.raises(IndexMissing):
            store.open(name)
        writer.publish()
    assert name in store.names()


def test_an_index_made_anew_is_another_one_also_in_the_same_second(store: Store, name: str) -> None:
    made = []
    for one in SAMPLE[:3]:
        made.append(build(store, name, [one]))
        assert store.info(name).identity == made[-1].identity
        store.drop(name)
    assert len({info.generation for info in made}) == 1
    assert len({replace(info, created="now").identity for info in made}) == 3


def test_the_next_generation_begins_as_a_copy(store: Store, name: str) -> None:
    build(store, name)
    with store.begin(name, [ENCODER], "g") as writer:
        assert write(writer, MORE) == len(MORE)
        assert writer.publish().functions == len(SAMPLE) + len(MORE)
    assert ids_in(store, name) == [one.id for one in (*SAMPLE, *MORE)]
    engine = store.open(name)
    assert engine.knn(vectors(SAMPLE)[1], 1)[0].id == SAMPLE[1].id
    assert engine.knn(vectors(MORE)[1], 1)[0].id == MORE[1].id
    assert engine.fetch([SAMPLE[0].id, MORE[0].id]) == [SAMPLE[0], MORE[0]]


def test_a_fresh_generation_begins_empty(store: Store, name: str) -> None:
    build(store, name)
    build(store, name, MORE, fresh=True)
    assert ids_in(store, name) == [one.id for one in MORE]


def test_writing_twice_is_writing_once(store: Store, name: str) -> None:
    with store.begin(name, [ENCODER], "f") as writer:
        assert write(writer, SAMPLE) == len(SAMPLE)
        assert write(writer, SAMPLE) == 0
        assert write(writer, [*SAMPLE[:2], SAMPLE[0]]) == 0
        assert writer.publish().functions == len(SAMPLE)
    with store.begin(name, [ENCODER], "g") as writer:
        assert write(writer, [*SAMPLE, MORE[0], MORE[0]]) == 1
        assert writer.publish().functions == len(SAMPLE) + 1
    assert sorted(ids_in(store, name)) == sorted(one.id for one in (*SAMPLE, MORE[0]))
    engine = store.open(name)
    assert len(engine.keyword(terms("parse json"), 10)) == 1
    assert [hit.id for hit in engine.knn(vectors(SAMPLE)[0], 1)] == [SAMPLE[0].id]


def test_deleted_functions_are_gone_from_every_search(store: Store, name: str) -> None:
    build(store, name)
    gone = SAMPLE[0]
    with store.begin(name, [ENCODER], "g") as writer:
        assert writer.delete([gone.id, "0" * 32]) == 1
        assert writer.delete([gone.id]) == 0
        writer.publish()
    engine = store.open(name)
    assert engine.count() == len(SAMPLE) - 1
    assert engine.fetch([gone.id]) == []
    assert engine.keyword(terms("parse json"), 5) == []
    assert engine.fuzzy("parse_json", 5) == []
    assert gone.id not in {hit.id for hit in engine.knn(vectors([gone])[0], 10)}
    assert not engine.vectors([gone.id]).any()


def test_a_deleted_function_can_come_back(store: Store, name: str) -> None:
    build(store, name)
    with store.begin(name, [ENCODER], "g") as writer:
        writer.delete([SAMPLE[0].id])
        assert write(writer, SAMPLE[:1]) == 1
        assert writer.publish().functions == len(SAMPLE)
    engine = store.open(name)
    assert [hit.id for hit in engine.keyword(terms("parse json"), 5)] == [SAMPLE[0].id]


def test_deleting_a_repository_leaves_the_others(store: Store, name: str) -> None:
    build(store, name)
    with store.begin(name, [ENCODER], "g") as writer:
        write(writer, [function("late", repo="bob/tools", path="late.py")])
        assert writer.delete_repo("bob/tools") == 3
        assert writer.delete_repo("bob/tools") == 0
        assert write(writer, [SAMPLE[3]]) == 1
        writer.publish()
    engine = store.open(name)
    assert engine.count(Filters(repo="bob/tools")) == 1
    assert engine.count() == 5


def test_a_preview_shows_what_was_written_so_far(store: Store, name: str) -> None:
    with store.begin(name, [ENCODER], "f") as writer:
        write(writer, SAMPLE)
        preview = writer.preview()
        assert preview.info.functions == len(SAMPLE)
        assert [id for id, _ in preview.addresses()] == [one.id for one in SAMPLE]
        assert preview.vectors([SAMPLE[0].id]).any()
        preview.close()
        writer.put_artifact("tree", b"made of the preview")
        write(writer, MORE)
        assert writer.publish().functions == len(SAMPLE) + len(MORE)
    engine = store.open(name)
    assert engine.artifact("tree") == b"made of the preview"
    assert engine.count() == len(SAMPLE) + len(MORE)


def test_an_interrupted_build_is_taken_up_from_its_checkpoint(store: Store, name: str) -> None:
    build(store, name, SAMPLE[:2])
    with store.begin(name, [ENCODER], "plan") as writer:
        assert writer.resumed is None
        write(writer, SAMPLE)
        writer.delete([SAMPLE[0].id])
        writer.checkpoint(b"ten")
        write(writer, MORE[:10])
        writer.checkpoint(b"twenty")
        write(writer, MORE[10:20])  # after the checkpoint: to be forgotten
        writer.delete([MORE[0].id, SAMPLE[1].id])
    assert ids_in(store, name) == [one.id for one in SAMPLE[:2]]
    with store.begin(name, [ENCODER], "plan") as writer:
        assert writer.resumed == b"twenty"
        write(writer, MORE[9:25])
        writer.delete([SAMPLE[1].id])
        info = writer.publish()
    expected = {one.id for one in (*SAMPLE[2:], *MORE[1:25])} | ({MORE[0].id} & set(ids_in(store, name)))
    assert set(ids_in(store, name)) == expected
    assert len(ids_in(store, name)) == info.functions == len(expected)


def test_another_plan_does_not_take_up_an_interrupted_build(store: Store, name: str) -> None:
    build(store, name)
    with store.begin(name, [ENCODER], "plan") as writer:
        write(writer, MORE)
        writer.checkpoint(b"state")
    for fingerprint, encoders in (("other plan", [ENCODER]), ("plan", [OTHER_ENCODER])):
        with store.begin(name, encoders, fingerprint) as writer:
            assert writer.resumed is None
    with store.begin(name, [ENCODER], "plan") as writer:
        assert writer.resumed is None
        assert writer.publish().functions == len(SAMPLE)


def test_an_abandoned_build_leaves_the_current_one(store: Store, name: str) -> None:
    build(store, name)
    with store.begin(name, [ENCODER], "g") as writer:
        write(writer, MORE)
        writer.checkpoint(b"state")
        writer.abandon()
    assert ids_in(store, name) == [one.id for one in SAMPLE]
    with store.begin(name, [ENCODER], "g") as writer:
        assert writer.resumed is None


def test_a_second_writer_is_refused(store: Store, name: str) -> None:
    with store.begin(name, [ENCODER], "f") as writer:
        with pytest.raises(InputError, match="is being written"):
            store.begin(name, [ENCODER], "f")
        write(writer, SAMPLE)
        assert writer.publish().functions == len(SAMPLE)
    build(store, name, MORE)


def test_generations_roll_back_and_are_pruned(store: Store, name: str) -> None:
    for count in (2, 3, 4, 5):
        build(store, name, SAMPLE[:count])
    assert [info.functions for info in store.generations(name)] == [5, 4, 3, 2]
    assert store.current(name) == "000004"
    assert store.info(name) == store.generations(name)[0]
    assert store.roll_back(name).functions == 4
    assert len(ids_in(store, name)) == 4
    assert store.prune(name) == ["000004", "000001"]
    assert [info.generation for info in store.generations(name)] == ["000003", "000002"]
    assert store.prune(name, keep=1) == ["000002"]
    assert len(ids_in(store, name)) == 4
    with pytest.raises(InputError, match="no generation before 000003"):
        store.roll_back(name)
    assert build(store, name).generation == "000004"


def test_a_roll_back_never_leads_to_a_generation_that_was_rejected(store: Store, name: str) -> None:
    for count in (1, 2):
        build(store, name, SAMPLE[:count])
    assert store.roll_back(name).generation == "000001"
    assert [(info.generation, info.rolled_back) for info in store.generations(name)] == [
        ("000002", True),
        ("000001", False),
    ]
    with store.begin(name, [ENCODER], "g") as writer:
        write(writer, MORE)
        assert writer.publish().generation == "000003"
    assert not store.generations(name)[0].rolled_back
    assert store.roll_back(name).generation == "000001"
    build(store, name, SAMPLE[:4])
    assert store.roll_back(name).functions == 1
    with pytest.raises(InputError, match="no generation before 000001"):
        store.roll_back(name)
    assert len(ids_in(store, name)) == 1


def test_what_was_rejected_does_not_count_among_the_generations_to_keep(store: Store, name: str) -> None:
    for count in (1, 2, 3):
        build(store, name, SAMPLE[:count])
    store.roll_back(name)
    build(store, name, SAMPLE[:4])
    assert store.prune(name) == ["000003", "000001"]


def test_what_began_from_a_generation_that_was_rolled_back_is_not_published(store: Store, name: str) -> None:
    build(store, name)
    build(store, name, fresh=False, fingerprint="g")
    with store.begin(name, [ENCODER], "h") as writer:
        write(writer, MORE)
        before = store.roll_back(name)
        with pytest.raises(TreelineError, match="rolled back"):
            writer.publish()
    assert store.current(name) == before.generation
    with store.begin(name, [ENCODER], "i") as writer:  # removes the complete one that never was current
        assert writer.publish().functions == len(SAMPLE)
    assert store.roll_back(name).generation == before.generation


def test_a_dropped_index_is_gone(store: Store, name: str) -> None:
    build(store, name)
    store.drop(name)
    assert name not in store.names()
    with pytest.raises(IndexMissing):
        store.open(name)
    assert build(store, name).functions == len(SAMPLE)


def test_an_empty_index_answers(store: Store, name: str) -> None:
    build(store, name, [])
    engine = store.open(name)
    assert engine.keyword(terms("sort"), 5) == engine.fuzzy("sort", 5) == engine.knn(vectors(SAMPLE)[0], 5) == []
    assert (engine.count(), list(engine.scan()), engine.fetch([SAMPLE[0].id])) == (0, [], [])
    assert not engine.vectors([SAMPLE[0].id]).any()
    with store.begin(name, [ENCODER], "g") as writer:
        write(writer, SAMPLE)
        assert writer.publish().functions == len(SAMPLE)


def test_searches_go_on_while_generations_are_swapped(store: Store, name: str) -> None:
    """Every answer is whole: of the old generation or of the new one, never of something between."""
    build(store, name, SAMPLE[:1])
    whole = {tuple(sorted(one.id for one in SAMPLE[:count])) for count in (1, 3, 5)}
    seen: set[tuple[str, ...]] = set()
    failures: list[BaseException] = []
    stop = threading.Event()

    def search() -> None:
        try:
            while not stop.is_set():
                engine = store.open(name)
                for _ in range(3):
                    found = tuple(sorted(hit.id for hit in engine.keyword(terms("return value loads text"), 10)))
                    near = tuple(sorted(hit.id for hit in engine.knn(vectors(SAMPLE)[0], 10)))
                    assert found in whole, found
                    assert near == found
                    seen.add(found)
                engine.close()
        except (AssertionError, TreelineError, OSError, ValueError) as error:
            failures.append(error)

    def until_seen(count: int) -> None:
        """Some search has seen the generation with so many."""
        seen.clear()
        until(lambda: failures or count in map(len, tuple(seen)))
        assert failures == []

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        until_seen(1)
        for count in (3, 5):
            build(store, name, SAMPLE[:count])
            until_seen(count)
        for count in (3, 1):
            store.roll_back(name)
            until_seen(count)
        build(store, name, SAMPLE[:5], fingerprint="last")
        until_seen(5)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert failures == []
