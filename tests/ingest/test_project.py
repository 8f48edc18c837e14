"""A project's index: found from any folder of it, refreshed by what changed, safe beside others."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.loading import functions, project
from treeline.corpus.errors import InputError
from treeline.engine.embedded.store import EmbeddedStore
from treeline.engine.protocol import Engine, Store
from treeline.graph import callgraph
from treeline.ingest import artifacts, stamps
from treeline.ingest import project as projects
from treeline.ingest.project import Project, Refreshed, find_project, forget, refresh, watch
from treeline.ingest.source import Parsed
from treeline.search import artifacts as search_artifacts
from treeline.search.artifacts import obtain
from treeline.search.executor import Inline
from treeline.search.query import Query
from treeline.search.searcher import Searcher

CODE = "def {0}(x):\n    return {0}_helper(x)\n\n\ndef {0}_helper(x):\n    return x\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Store:
    return EmbeddedStore(home)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that lies outside of any repository, with stamps that are old enough to be trusted."""
    folder = project(tmp_path / "code" / "shop", {"a.py": CODE.format("a"), "pkg/b.py": CODE.format("b")})
    age(folder)
    return folder


def age(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (1_000_000_000, 1_000_000_000), follow_symlinks=False)


@pytest.fixture(autouse=True)
def no_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """ctime cannot be set, so the tests trust the clock of the file system that they run on."""
    monkeypatch.setattr(stamps, "CLOCK_TICK_NS", -1_000_000_000_000)


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True)


def refreshed(root: Path, store: Store, home: Path) -> Refreshed:
    return refresh(find_project(root, home), store, home)


def names(home: Path, found: Project) -> set[str]:
    return {one.func_name for one in functions(home, found.index).values() if one.kind == "function"}


def test_a_folder_in_a_repository_belongs_to_the_repository(root: Path, home: Path) -> None:
    git(root, "init", "--quiet")
    assert find_project(root / "pkg", home).root == root
    assert find_project(root / "pkg" / "b.py", home) == find_project(root, home)


def test_a_worktree_and_a_submodule_are_projects_of_their_own(root: Path, home: Path, tmp_path: Path) -> None:
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "all")
    git(root, "worktree", "add", "--quiet", str(root / "trees" / "other"))
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "--quiet", "add", str(root), "inner")
    assert find_project(root / "trees" / "other" / "pkg", home).root == root / "trees" / "other"
    assert find_project(outer / "inner" / "pkg", home).root == outer / "inner"
    assert find_project(outer, home).root == outer


def test_another_worktree_inside_is_not_read_twice_but_a_submodule_is_read(
    root: Path, store: Store, home: Path, tmp_path: Path
) -> None:
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "all")
    git(root, "worktree", "add", "--quiet", str(root / "trees" / "other"))
    done = refreshed(root, store, home)
    assert (done.files, done.skipped["worktree"]) == (2, 1)
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "--quiet", "add", str(root), "inner")
    assert refreshed(outer, store, home).files == 2


def test_a_folder_inside_an_indexed_one_maps_to_it(root: Path, store: Store, home: Path) -> None:
    inside = root / "pkg"
    assert find_project(inside, home).root == inside
    refreshed(root, store, home)
    assert find_project(inside, home).root == root


def test_the_root_of_the_file_system_is_no_project(home: Path) -> None:
    with pytest.raises(InputError, match="the file system's root, not a project"):
        find_project(Path("/"), home)


def refuse(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Answer as the system does for a folder that may not be entered; the tests may run as root, who may enter all."""
    access, is_file, scandir = os.access, Path.is_file, os.scandir

    def inside(path: int | str | Path) -> bool:
        return not isinstance(path, int) and Path(path).is_relative_to(folder)

    def refused_is_file(path: Path) -> bool:
        if inside(path):
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    def refused_scandir(path: int | str | Path) -> Any:
        if inside(path):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "access", lambda path, mode, **_: not inside(path) and access(path, mode))
    monkeypatch.setattr(Path, "is_file", refused_is_file)
    monkeypatch.setattr(os, "scandir", refused_scandir)


def test_a_folder_that_may_not_be_read_is_no_project(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, root)
    with pytest.raises(InputError, match="may not be read"):
        find_project(root, home)


def test_a_folder_inside_that_may_not_be_read_is_left_out(
    root: Path, store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, root / "pkg")
    done = refreshed(root, store, home)
    assert (done.files, done.skipped["unreadable folder"]) == (1, 1)


def test_folders_of_one_name_have_indexes_of_their_own(root: Path, tmp_path: Path, home: Path) -> None:
    other = project(tmp_path / "more" / "shop", {"c.py": CODE.format("c")})
    assert find_project(root, home).name == find_project(other, home).name == "shop"
    assert find_project(root, home).index != find_project(other, home).index


def test_a_path_that_is_not_there_is_said(tmp_path: Path, home: Path) -> None:
    with pytest.raises(InputError, match="is not there"):
        find_project(tmp_path / "nowhere", home)


def test_what_changed_is_read_and_what_is_gone_goes(root: Path, store: Store, home: Path) -> None:
    first = refreshed(root, store, home)
    assert (first.is_new, first.files) == (True, 2)
    assert first.functions == len(functions(home, first.project.index))
    assert str(first).startswith("shop: indexed 2 files in ")
    again = refreshed(root, store, home)
    assert not again.published
    assert str(again) == "shop: up to date (2 files)"
    (root / "a.py").write_text(CODE.format("changed"))
    (root / "pkg" / "b.py").unlink()
    (root / "c.py").write_text(CODE.format("c"))
    done = refreshed(root, store, home)
    assert (done.changed, done.added, done.removed, done.files) == (1, 1, 1, 2)
    assert "(1 changed, 1 new, 1 deleted of 2 files)" in str(done)
    assert names(home, done.project) == {"changed", "changed_helper", "c", "c_helper"}


def test_only_the_changed_file_is_parsed(root: Path, store: Store, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from treeline.ingest.sources.folder import FileChunk

    refreshed(root, store, home)
    parsed: list[str] = []
    original = FileChunk.parse

    def noted(chunk: FileChunk) -> Parsed:
        parsed.append(chunk.file)
        return original(chunk)

    monkeypatch.setattr(FileChunk, "parse", noted)
    (root / "a.py").write_text(CODE.format("changed"))
    refreshed(root, store, home)
    assert parsed == [str(root / "a.py")]


def test_an_unchanged_project_is_neither_walked_nor_read(
    root: Path, store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treeline.ingest.sources import folder

    refreshed(root, store, home)

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(folder.Folder, "_walk", refuse)
    assert not refreshed(root, store, home).published


def test_a_touched_file_with_the_same_content_makes_no_new_generation(root: Path, store: Store, home: Path) -> None:
    done = refreshed(root, store, home)
    before = store.current(done.project.index)
    os.utime(root / "a.py")
    assert not refreshed(root, store, home).published
    assert store.current(done.project.index) == before


def test_a_file_that_keeps_its_size_and_time_is_found_changed(root: Path, store: Store, home: Path) -> None:
    done = refreshed(root, store, home)
    (root / "a.py").write_text(CODE.format("z"))
    os.utime(root / "a.py", (1_000_000_000, 1_000_000_000))
    assert refreshed(root, store, home).changed == 1
    assert "z" in names(home, done.project)


def test_a_file_as_young_as_the_last_look_is_read_again(
    root: Path, store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may change twice within one tick of the clock, and its stamp stays the same."""
    monkeypatch.setattr(stamps, "CLOCK_TICK_NS", 2_000_000_000)
    done = refreshed(root, store, home)
    with closing(sqlite3.connect(home / projects.FOLDER / f"{done.project.index}.sqlite")) as database:
        database.execute("UPDATE file SET digest = 'what the file was within the same tick'")
        database.commit()
    assert refreshed(root, store, home).changed == 2


def test_a_folder_as_young_as_the_last_look_is_listed_again(
    root: Path, store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "CLOCK_TICK_NS", 3_600_000_000_000)  # an hour, however slow the machine is
    os.utime(root)
    refreshed(root, store, home)
    before = root.stat().st_mtime_ns
    (root / "new.py").write_text(CODE.format("new"))
    os.utime(root, ns=(before, before))
    assert refreshed(root, store, home).added == 1


def test_an_edited_ignore_file_takes_effect(root: Path, store: Store, home: Path) -> None:
    (root / ".treelineignore").write_text("nothing\n")
    refreshed(root, store, home)
    (root / ".treelineignore").write_text("pkg/\n")
    assert refreshed(root, store, home).removed == 1
    (root / ".treelineignore").unlink()
    assert refreshed(root, store, home).added == 1


def test_all_files_gone_make_an_empty_index(root: Path, store: Store, home: Path) -> None:
    done = refreshed(root, store, home)
    for file in root.rglob("*.py"):
        file.unlink()
    assert refreshed(root, store, home).removed == 2
    assert names(home, done.project) == set()


def test_a_huge_folder_is_read_in_part_and_that_is_said(root: Path, store: Store, home: Path) -> None:
    for number in range(5):
        (root / "pkg" / f"m{number}.py").write_text(CODE.format(f"m{number}"))
    done = refresh(find_project(root, home), store, home, max_files=3)
    assert (done.files, done.truncated) == (3, 4)
    assert "the rest is left out" in str(done)
    assert "a" in names(home, done.project), "upper folders come first"
    assert "the rest is left out" in str(refresh(find_project(root, home), store, home, max_files=3))


def test_links_are_not_followed(root: Path, store: Store, home: Path, tmp_path: Path) -> None:
    outside = project(tmp_path / "outside", {"secret.py": CODE.format("secret")})
    (root / "link").symlink_to(outside)
    (root / "secret.py").symlink_to(outside / "secret.py")
    done = refreshed(root, store, home)
    assert (done.files, done.skipped["link"]) == (2, 2)


def test_beside_another_process_the_answer_comes_from_what_is_there(root: Path, store: Store, home: Path) -> None:
    found = refreshed(root, store, home).project
    (root / "a.py").write_text(CODE.format("changed"))
    with stamps.open_state(projects.state_file(found.root, home), home) as database:
        assert stamps.lock(database, 0)
        done = refreshed(root, store, home)
    assert done.is_busy
    assert "another process" in str(done)
    assert refreshed(root, store, home).changed == 1


def test_two_processes_that_ask_first_make_one_index(root: Path, store: Store, home: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from treeline.engine.embedded.store import EmbeddedStore\n"
        "from treeline.ingest.project import find_project, refresh\n"
        "home = Path(sys.argv[2]); found = find_project(Path(sys.argv[1]), home)\n"
        "print(refresh(found, EmbeddedStore(home), home))"
    )
    command = [sys.executable, "-c", program, str(root), str(home)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(process.communicate(timeout=120)[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert sum("indexed 2 files" in one for one in said) == 1, said
    assert names(home, find_project(root, home)) == {"a", "a_helper", "b", "b_helper"}


def test_a_refresh_that_was_killed_is_done_again(root: Path, store: Store, home: Path) -> None:
    found = refreshed(root, store, home).project
    (root / "a.py").write_text(CODE.format("changed"))
    program = (
        "import os, signal, sys; from pathlib import Path; from treeline.engine.embedded.store import EmbeddedStore\n"
        "from treeline.ingest import generation, project\n"
        "generation.Generation.finish = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "home = Path(sys.argv[2]); found = project.find_project(Path(sys.argv[1]), home)\n"
        "project.refresh(found, EmbeddedStore(home), home)"
    )
    process = subprocess.run([sys.executable, "-c", program, str(root), str(home)], timeout=120, check=False)
    assert process.returncode == -9
    assert "a" in names(home, found)
    assert refreshed(root, store, home).changed == 1
    assert "changed" in names(home, found)


def test_a_dropped_index_is_made_again(root: Path, store: Store, home: Path) -> None:
    found = refreshed(root, store, home).project
    store.drop(found.index)
    assert refreshed(root, store, home).is_new
    assert len(names(home, found)) == 4


def test_a_damaged_file_of_stamps_is_made_again(root: Path, store: Store, home: Path) -> None:
    found = refreshed(root, store, home).project
    (home / projects.FOLDER / f"{found.index}.sqlite").write_bytes(b"no database" * 1000)
    done = refreshed(root, store, home)
    assert done.files == 2
    assert not refreshed(root, store, home).published


def test_the_call_graph_is_made_when_it_is_first_looked_at(root: Path, store: Store, home: Path) -> None:
    found = refreshed(root, store, home).project
    with closing(store.open(found.index)) as engine:
        assert not engine.artifact(artifacts.CALLGRAPH)
        (home / ".cache" / "artifacts").mkdir(parents=True)
        (home / ".cache" / "artifacts" / f"{found.index}-0.callgraph").write_bytes(b"a damaged one of before")
        made = obtain(engine, artifacts.CALLGRAPH, home / ".cache")
        assert made is not None
        assert len(callgraph.load(made)) == 4
        assert obtain(engine, artifacts.CALLGRAPH, home / ".cache") == made
        for name in (artifacts.TREE, artifacts.EMBEDDING, artifacts.CLUSTERS):
            assert obtain(engine, name)
    assert len(list((home / ".cache" / "artifacts").iterdir())) == 1


def test_projects_are_listed_and_forgotten(root: Path, store: Store, home: Path) -> None:
    assert projects.projects(home) == []
    found = refreshed(root, store, home).project
    assert projects.projects(home) == [found]
    forget(found, store, home)
    assert projects.projects(home) == []
    assert found.index not in store.names()


def test_watching_gives_each_change(root: Path, store: Store, home: Path) -> None:
    seen: Iterator[Refreshed] = watch(find_project(root, home), store, home, interval=0.01)
    assert next(seen).is_new
    (root / "a.py").write_text(CODE.format("changed"))
    assert next(seen).changed == 1


def test_nothing_heavy_is_imported_on_the_way(root: Path, home: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from treeline.engine.embedded.store import EmbeddedStore\n"
        "from treeline.ingest.project import find_project, refresh\n"
        "home = Path(sys.argv[2]); found = find_project(Path(sys.argv[1]), home)\n"
        "refresh(found, EmbeddedStore(home), home)\n"
        "print(*{'sklearn', 'scipy', 'faiss', 'pyarrow', 'torch', 'networkx', 'multiprocessing'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", program, str(root), str(home)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""


def test_five_thousand_unchanged_files_are_checked_quickly(tmp_path: Path, store: Store, home: Path) -> None:
    folder = tmp_path / "many"
    for number in range(250):
        package = folder / f"p{number % 10}" / f"q{number}"
        package.mkdir(parents=True)
        for file in range(20):
            (package / f"m{file}.py").write_text("x = 1\n")
    found = find_project(folder, home)
    refresh(found, store, home)
    spent = []
    for _ in range(3):
        start = time.process_time()
        assert not refresh(found, store, home).published
        spent.append(time.process_time() - start)
    assert min(spent) < 1.0  # a tenth of that on a quiet core; reading the files again takes several seconds


def test_a_name_that_nothing_has_builds_no_call_graph(
    root: Path, store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = refresh(find_project(root, home), store, home, encoders=("none",)).project.index
    builds: list[str] = []

    def build(engine: Engine, before: bytes) -> bytes | None:
        builds.append(engine.info.name)
        return make(engine, before)

    make = search_artifacts.MAKERS[search_artifacts.CALLGRAPH]
    monkeypatch.setitem(search_artifacts.MAKERS, search_artifacts.CALLGRAPH, build)
    for name, count in (("quux_of_none", 0), ("a_helpr", 1), ("a_helper", 1)):
        builds.clear()
        with closing(Searcher(store.open(index), {}, executor=Inline())) as searcher:
            answer = searcher.search(Query(name))
        assert len(builds) == count, name
        assert bool(answer.results) == bool(count)
