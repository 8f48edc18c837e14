"""Bringing an index up to date: only what changed is read, what is gone disappears, vectors stay with their text."""

from pathlib import Path

import numpy as np
import pytest

from corpus.errors import InputError
from encoder.static import StaticEncoder
from engine.embedded import EmbeddedStore
from ingest.source import ReadOptions
from tests.ingest.loading import NAME, functions, loaded, names, project, record, records_file

START = {
    "a.py": "def stays():\n    return 'the same'\n\n\ndef goes():\n    return 'away'\n",
    "b.py": "def other():\n    return 'untouched'\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    loaded(tmp_path / "home", project(tmp_path / "demo", START))
    return tmp_path / "home"


def test_an_edit_changes_only_its_function(home: Path, tmp_path: Path) -> None:
    text = START["a.py"].replace("'away'", "'back'")
    summary = loaded(home, project(tmp_path / "demo", {"a.py": text}))
    assert (summary.indexed, summary.unchanged, summary.removed) == (1, 2, 1)
    assert summary.units == {"read": 1, "unchanged": 1, "removed": 0}
    assert names(home) == ["goes", "other", "stays"]


def test_a_function_that_only_moved_keeps_its_vector_and_gets_its_new_lines(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {function.func_name: function for function in functions(home).values()}
    engine = EmbeddedStore(home).open(NAME)
    vector = engine.vectors([before["stays"].id])
    encoded: list[str] = []
    original = StaticEncoder.encode_functions

    def counted(self: StaticEncoder, given: list[object]) -> object:
        encoded.extend(function.func_name for function in given)  # type: ignore[attr-defined]
        return original(self, given)  # type: ignore[arg-type]

    monkeypatch.setattr(StaticEncoder, "encode_functions", counted)
    text = "def new():\n    return 'on top'\n\n\n" + START["a.py"]
    summary = loaded(home, project(tmp_path / "demo", {"a.py": text}))
    assert encoded == ["new"]
    assert (summary.indexed, summary.updated, summary.unchanged, summary.removed) == (1, 2, 1, 0)
    after = {function.func_name: function for function in functions(home).values()}
    assert before["stays"].address.lines == (1, 2)
    assert after["stays"].address.lines == (5, 6)
    again = EmbeddedStore(home).open(NAME)
    np.testing.assert_allclose(again.vectors([after["stays"].id]), vector, atol=1e-6)
    engine.close()
    again.close()


def test_a_removed_file_takes_its_functions_with_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "demo" / "a.py").unlink()
    summary = loaded(home, tmp_path / "demo")
    assert names(home) == ["other"]
    assert summary.removed == 2
    assert summary.units == {"read": 0, "unchanged": 1, "removed": 1}


def test_a_function_that_another_source_also_has_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = records_file(tmp_path / "first.jsonl", [record("shared"), record("own")])
    second = records_file(tmp_path / "second.jsonl", [record("shared")])
    assert loaded(home, first, second).duplicate == 1
    loaded(home, remove=(str(first),))
    assert names(home) == ["shared"]


def test_the_call_graph_of_unchanged_files_survives_an_update(tmp_path: Path) -> None:
    from graph import callgraph

    home = tmp_path / "home"
    files = {"lib.py": "def helper():\n    return 1\n\n\ndef caller():\n    return helper()\n", "b.py": START["b.py"]}
    loaded(home, project(tmp_path / "demo", files))
    loaded(home, project(tmp_path / "demo", {"b.py": "def changed():\n    return 2\n"}))
    engine = EmbeddedStore(home).open(NAME)
    stored = engine.artifact("callgraph")
    ids = {address.func_name: id_ for id_, address in engine.addresses()}
    engine.close()
    assert stored is not None
    graph = callgraph.load(stored)
    caller = graph.node_of(ids["caller"])
    assert caller is not None
    called = [graph.ids(step.node) for step in graph.walk([caller], ["calls"], "out")]
    assert called == [[ids["helper"]]]


def test_the_generation_before_can_be_had_back(home: Path, tmp_path: Path) -> None:
    (tmp_path / "demo" / "a.py").unlink()
    loaded(home, tmp_path / "demo")
    EmbeddedStore(home).roll_back(NAME)
    assert names(home) == ["goes", "other", "stays"]
    # What is current counts, not what was last made: the files are looked at again.
    assert loaded(home, tmp_path / "demo").removed == 2
    assert names(home) == ["other"]


def test_two_folders_may_have_files_at_the_same_path(tmp_path: Path) -> None:
    one = project(tmp_path / "one", {"src/a.py": "def of_one():\n    return 1\n"})
    two = project(tmp_path / "two", {"src/a.py": "def of_two():\n    return 2\n"})
    summary = loaded(tmp_path / "home", one, two)
    assert (summary.indexed, names(tmp_path / "home")) == (2, ["of_one", "of_two"])
    summary = loaded(tmp_path / "home", project(tmp_path / "two", {"src/a.py": "def edited():\n    return 3\n"}))
    assert (summary.indexed, names(tmp_path / "home")) == (1, ["edited", "of_one"])


def test_a_source_that_has_become_empty_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    home, source = tmp_path / "home", records_file(tmp_path / "some.jsonl", [record("kept")])
    loaded(home, source)
    source.write_text("no record\n", encoding="utf-8")
    for fresh in (False, True):
        with pytest.raises(InputError, match="would become empty, so it stays as it was"):
            loaded(home, source, fresh=fresh)
        assert names(home) == ["kept"]
    records_file(source, [record("kept"), record("more")])
    loaded(home, source)
    assert names(home) == ["kept", "more"]


def test_folders_of_one_name_are_repositories_of_their_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shop, bank = (
        project(tmp_path / above / "src", {"m.py": "def pay():\n    return 1\n"}) for above in ("shop", "bank")
    )

    def repositories() -> list[str]:
        return sorted(function.repo for function in functions(home).values())

    loaded(home, shop)
    assert repositories() == ["src"]
    loaded(home, bank)
    assert repositories() == ["bank/src", "src"]
    loaded(home, shop, bank)
    assert repositories() == ["bank/src", "shop/src"]
    assert loaded(home, shop, bank).units == {"read": 0, "unchanged": 2, "removed": 0}
    loaded(home, bank, remove=(str(shop),))
    assert repositories() == ["src"]


def test_what_is_passed_over_comes_and_goes_with_the_wish_for_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    demo = project(
        tmp_path / "demo", {"a.py": "def a():\n    return 1\n", "b.py": f"# {'x' * 200_000}\ndef b(): pass\n"}
    )
    for wanted, expected in ((False, ["a"]), (True, ["a", "b"]), (False, ["a"])):
        loaded(home, demo, read=ReadOptions(include_tests=wanted))
        assert names(home) == expected
