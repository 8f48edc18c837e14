"""Questions mined from real git repositories made on the spot."""

import subprocess
from pathlib import Path

import pytest

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.sets import mined
from treeline.eval.sets.mined import changed_functions, question

FIRST = """def read_config(path):
    with open(path) as file:
        return file.read()


def write_config(path, text):
    with open(path, "w") as file:
        file.write(text)
"""


def git(repository: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, "-C", str(repository), *arguments], check=True, capture_output=True)


def commit(repository: Path, subject: str, **files: str | None) -> None:
    for name, text in files.items():
        path = repository / f"{name}.py"
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--allow-empty", "-m", subject)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "Initial commit", config=FIRST)
    commit(
        folder, "Strip blanks when reading the config (#12)", config=FIRST.replace("file.read()", "file.read().strip()")
    )
    commit(folder, "Bump version to 2", version="VERSION = 2\n")
    commit(folder, "Add a cache that never forgets", cache="def remember(key):\n    return key\n")
    commit(folder, "Cache is not worth it after all", cache=None)
    return folder


def test_a_subject_asks_and_the_changed_function_answers(repository: Path) -> None:
    cases = mined.mine(repository)
    assert [(case.query, case.files, case.symbols) for case in cases] == [
        ("Strip blanks when reading the config", ("config.py",), ("config.py::read_config",))
    ]


@pytest.mark.parametrize("name", ["read.cjs", "read.mts", "READ.PY", "Rakefile.rake"])
def test_every_language_with_a_parser_can_answer(repository: Path, name: str) -> None:
    ruby, python = "def read(path)\n  path\nend\n", "def read(path):\n    return path\n"
    script = "function read(path) {\n  return path;\n}\n"
    (repository / name).write_text({".rake": ruby, ".PY": python}.get(Path(name).suffix, script))
    commit(repository, "Read from wherever the path leads")
    case = next(case for case in mined.mine(repository) if case.query.startswith("Read"))
    assert (case.files, case.symbols) == ((name,), (f"{name}::read",))


def test_merges_are_left_out(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(repository, "Shout when the config is written", config=FIRST.replace("write(text)", "write(text.upper())"))
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "Bring the side branch in again", "side")
    assert "Bring the side branch in again" not in [case.query for case in mined.mine(repository)]


def test_a_renamed_function_is_no_answer_but_its_file_is(repository: Path) -> None:
    commit(repository, "Load is a better word", config=FIRST.replace("read_config", "load_config"))
    case = next(case for case in mined.mine(repository) if case.query.startswith("Strip"))
    assert (case.files, case.symbols) == (("config.py",), ())


@pytest.mark.parametrize(
    ("subject", "asked"),
    [
        ("fix(parser): keep comments between decorators", "keep comments between decorators"),
        ("Fix crash on empty input (#42)", "Fix crash on empty input"),
        ("PROJ-7 handle time zones in reports", "handle time zones in reports"),
        ("Merge branch 'main' into dev", ""),
        ("v1.2.3", ""),
        ("wip", ""),
        ("fix typo", ""),
        ("Update README", ""),
        ("chore: bump version to 3", ""),
    ],
)
def test_trivial_subjects_ask_nothing(subject: str, asked: str) -> None:
    assert question(subject) == asked


def test_a_change_in_a_method_does_not_blame_what_is_around_it() -> None:
    names = {"outer": (1, 20), "outer.inner": (5, 8), "other": (30, 40)}
    assert changed_functions([(6, 6)], names) == ["outer.inner"]
    assert changed_functions([(2, 2), (30, 31)], names) == ["other", "outer"]


def test_cases_survive_their_file(repository: Path, tmp_path: Path) -> None:
    cases = mined.mine(repository)
    mined.write(cases, tmp_path / "cases.jsonl")
    assert mined.read(tmp_path / "cases.jsonl") == cases


def test_only_indexed_answers_count() -> None:
    cases = [
        mined.MinedCase("r", "c1", "a b c", ("a.py", "test_a.py"), ()),
        mined.MinedCase("r", "c2", "d", ("t.py",), ()),
    ]
    data = mined.dataset(cases, {"a.py", "b.py"})
    assert [case.relevance for case in data.cases] == [{"a.py": 1.0}]
    assert data.facts["cases without an indexed answer at this level"] == 1


def test_a_file_is_found_where_its_first_function_is() -> None:
    data = mined.dataset([mined.MinedCase("r", "c", "q", ("b.py",), ())], {"b.py"}, ks=(1, 2))
    hits = [Hit(str(n), 1.0, Address("r", path, "f", "python", "")) for n, path in enumerate(["a.py", "a.py", "b.py"])]
    measured = data.measure(data.cases[0], hits)
    assert (measured["mrr"], measured["hit_1"], measured["recall_2"]) == (0.5, 0.0, 1.0)


def test_a_folder_without_history_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        mined.mine(tmp_path)
    assert refused.value.message == f"{tmp_path} is not a git repository"
    assert refused.value.hint == "give a checkout with its history"


def test_an_empty_repository_is_one_line(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(InputError, match="no readable git history"):
        mined.mine(tmp_path)


@pytest.mark.parametrize(("line", "message"), [("{}", "line 1"), ("not json", "line 1"), ("", "has no cases")])
def test_a_broken_case_file_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "cases.jsonl").write_text(line)
    with pytest.raises(InputError, match=message):
        mined.read(tmp_path / "cases.jsonl")


def test_hand_written_cases_in_the_common_form_are_read(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(
        '{"query": "read the settings", "relevant_files": ["config.py"], "relevant_symbols": ["read_config"]}\n'
        '{"query": "write them", "relevant_symbols": ["config.py::write_config"]}\n'
    )
    cases = mined.read(file)
    assert [case.files for case in cases] == [("config.py",), ()]
    by_file = mined.dataset(cases, {"config.py"})
    assert [case.text for case in by_file.cases] == ["read the settings"]
    by_symbol = mined.dataset(cases, {"config.py::read_config", "config.py::write_config"}, "symbol")
    assert [case.relevant for case in by_symbol.cases] == [{"config.py::read_config"}, {"config.py::write_config"}]
    assert len({case.id for case in by_symbol.cases}) == 2


def test_a_changed_text_file_is_no_answer_and_no_error() -> None:
    assert mined.grammar_of("README.txt") is None
    assert mined.functions_in("notes.txt", b"some text") == {}
    assert mined.grammar_of("app.py") is not None


def test_a_hunk_spans_the_lines_that_are_new() -> None:
    patch = (
        "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -3,2 +5,4 @@ def f():\n+x\n"
        "@@ -9 +12 @@\n+y\n@@ -20,3 +22,0 @@\n-z\n"
        "diff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n"
    )
    assert list(mined._hunks(patch)) == [("m.py", [(5, 8), (12, 12), (22, 22)])]
