"""Worktrees, clones and branches of a repository share what was read of it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from tests.ingest.loading import functions, project
from tests.ingest.test_project import git, no_ticks, refreshed
from treeline.corpus.function import Function
from treeline.engine.embedded.store import EmbeddedStore
from treeline.engine.texts import FileTexts
from treeline.graph.history import History, history_file
from treeline.ingest import history
from treeline.ingest import project as projects
from treeline.ingest.project import Project, find_project, left_to_read, listed, refresh
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.folder import FileChunk
from treeline.ingest.workers import load_encoders
from treeline.search.query import Query
from treeline.search.searcher import Searcher

assert no_ticks  # an automatic fixture

FILES = {
    f"{name}/part {number}.py": f'def {name}_{number}(x):\n    """The {name} of {number}."""\n    return x + {number}\n'
    for name in ("sum", "tax", "fee")
    for number in range(4)
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> EmbeddedStore:
    return EmbeddedStore(home)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = project(tmp_path / "code" / "shop", FILES)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "all")
    return folder


@pytest.fixture
def copy(root: Path, store: EmbeddedStore, home: Path) -> Path:
    """A worktree of an indexed repository, with an edited, a new and a deleted file."""
    refreshed(root, store, home)
    folder = root.parent / "other"
    git(root, "worktree", "add", "--quiet", str(folder))
    (folder / "sum" / "part 0.py").write_text("def edited(x):\n    return x\n", encoding="utf-8")
    (folder / "new.py").write_text("def added(x):\n    return x\n", encoding="utf-8")
    (folder / "tax" / "part 1.py").unlink()
    return folder


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are parsed."""
    parse, paths = FileChunk.parse, []

    def note(self: FileChunk) -> object:
        paths.append(self.location.path)
        return parse(self)

    monkeypatch.setattr(FileChunk, "parse", note)
    return paths


def units(home: Path, folder: Path) -> dict[str, Function]:
    return functions(home, find_project(folder, home).index)


def vectors(home: Path, one: Project, ids: list[str]) -> np.ndarray:
    with closing(EmbeddedStore(home).open(one.index)) as engine:
        return np.asarray(engine.vectors(ids))


def answers(home: Path, one: Project) -> Mapping[str, list[tuple[str, str]]]:
    with closing(EmbeddedStore(home).open(one.index)) as engine:
        searcher = Searcher(engine, load_encoders([spec.name for spec in engine.info.encoders]))
        return {
            text: [(hit.function.id, hit.function.url) for hit in searcher.search(Query(text)).results]
            for text in ("the tax of 2", "edited", "fee_3", "adds a number")
        }


def test_a_worktree_reads_only_what_differs(copy: Path, store: EmbeddedStore, home: Path, reads: list[str]) -> None:
    assert refreshed(copy, store, home).is_new
    assert sorted(reads) == ["new.py", "sum/part 0.py"]


def test_what_no_copy_has_is_left_to_read(copy: Path, home: Path) -> None:
    one = find_project(copy, home)
    sizes = [len((copy / path).read_bytes()) for path in ("new.py", "sum/part 0.py")]
    assert left_to_read(one, listed(one, ReadOptions()), home) == sum(sizes)


def test_an_index_that_shares_is_as_one_that_does_not(
    copy: Path, store: EmbeddedStore, home: Path, tmp_path: Path
) -> None:
    refreshed(copy, store, home)
    alone = tmp_path / "alone"
    refreshed(copy, EmbeddedStore(alone), alone)
    shared = units(home, copy)
    assert shared == units(alone, copy)
    assert all(one.url.startswith(f"file://{quote(str(copy))}/") for one in shared.values())
    one, ids = find_project(copy, home), sorted(shared)
    assert np.array_equal(vectors(home, one, ids), vectors(alone, one, ids))
    assert answers(home, one) == answers(alone, one)
    with closing(store.open(one.index)) as engine, closing(EmbeddedStore(alone).open(one.index)) as other:
        texts = [
            {path: one.read("shop", path) for path in (*FILES, "new.py")} for one in map(FileTexts, (engine, other))
        ]
    assert texts[0] == texts[1]
    assert [path for path, content in texts[0].items() if content is None] == ["tax/part 1.py"]


def test_a_clone_shares_and_the_first_copy_stays_as_it_is(
    root: Path, store: EmbeddedStore, home: Path, reads: list[str]
) -> None:
    refreshed(root, store, home)
    before = units(home, root)
    clone = root.parent / "clone"
    git(root.parent, "clone", "--quiet", str(root), str(clone))
    reads.clear()
    refreshed(clone, store, home)
    assert not reads
    assert units(home, root) == before
    shutil.rmtree(root)
    assert {one.func_name for one in units(home, clone).values()} == {one.func_name for one in before.values()}
    assert store.verify(find_project(clone, home).index) == {"000002": ()}


def test_a_copy_has_the_history_without_reading_it_again(
    copy: Path, root: Path, store: EmbeddedStore, home: Path
) -> None:
    history.update(home, find_project(root, home).index, {"shop": root})
    refreshed(copy, store, home)
    with closing(History(history_file(home, find_project(copy, home).index))) as own:
        assert {repo: one.root for repo, one in own.repositories().items()} == {"shop": copy}


def test_what_a_copy_ignores_is_not_in_its_index(copy: Path, store: EmbeddedStore, home: Path) -> None:
    (copy / ".treelineignore").write_text("fee/\n", encoding="utf-8")
    refreshed(copy, store, home)
    assert not [one for one in units(home, copy).values() if one.path.startswith("fee/")]


def test_a_fresh_index_reads_everything_again(copy: Path, store: EmbeddedStore, home: Path, reads: list[str]) -> None:
    refreshed(copy, store, home)
    reads.clear()
    refresh(find_project(copy, home), store, home, fresh=True)
    assert len(reads) == len(FILES)


def test_other_rules_about_secrets_share_nothing(
    copy: Path, store: EmbeddedStore, home: Path, reads: list[str]
) -> None:
    refresh(find_project(copy, home), store, home, ReadOptions(index_secrets=True))
    assert len(reads) == len(FILES)


def test_an_unrelated_folder_of_the_name_shares_nothing(
    root: Path, store: EmbeddedStore, home: Path, tmp_path: Path
) -> None:
    refreshed(root, store, home)
    other = project(tmp_path / "elsewhere" / "shop", {"a.py": "def a(x):\n    return x\n"})
    assert refreshed(other, store, home).files == 1
    assert {one.func_name for one in units(home, other).values() if one.kind == "function"} == {"a"}


@pytest.mark.parametrize("part", ["rows/vectors*", "artifacts/files-*", "artifacts/state"])
def test_a_damaged_copy_is_as_if_it_were_not_there(
    part: str, copy: Path, root: Path, store: EmbeddedStore, home: Path, reads: list[str]
) -> None:
    reads.clear()
    index = home / find_project(root, home).index / "000001"
    file = max(index.glob(part), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 255
    file.write_bytes(bytes(data))
    refreshed(copy, EmbeddedStore(home), home)
    assert set(reads) == {*FILES, "new.py"} - {"tax/part 1.py"}
    assert not any(EmbeddedStore(home).verify(find_project(copy, home).index).values())


def test_going_back_to_a_branch_reads_nothing_again(
    root: Path, store: EmbeddedStore, home: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "MANY_FILES", 3)
    first = refreshed(root, store, home)
    git(root, "checkout", "--quiet", "-b", "feature")
    for path in list(FILES)[:5]:
        (root / path).write_text(f"def changed_{len(path)}(x):\n    return x\n", encoding="utf-8")
    git(root, "commit", "--quiet", "-am", "feature")
    refreshed(root, store, home)
    feature = units(home, root)
    reads.clear()
    git(root, "checkout", "--quiet", "main")
    assert refreshed(root, store, home).changed == 5
    assert len(units(home, root)) == len(functions(home, first.project.index))
    git(root, "checkout", "--quiet", "feature")
    refreshed(root, store, home)
    assert not reads
    assert units(home, root) == feature


def test_no_more_branches_are_held_than_the_setting_says(
    root: Path, store: EmbeddedStore, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "MANY_FILES", 3)
    one = find_project(root, home)
    for number in range(4):
        for path in list(FILES)[:5]:
            (root / path).write_text(f"def state_{number}(x):\n    return x\n", encoding="utf-8")
        refresh(one, store, home, ReadOptions(branches=1))
    assert len(store.generations(one.index)) == 2
