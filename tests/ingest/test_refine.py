"""Refinement: static vectors become deep ones later, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.encoder.deep_model import write_model
from tests.ingest.loading import NAME, functions, loaded, project, record, records_file
from treeline.corpus.errors import DiskFull, InputError
from treeline.corpus.function import Function
from treeline.encoder.cache import CachedEncoder
from treeline.encoder.deep import DeepEncoder
from treeline.encoder.protocol import Vectors
from treeline.encoder.registry import load
from treeline.encoder.static import StaticEncoder
from treeline.engine.embedded import EmbeddedStore, writer
from treeline.engine.embedded.engine import EmbeddedEngine
from treeline.ingest import refine as module
from treeline.ingest.journal import fingerprint
from treeline.ingest.refine import Refinement, refine, refinement
from treeline.search import live
from treeline.search.live import LiveSearcher

ROOT = Path(__file__).parent.parent.parent
FILES = {f"file{n}.py": f"def sell_{n}(count):\n    return count * PRICES[{n}]\n" for n in range(12)}
# Refines, and kills itself when so many units are read, or when the new generation is about to become current.
REFINER = """
import os, signal, sys
from pathlib import Path
from treeline.encoder.registry import load
from treeline.engine.embedded import EmbeddedStore, writer
from treeline.ingest import refine

home, model, moment = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
refine.READ_AT_ONCE = 3

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def look(stage, done, total):
    if moment.isdigit() and done >= int(moment):
        die()

if moment == "pointing":
    written = writer.write_atomically
    writer.write_atomically = lambda path, data: die() if path.name == "current" else written(path, data)
elif moment == "merging":
    writer.RowsBuilder.merge = die
refine.refine(EmbeddedStore(home), "small", load(model, home / ".loading" / "vectors.sqlite"), home / ".loading", look)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An index with static vectors."""
    loaded(tmp_path / "home", project(tmp_path / "shop", FILES))
    return tmp_path / "home"


class Reading:
    """A cached deep encoder that counts what it reads."""

    def __init__(self, home: Path, model: Path) -> None:
        cached = load(str(model), home / ".loading" / "vectors.sqlite")
        assert isinstance(cached, CachedEncoder)
        self.encoder, self.read = cached, 0
        inner = cached._encoder
        encode = inner.encode_functions

        def count(some: list[Function]) -> object:
            self.read += len(some)
            return encode(some)

        inner.encode_functions = count  # type: ignore[assignment,method-assign]


@pytest.fixture
def reading(home: Path, model: Path) -> Iterator[Reading]:
    reader = Reading(home, model)
    yield reader
    reader.encoder.close()


def refined(home: Path, reader: Reading, **options: object) -> Refinement:
    return refine(EmbeddedStore(home), NAME, reader.encoder, home / ".loading", **options)  # type: ignore[arg-type]


def deep_names(home: Path, model: Path) -> set[str]:
    """The units whose vectors are deep; all others must have static ones."""
    units = list(functions(home).values())
    deep, static = DeepEncoder(model).encode_functions(units), StaticEncoder.shipped().encode_functions(units)
    with closing(EmbeddedStore(home).open(NAME)) as engine:
        vectors = engine.vectors([unit.id for unit in units])
    found = set()
    for unit, vector, one, other in zip(units, vectors, deep, static, strict=True):
        assert not np.allclose(one, other, atol=5e-3)
        is_deep = bool(np.allclose(vector, one, atol=2e-3))
        assert is_deep or np.allclose(vector, other, atol=2e-3), unit.func_name
        if is_deep:
            found.add(unit.func_name)
    return found


def generation(home: Path) -> str:
    return EmbeddedStore(home).current(NAME)


def test_every_unit_gets_its_deep_vector_and_nothing_else_changes(home: Path, model: Path, reading: Reading) -> None:
    store = EmbeddedStore(home)
    units = functions(home)
    assert refinement(store, NAME) == Refinement("", 0, len(FILES))
    steps: list[tuple[str, int, int]] = []
    done = refined(home, reading, progress=lambda *step: steps.append(step))
    assert done == Refinement(str(model), len(FILES), len(FILES)) == refinement(store, NAME)
    assert steps[-1] == ("refining", len(FILES), len(FILES))
    assert functions(home) == units
    assert len(deep_names(home, model)) == len(FILES)
    with closing(store.open(NAME)) as engine:
        assert [spec.name for spec in engine.info.encoders] == [StaticEncoder.shipped().name]
        assert len(engine.keyword(["sell"], 100)) == len(FILES)
    before = generation(home)
    refined(home, reading)
    assert generation(home) == before and reading.read == len(FILES)


def test_idle_reading_gives_the_same(home: Path, model: Path, reading: Reading) -> None:
    assert refined(home, reading, idle=True).is_complete
    assert len(deep_names(home, model)) == len(FILES)


@pytest.mark.parametrize(("moment", "left"), [("6", 6), ("merging", 0), ("pointing", 0)])
def test_a_killed_refinement_leaves_the_index_whole_and_continues(
    home: Path, model: Path, reading: Reading, moment: str, left: int
) -> None:
    before = generation(home)
    words = [sys.executable, "-c", REFINER, str(home), str(model), moment]
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    assert generation(home) == before and deep_names(home, model) == set()
    assert refined(home, reading).is_complete
    assert reading.read == left
    assert len(deep_names(home, model)) == len(FILES)


def test_edits_during_a_refinement_are_read_too(
    home: Path, model: Path, reading: Reading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_AT_ONCE", 3)
    edits = [{"file1.py": "def buy(count):\n    return -count\n", "new.py": "def new(count):\n    return count + 1\n"}]

    def edit(_stage: str, done: int, _total: int) -> None:
        if done >= 6 and edits:
            project(tmp_path / "shop", edits.pop())
            (tmp_path / "shop" / "file2.py").unlink()
            loaded(home, tmp_path / "shop")

    assert refined(home, reading, progress=edit).is_complete
    names = {f"sell_{n}" for n in range(12)} - {"sell_1", "sell_2"} | {"buy", "new"}
    assert deep_names(home, model) == names
    assert reading.read == len(FILES) + 2


def test_a_changed_unit_has_a_static_vector_until_the_next_refinement(
    home: Path, model: Path, reading: Reading, tmp_path: Path
) -> None:
    refined(home, reading)
    store, everything = EmbeddedStore(home), {f"sell_{n}" for n in range(12)}
    for text, name in ((FILES["file3.py"] + "\n# changed\n", "sell_3"), (FILES["file3.py"], "sell_3")):
        body = text.replace("count *", "2 *") if "changed" in text else text
        project(tmp_path / "shop", {"file3.py": body})
        loaded(home, tmp_path / "shop")
        assert deep_names(home, model) == everything - {name}
        assert refinement(store, NAME) == Refinement(str(model), 11, 12)
    assert refined(home, reading).is_complete
    assert deep_names(home, model) == everything
    assert reading.read == len(FILES)  # the unit as it was is in the cache


def test_half_refined_every_unit_is_ranked_by_its_own_cosine_with_one_question(
    home: Path, model: Path, reading: Reading, tmp_path: Path
) -> None:
    refined(home, reading)
    project(tmp_path / "shop", {f"other{n}.py": f"def buy_{n}(count):\n    return {n} - count\n" for n in range(12)})
    loaded(home, tmp_path / "shop")
    units = list(functions(home).values())
    deep, static = DeepEncoder(model).encode_functions(units), StaticEncoder.shipped().encode_functions(units)
    known = np.array([unit.func_name.startswith("sell") for unit in units])
    assert known.sum() == len(units) / 2
    question = StaticEncoder.shipped().encode_queries(["sell or buy by the count"])[0]
    wanted = np.where(known, deep @ question, static @ question)
    with closing(EmbeddedStore(home).open(NAME)) as engine:
        hits = engine.knn(question, len(units))
    found = {hit.id: hit.score for hit in hits}
    assert np.allclose([found[unit.id] for unit in units], wanted, atol=2e-3)


def test_another_version_of_the_encoder_refines_all_again(home: Path, reading: Reading, tmp_path: Path) -> None:
    refined(home, reading)
    other = write_model(tmp_path / "other", seed=1)
    encoder = load(str(other))
    assert encoder is not None
    assert refinement(EmbeddedStore(home), NAME, encoder.name) == Refinement(str(other), 0, 12)
    refine(EmbeddedStore(home), NAME, encoder, home / ".loading")
    assert len(deep_names(home, other)) == len(FILES)


def test_an_interrupted_load_is_left_alone(home: Path, reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    made_by = fingerprint(EmbeddedStore(home).current(NAME), ["some sources"])
    journal = home / ".loading" / f"{NAME}-{made_by}.journal"
    journal.touch()
    with pytest.raises(InputError, match="is not finished"):
        refined(home, reading)
    journal.rename(home / ".loading" / f"{NAME}-other-{made_by}.journal")
    assert refined(home, reading).is_complete
    assert reading.read == len(FILES)


def test_the_journal_of_a_load_that_published_does_not_stop_it(
    home: Path, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load failed when it removed its journal. No load resumes that, so it would stop refinements for good."""
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    (home / ".loading" / f"{NAME}-{fingerprint('', ['some sources'])}.journal").touch()
    assert refined(home, reading).is_complete


def test_a_full_disk_is_said_and_nothing_of_the_swap_stays(
    home: Path, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(DiskFull):
        patched.setattr(writer, "write_manifest", fail)
        refined(home, reading)
    assert not (home / NAME / "building").exists()
    assert refined(home, reading).is_complete
    assert reading.read == len(FILES)


def test_a_unit_that_the_index_does_not_give_back_is_left_out_and_said(
    home: Path, model: Path, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = next(id for id, unit in functions(home).items() if unit.func_name == "sell_3")
    fetch, calls = EmbeddedEngine.fetch, list[int]()

    def fetch_others(self: EmbeddedEngine, ids: list[str]) -> list[Function]:
        calls.append(len(ids))
        assert len(calls) < 10, "it does not end"
        return [unit for unit in fetch(self, ids) if unit.id != lost]

    with monkeypatch.context() as patched:
        patched.setattr(EmbeddedEngine, "fetch", fetch_others)
        done = refined(home, reading)
        assert (done.refined, done.is_complete) == (len(FILES) - 1, False)
        assert done.problem == "1 unit cannot be read from the index (index it again with `--fresh`)"
        before = generation(home)
        assert refined(home, reading) == done
        assert generation(home) == before  # nothing was there to swap in
    assert len(deep_names(home, model)) == len(FILES) - 1
    assert refined(home, reading).is_complete


def test_the_space_of_read_vectors_is_reserved(tmp_path: Path) -> None:
    """A hole in a file that is mapped into memory ends the process with SIGBUS when the disk is full."""
    with closing(module._ReadVectors(tmp_path, 1_000, 256)) as vectors:
        assert os.fstat(vectors._file.fileno()).st_blocks * 512 >= 1_000 * 256 * 2


def test_a_running_load_is_waited_for(home: Path, reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    store = EmbeddedStore(home)
    with store.begin(NAME, store.info(NAME).encoders, "load"), pytest.raises(InputError, match="another process"):
        refined(home, reading)
    assert refined(home, reading).is_complete


def test_an_index_without_static_vectors_cannot_be_refined(tmp_path: Path, model: Path) -> None:
    loaded(tmp_path, records_file(tmp_path / "one.jsonl", [record("one")]), encoders=("none",))
    assert refinement(EmbeddedStore(tmp_path), NAME) is None
    encoder = load(str(model))
    assert encoder is not None
    with pytest.raises(InputError, match="made with encoder none"):
        refine(EmbeddedStore(tmp_path), NAME, encoder, tmp_path / ".loading")


def test_questions_are_deep_once_every_unit_is_and_static_while_one_is_not(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = write_model(tmp_path / "asks", questions=True)
    deep, static = DeepEncoder(model), StaticEncoder.shipped()
    asked = "sell apples by the count"

    def asking() -> Vectors:
        with closing(LiveSearcher(EmbeddedStore(home), NAME)) as opened, opened.searcher() as searcher:
            vector: Vectors = searcher.encoders[static.name].encode_queries([asked])[0]
            return vector

    wanted = {"static": static.encode_queries([asked])[0], "deep": deep.encode_queries([asked])[0]}
    assert not np.allclose(wanted["static"], wanted["deep"], atol=1e-3)
    assert np.array_equal(asking(), wanted["static"])
    reader = Reading(home, model)
    refined(home, reader)
    assert np.allclose(asking(), wanted["deep"])
    project(tmp_path / "shop", {"other.py": "def buy(count):\n    return 7 - count\n"})
    loaded(home, tmp_path / "shop")
    assert np.array_equal(asking(), wanted["static"])
    refined(home, reader)
    assert np.allclose(asking(), wanted["deep"])
    reader.encoder.close()
    (model / "deep.onnx").unlink()  # answers go on without the model, and the log says so
    assert np.array_equal(asking(), wanted["static"]) and "are read by static" in caplog.text


def test_a_deep_encoder_that_was_away_reads_questions_when_it_is_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write_model(tmp_path / "asks", questions=True)
    deep, static = DeepEncoder(model), StaticEncoder.shipped()
    reader = Reading(home, model)
    refined(home, reader)
    reader.encoder.close()
    asked = ["sell apples by the count"]
    wanted = deep.encode_queries(asked)
    model.rename(tmp_path / "away")
    monkeypatch.setattr(live, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(live, "LOOK_FOR", 60.0)
    monkeypatch.setattr(live, "RETRY_ENCODER", 0.0)
    with closing(LiveSearcher(EmbeddedStore(home), NAME)) as searcher:
        for _ in range(2):
            with searcher.searcher() as current:
                assert not np.allclose(current.encoders[static.name].encode_queries(asked), wanted, atol=1e-3)
        (tmp_path / "away").rename(model)
        with searcher.searcher() as current:
            assert np.allclose(current.encoders[static.name].encode_queries(asked), wanted)
