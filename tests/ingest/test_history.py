"""The history of a git checkout is read once, then what was added; hostile histories hurt nobody."""

import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from treeline.corpus.analysis import terms
from treeline.graph.git import git_environment, run_git
from treeline.graph.history import Companion, History, StoredHistory, history_file
from treeline.graph.touched import changes_lately, touched_lines
from treeline.ingest.history import read_diff, update, update_behind
from treeline.search.impact import parse_diff

WHO = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *WHO, "-C", str(root), *arguments], check=True, capture_output=True, env=git_environment())


def commit(root: Path, message: str, files: dict[str, str | None]) -> None:
    """A commit that writes these files; None deletes one."""
    for name, text in files.items():
        if text is None:
            (root / name).unlink()
        else:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "--allow-empty", "-m", message)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, "Sign cookies with a key", {"shop/cookies.py": "a\n", "tests/test_cookies.py": "a\n"})
    commit(root, "Retry payments that time out", {"shop/payments.py": "a\n", "shop/clock.py": "a\n"})
    commit(root, "Bump version to 2.0", {"setup.py": "a\n"})
    return root


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def read(home: Path, root: Path) -> History:
    update(home, "shop", {"shop": root})
    return History(history_file(home, "shop"))


def first(history: History, question: str) -> str:
    return next((path for _, path in history.votes(terms(question))), "")


def test_commits_near_the_question_vote_for_their_files(home: Path, root: Path) -> None:
    votes = read(home, root).votes(terms("why is a payment retried"))
    assert [path for _, path in votes] == ["shop/clock.py", "shop/payments.py"]
    vote = votes["shop", "shop/payments.py"]
    assert (vote.share, vote.commit.subject, vote.commit.author) == (1.0, "Retry payments that time out", "Ada")


def test_small_commits_count_more(home: Path, root: Path) -> None:
    commit(root, "Sign orders", {"shop/orders.py": "a\n"})
    commit(root, "Sign orders", {f"shop/part{number}.py": "a\n" for number in range(9)})
    assert first(read(home, root), "sign orders") == "shop/orders.py"


def test_releases_and_mass_changes_have_no_vote(home: Path, root: Path) -> None:
    commit(root, "Sort imports everywhere", {f"shop/part{number}.py": "a\n" for number in range(60)})
    history = read(home, root)
    assert first(history, "bump version") == ""
    assert first(history, "sort imports") == ""


@pytest.mark.parametrize("is_edited", [False, True])
def test_a_renamed_file_keeps_its_votes(home: Path, root: Path, is_edited: bool) -> None:
    text = "something else entirely\n" * 9 if is_edited else "a\n"
    commit(root, "Move things", {"shop/payments.py": None, "shop/money/payments.py": text})
    assert "shop/money/payments.py" in [path for _, path in read(home, root).votes(terms("retry payments"))]


def test_a_deleted_file_has_no_vote(home: Path, root: Path) -> None:
    commit(root, "Drop it", {"shop/payments.py": None})
    assert [path for _, path in read(home, root).votes(terms("retry payments"))] == ["shop/clock.py"]


def test_new_commits_are_added(home: Path, root: Path) -> None:
    read(home, root).close()
    inode = history_file(home, "shop").stat().st_ino
    commit(root, "Round prices", {"shop/prices.py": "a\n", "shop/clock.py": None})
    commit(root, "Move cookies", {"shop/cookies.py": None, "web/cookies.py": "a\n"})
    history = read(home, root)
    assert history_file(home, "shop").stat().st_ino == inode
    assert first(history, "rounding of prices") == "shop/prices.py"
    assert first(history, "cookie signature key") in {"web/cookies.py", "tests/test_cookies.py"}
    assert "shop/clock.py" not in [path for _, path in history.votes(terms("retry payments"))]


def test_a_folder_that_is_indexed_by_another_name_has_its_history_once(home: Path, root: Path) -> None:
    read(home, root).close()
    update(home, "shop", {"store": root})
    with closing(History(history_file(home, "shop"))) as history:
        assert set(history.repositories()) == {repo for repo, _ in history.files().values()} == {"store"}


def test_a_rewritten_history_is_read_again(home: Path, root: Path) -> None:
    read(home, root).close()
    git(root, "reset", "--quiet", "--hard", "HEAD~2")
    commit(root, "Round prices", {"shop/prices.py": "a\n"})
    history = read(home, root)
    assert first(history, "retry payments") == ""
    assert first(history, "round prices") == "shop/prices.py"


def test_quality_says_how_well_messages_lead_to_files(home: Path, root: Path) -> None:
    for number in range(20):
        commit(root, f"Mend the cookie jar {number}", {"shop/cookies.py": f"{number}\n"})
    assert read(home, root).repositories()["shop"].quality > 0.8


def test_only_the_folder_that_is_indexed_counts(home: Path, root: Path) -> None:
    update(home, "part", {"shop": root / "shop"})
    history = History(history_file(home, "part"))
    assert first(history, "retry payments") in {"payments.py", "clock.py"}


def test_the_last_commit_of_a_shallow_clone_has_no_vote_until_it_is_whole(home: Path, root: Path) -> None:
    clone, tree = root.parent / "clone", root.parent / "tree"
    subprocess.run(["git", "clone", "-q", "--depth=2", f"file://{root}", str(clone)], check=True, env=git_environment())
    git(clone, "worktree", "add", "-q", "--detach", str(tree))
    with closing(read(home, tree)) as history:
        assert history.repositories()["shop"].end and "shop/clock.py" in history.paths_of("shop")
        assert first(history, "retry payments") == "" and history.last_commits("shop", "shop/clock.py", 9) == []
        assert len(history.last_commits("shop", "setup.py", 9)) == 1
    git(clone, "fetch", "-q", "--unshallow")
    with closing(read(home, tree)) as history:
        assert first(history, "retry payments") and not history.repositories()["shop"].end


def test_lines_that_a_commit_touched_are_known_as_they_are_now(home: Path, root: Path) -> None:
    lines = [f"{number} of the lines of a jar\n" for number in range(9)]
    commit(root, "Jar", {"shop/jar.py": "".join(lines), "shop/lid.py": "a\n"})
    commit(root, "Seven", {"shop/jar.py": "".join([*lines[:7], "seven\n", *lines[8:]]), "shop/lid.py": "b\n"})
    seven = run_git(root, "rev-parse", "HEAD").decode().strip()
    commit(root, "Two", {"shop/jar.py": "".join(["new\n", *lines[:7], "seven\n", *lines[8:]]), "shop/lid.py": None})
    git(root, "mv", "shop/jar.py", "shop/pot.py")
    commit(root, "Pot", {"shop/pot.py": "".join(["newer\nnew\n", *lines[:7], "seven\n", *lines[8:]])})
    assert touched_lines(root, {seven: ["shop/pot.py", "shop/lid.py"]}) == {seven: {"shop/pot.py": [10]}}
    assert touched_lines(root, {seven: ["a"] * 99}) == {}
    commit(
        root, "Five", {"shop/pot.py": "".join(["newer\nnew\n", *lines[:5], "five\n", lines[6], "seven\n", lines[8]])}
    )
    (root / "shop/pot.py").write_text((root / "shop/pot.py").read_text().replace("newer\n", ""))
    with closing(read(home, root)) as history:
        spans = {"shop/pot.py": [(1, 3), (7, 8)], "setup.py": [(1, 1)], "none.py": [(1, 9)]}
        assert changes_lately(history, "shop", spans) == {
            "shop/pot.py": [0.8, 1.8],  # the commit before made the file
            "setup.py": [1.0],
            "none.py": [0.0],
        }
        assert changes_lately(history, "till", {"setup.py": [(1, 1)]}) == {}
    assert touched_lines(root.parent, {seven: ["shop/pot.py"]}) == {}


def test_a_folder_without_git_has_no_history(home: Path, tmp_path: Path) -> None:
    update(home, "plain", {"plain": tmp_path})
    assert StoredHistory(history_file(home, "plain"))() is None


def test_a_damaged_file_is_made_again(home: Path, root: Path) -> None:
    read(home, root).close()
    history_file(home, "shop").write_bytes(b"no database" * 999)
    assert StoredHistory(history_file(home, "shop"))() is None
    assert first(read(home, root), "retry payments")


def test_a_searcher_sees_what_was_added(home: Path, root: Path) -> None:
    stored = StoredHistory(history_file(home, "shop"))
    assert stored() is None
    read(home, root).close()
    history = stored()
    assert history is not None
    assert history.repositories()["shop"].head


def test_odd_names_and_messages_are_read(home: Path, root: Path) -> None:
    commit(
        root,
        "Zählung \x1b[31mrot\x1b[0m\n\nM\nA\nshop/x.py",
        {"shop/with\nnewline.py": "a\n", "M": "a\n", "ü.py": "a\n"},
    )
    (root / os.fsdecode(b"caf\xe9.py")).write_text("a\n", encoding="utf-8")
    commit(root, "word " * 20_000, {"shop/long.py": "a\n"})
    git(root, "commit", "--quiet", "--allow-empty", "--allow-empty-message", "-m", "")
    history = read(home, root)
    counted = history.votes(terms("zählung"))
    assert {path for _, path in counted} == {"shop/with\nnewline.py", "M", "ü.py"}
    assert next(iter(counted.values())).commit.subject == "Zählung [31mrot [0m"


def test_settings_of_the_repository_run_nothing(home: Path, root: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n", encoding="utf-8")
    trap.chmod(0o755)
    (root / ".gitattributes").write_text("* diff=trap\n", encoding="utf-8")
    for name in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.trap.textconv",
        "gpg.program",
        "core.sshCommand",
    ):
        git(root, "config", name, str(trap))
    git(root, "config", "log.showSignature", "true")
    assert first(read(home, root), "retry payments")
    assert not (tmp_path / "sprung").exists()


def test_history_is_read_behind_an_answer(home: Path, root: Path) -> None:
    import time

    update_behind(home, "shop", {"shop": root})
    until = time.monotonic() + 60
    while not history_file(home, "shop").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert first(History(history_file(home, "shop")), "retry payments")


def test_a_diff_has_new_files_and_runs_no_filter_of_the_repository(root: Path) -> None:
    ran = root.parent / "ran"
    commit(root, "Filter", {".gitattributes": "*.py filter=evil diff=evil\n"})
    git(root, "config", "filter.evil.clean", f"touch {ran}")
    git(root, "config", "filter.evil.required", "true")
    git(root, "config", "diff.evil.textconv", f"touch {ran};cat")
    git(root, "config", "diff.external", f"touch {ran};cat")
    (root / "shop/cookies.py").write_text("a\nb = 1\n")
    (root / "shop/jar.py").write_text("def open_jar():\n    return 1\n")
    changes = {change.path: change for change in parse_diff(read_diff(root))}
    assert changes["shop/cookies.py"].lines == (2,)
    assert changes["shop/jar.py"].lines == (1, 2) and "open_jar" in changes["shop/jar.py"].words
    assert not ran.exists()


def test_files_that_change_together_are_known_also_of_a_new_file(home: Path, root: Path) -> None:
    for number in range(2):
        commit(root, "Speak", {f"langs/l{number}.txt": "a", "speech.py": f"{number}"})
    with closing(read(home, root)) as history:
        assert history.changed_with("shop", ["shop/clock.py"]) == {
            "shop/payments.py": Companion(1 / 2**0.5, 1, 0.5 / 2**0.5)
        }
        assert set(history.changed_with("shop", ["langs/new.txt"])) == {"langs/l0.txt", "langs/l1.txt", "speech.py"}
        assert max(history.changed_lately("shop").items(), key=lambda row: row[1])[0] == "speech.py"
