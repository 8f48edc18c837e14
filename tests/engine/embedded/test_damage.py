"""Damage to an index's files is named, and never answered from."""

import os
import random
import shutil
from pathlib import Path

import pytest

from tests.engine.embedded.test_store import MANY
from tests.engine.functions import ENCODER, SAMPLE, build, vectors, write
from tests.survival.faults import damage
from treeline.corpus.analysis import terms
from treeline.corpus.errors import IndexDamaged, InputError, TreelineError
from treeline.engine.embedded import EmbeddedStore, manifest
from treeline.engine.embedded.engine import EmbeddedEngine
from treeline.engine.embedded.manifest import Manifest

ROUNDS = 150  # the torture plays thousands
ARTIFACTS = {"callgraph": b"who calls whom" * 100, "tree": b"oak"}


def of_two_generations(home: Path) -> EmbeddedStore:
    store = EmbeddedStore(home)
    build(store, "x", MANY[:100])
    with store.begin("x", [ENCODER], "g") as writer:
        writer.delete([one.id for one in MANY[:20]])
        write(writer, SAMPLE)
        for name, data in ARTIFACTS.items():
            writer.put_artifact(name, data)
        writer.publish()
    return store


def answers(engine: EmbeddedEngine) -> list[object]:
    """One of everything that an engine can be asked."""
    ids = [one.id for one in (*SAMPLE, *MANY[:30:3])]
    return [
        [(hit.id, round(hit.score, 4), hit.address) for hit in found]
        for found in (
            engine.keyword(terms("parse json value"), 50),
            engine.fuzzy("parse_jsn retrun", 50),
            engine.knn(vectors(SAMPLE)[0], 50),
            engine.named("sort", 5),
            engine.phrase("return value", 50),
            engine.locate(ids),
        )
    ] + [
        engine.fetch(ids),
        engine.suggest("s", 5),
        engine.facets(),
        engine.spellings("json"),
        engine.vectors(ids).tolist(),
    ]


@pytest.mark.parametrize("verified_at_open", [1 << 20, 0])
def test_no_damage_gives_a_traceback_or_an_unsaid_wrong_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verified_at_open: int
) -> None:
    monkeypatch.setattr(manifest, "VERIFIED_AT_OPEN", verified_at_open)
    whole = tmp_path / "whole"
    store = of_two_generations(whole)
    expected = {generation: answers(EmbeddedEngine(whole / "x" / generation)) for generation in ("000001", "000002")}
    files = [name.relative_to(whole) for name in (whole / "x" / "000002").rglob("*") if name.is_file()]
    files = [name for name in files if not name.name.endswith(".lock")]
    chance = random.Random(7)
    for number in range(ROUNDS if verified_at_open else ROUNDS // 3):
        home = tmp_path / f"round-{number}"
        shutil.copytree(whole, home, copy_function=os.link)
        file = chance.choice(files)
        kind = damage(home / file, chance)
        label = f"round {number}: {kind} {file}"
        store = EmbeddedStore(home)
        engine = store.open("x")
        try:
            given = answers(engine)
            artifacts = {name: engine.artifact(name) for name in ARTIFACTS}
        except TreelineError as error:
            assert isinstance(error, IndexDamaged), label
            continue
        finally:
            engine.health.verify()
        served = engine.info.generation
        assert engine.damaged, label
        if served == "000002" and not any(name.startswith("artifacts/") for name in engine.damaged):
            with pytest.raises(IndexDamaged):  # large files: known a moment later
                engine.count()
        else:
            assert given == expected[served], label
            for name, data in artifacts.items():
                assert data in (ARTIFACTS[name], None), label
        engine.close()
        shutil.rmtree(home, ignore_errors=True)


def test_the_last_good_generation_is_served_and_loaded_onto(tmp_path: Path) -> None:
    store = of_two_generations(tmp_path)
    (tmp_path / "x" / "000002" / "rows" / "codes.npy").write_bytes(b"nothing")
    engine = store.open("x")
    assert engine.info.generation == store.info("x").generation == store.current("x") == "000001"
    assert "rows/codes.npy" in engine.damaged[0]
    with store.begin("x", [ENCODER], "g") as writer:
        write(writer, SAMPLE)
        assert writer.publish().functions == 100 + len(SAMPLE)
    engine = store.open("x")
    assert (engine.info.generation, engine.damaged) == ("000003", ())


def test_damage_found_later_makes_the_store_lead_to_the_last_good_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "VERIFIED_AT_OPEN", 0)
    store = of_two_generations(tmp_path)
    target = tmp_path / "x" / "000002" / "rows" / "by_id.npy"
    data = target.read_bytes()
    target.unlink()
    target.write_bytes(data[:-1] + b"\x7f")
    engine = store.open("x")
    engine.health.verify()
    with pytest.raises(IndexDamaged, match=r"rows/by_id\.npy"):
        engine.keyword(["valu"], 1)
    assert store.info("x").generation == "000001"  # which a service that watches for changes opens
    assert "rows/by_id.npy" in store.open("x").damaged[0]


@pytest.mark.parametrize(("file", "byte"), [("codes.npy", b"\x7f"), ("url.utf8.npy", b"\xff")])
def test_hits_read_before_the_verification_ends_name_the_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, byte: bytes
) -> None:
    monkeypatch.setattr(manifest, "VERIFIED_AT_OPEN", 0)
    monkeypatch.setattr(manifest.Health, "verify_in_background", lambda _: None)  # as if it took long
    store = of_two_generations(tmp_path)
    target = tmp_path / "x" / "000002" / "rows" / file
    data = target.read_bytes()
    target.unlink()
    target.write_bytes(data[:128] + byte * (len(data) - 128))  # numpy's header stays
    hits = store.open("x").locate([one.id for one in SAMPLE])
    with pytest.raises(IndexDamaged, match=file):
        list(hits)


def test_the_only_generation_is_refused_by_the_name_of_its_damaged_file(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    build(store, "x")
    (tmp_path / "x" / "000001" / "rows" / "id.npy").unlink()
    for _ in range(2):
        with pytest.raises(IndexDamaged, match=r"rows/id\.npy"):
            store.open("x")
    with pytest.raises(IndexDamaged):
        store.begin("x", [ENCODER], "f")
    build(store, "x", fresh=True)
    assert store.open("x").count() == len(SAMPLE)


def test_damaged_side_products_are_left_out_and_reported(tmp_path: Path) -> None:
    store = of_two_generations(tmp_path)
    (tmp_path / "x" / "000002" / "artifacts" / "callgraph").unlink()
    engine = store.open("x")
    assert engine.damaged == ("artifacts/callgraph",)
    assert engine.artifact("callgraph") is None
    assert engine.artifact("tree") == ARTIFACTS["tree"]
    assert engine.artifact("never written") is None
    assert engine.damaged == ("artifacts/callgraph",)


def test_a_side_product_asked_of_the_store_is_not_answered_from_damage(tmp_path: Path) -> None:
    store = of_two_generations(tmp_path)
    folder = tmp_path / "x" / "000002"
    assert store.artifact("x", "tree") == ARTIFACTS["tree"]
    (folder / "artifacts" / "tree").write_bytes(b"elm")
    assert store.artifact("x", "tree") is None
    (folder / "artifacts" / "tree").unlink()
    assert store.artifact("x", "tree") is None
    assert store.open("x").damaged == ("artifacts/tree",)
    (folder / manifest.FILE).write_bytes(b"")
    assert store.artifact("x", "callgraph") == ARTIFACTS["callgraph"]  # what it was made of helps to rebuild it


def test_verify_names_every_damaged_file_of_every_generation(tmp_path: Path) -> None:
    store = of_two_generations(tmp_path)
    assert store.verify("x") == {"000002": (), "000001": ()}
    target = tmp_path / "x" / "000001" / "rows" / "by_id.npy"
    data = target.read_bytes()
    target.unlink()
    target.write_bytes(data[:-1] + b"\xff")
    assert store.verify("x") == {"000002": (), "000001": ("rows/by_id.npy",)}
    with pytest.raises(InputError, match="no index"):
        store.verify("y")


def test_every_file_is_listed(tmp_path: Path) -> None:
    of_two_generations(tmp_path)
    folder = tmp_path / "x" / "000002"
    listed = Manifest(folder)._files.keys() | {manifest.FILE}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {name for name in there if not name.endswith(".lock")} == listed


def test_a_pointer_that_names_nothing_leads_to_the_newest_generation(tmp_path: Path) -> None:
    store = of_two_generations(tmp_path)
    (tmp_path / "x" / "current").write_bytes(b"\xff00009")
    assert store.open("x").info.generation == "000002"


def test_a_roll_back_never_leads_to_what_a_killed_load_left(tmp_path: Path) -> None:
    store = of_two_generations(tmp_path)
    shutil.copytree(tmp_path / "x" / "000002", tmp_path / "x" / "000003")  # killed before the pointer moved
    with store.begin("x", [ENCODER], "h") as writer:
        writer.publish()
    assert store.roll_back("x").generation == "000002"
    assert store.open("x").info.generation == "000002"
