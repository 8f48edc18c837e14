"""A folder: which files are read, where they say they live, and what is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ingest.reading import read
from treeline.corpus.errors import InputError
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

SHA = "a" * 40


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def python(name: str) -> str:
    return f"def {name}():\n    return 1\n"


def as_checkout(folder: Path, remote: str) -> None:
    write(
        folder,
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/refs/heads/main": SHA + "\n",
            ".git/config": f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n\tfetch = +refs\n',
        },
    )


def paths(spec: Path, options: ReadOptions | None = None) -> set[str]:
    return {function.path for function in read(str(spec), options).functions}


def test_source_files_of_every_language_are_read(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": python("f"), "b.go": "package b\nfunc F() {}\n", "c.rb": "def f; end\n", "d.txt": "def f"})
    write(tmp_path, {"E.java": "class E { void f() {} }", "f.ts": "function f() {}", "g.php": "<?php function f() {}"})
    assert paths(tmp_path) == {"a.py", "b.go", "c.rb", "E.java", "f.ts", "g.php"}
    assert paths(tmp_path, ReadOptions(languages=frozenset({"go"}))) == {"b.go"}


def test_code_of_other_languages_and_plain_text_are_read_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": python("f"), "b.rs": "fn f() {}", "C.RS": "fn g() {}", "d.c": "int f() {}", "e.txt": "f"})
    write(tmp_path, {"venv/t.rs": "fn t() {}", "ignored.c": "int g() {}", ".gitignore": "ignored.c\n"})
    source = open_source(str(tmp_path))
    assert [unit.key for unit in source.units()] == ["C.RS", "a.py", "b.rs", "d.c", "e.txt"]
    assert source.left_out == {"installed folder": 1, "ignored": 1}


def test_a_source_file_can_be_read_alone_also_a_test(tmp_path: Path) -> None:
    write(tmp_path / "project", {"test_a.py": python("f"), "b.py": python("g")})
    file = tmp_path / "project/test_a.py"
    (function,) = read(str(file)).functions
    assert (function.repo, function.path, function.func_name) == ("project", "test_a.py", "f")
    assert function.url == file.as_uri() + "#L1-L2"
    assert open_source(str(file)).name == str(file)
    assert not read(str(file), ReadOptions(languages=frozenset({"go"}))).functions


def test_a_file_alone_in_a_checkout_is_known_by_its_remote(tmp_path: Path) -> None:
    as_checkout(tmp_path, "https://github.com/owner/name.git")
    write(tmp_path, {"src/a.py": python("f")})
    (function,) = read(str(tmp_path / "src/a.py")).functions
    assert (function.repo, function.path) == ("owner/name", "src/a.py")


def test_without_a_remote_the_folder_is_the_repository_and_urls_are_files(tmp_path: Path) -> None:
    write(tmp_path / "project", {"pkg/a b.py": python("f")})
    (function,) = read(str(tmp_path / "project")).functions
    assert function.repo == "project"
    assert function.partition == ""
    assert function.url == (tmp_path / "project/pkg/a b.py").as_uri() + "#L1-L2"


@pytest.mark.parametrize(
    "remote",
    ["https://github.com/owner/name.git", "git@github.com:owner/name.git", "https://me:secret@github.com/owner/name"],
)
def test_with_a_remote_urls_are_permanent_links_without_secrets(tmp_path: Path, remote: str) -> None:
    as_checkout(tmp_path, remote)
    write(tmp_path, {"src/a.py": python("f")})
    (function,) = read(str(tmp_path)).functions
    assert (function.repo, function.sha) == ("owner/name", SHA)
    assert function.url == f"https://github.com/owner/name/blob/{SHA}/src/a.py#L1-L2"


def test_a_part_of_a_checkout_keeps_the_paths_of_the_whole(tmp_path: Path) -> None:
    as_checkout(tmp_path, "https://github.com/owner/name")
    write(
        tmp_path, {"src/a.py": python("f"), "other/b.py": python("g"), ".gitignore": "/src/gen.py\n", "src/gen.py": ""}
    )
    assert paths(tmp_path / "src") == {"src/a.py"}


def test_ignore_files_of_every_level_are_honoured_the_deepest_deciding(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "*_old.py\nsecret/\n",
            "a.py": python("a"),
            "a_old.py": python("b"),
            "secret/c.py": python("c"),
            "sub/.gitignore": "!keep_old.py\n/x.py\n",
            "sub/keep_old.py": python("d"),
            "sub/x.py": python("e"),
            "sub/deep/x.py": python("f"),
            ".treelineignore": "notes/\n",
            "notes/n.py": python("n"),
        },
    )
    assert paths(tmp_path) == {"a.py", "sub/keep_old.py", "sub/deep/x.py"}


def test_tests_and_vendored_files_are_read_unless_a_package_manager_or_a_tool_wrote_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": python("a"),
            "tests/b.py": python("b"),
            "test_c.py": python("c"),
            "vendor/d.py": python("d"),
            "node_modules/e.js": "function e() {}",
            "f_pb2.py": python("f"),
            "g.go": "// Code generated by protoc. DO NOT EDIT.\npackage g\nfunc G() {}\n",
            "h.min.js": "function h() {}",
            "contest.py": python("i"),
        },
    )
    written = {"a.py", "contest.py", "tests/b.py", "test_c.py", "vendor/d.py", "f_pb2.py", "h.min.js"}
    assert paths(tmp_path) == written
    source = open_source(str(tmp_path), ReadOptions(include_tests=False))
    assert [unit.key for unit in source.units() if list(unit.chunks())] == ["a.py", "contest.py", "g.go"]
    skips = {"test folder": 1, "test": 1, "vendored folder": 1, "installed folder": 1, "generated": 3}
    assert source.left_out == skips
    assert len(paths(tmp_path, ReadOptions(include_tests=True))) == 9


def test_a_virtual_environment_of_any_name_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": python("a"), "v/pyvenv.cfg": "home = /usr/bin\n", "v/lib/b.py": python("b")})
    source = open_source(str(tmp_path))
    assert [unit.key for unit in source.units()] == ["a.py"]
    assert source.left_out == {"virtual environment": 1}


def test_links_are_never_followed(tmp_path: Path) -> None:
    write(tmp_path / "outside", {"secret.py": python("secret")})
    write(tmp_path / "inside", {"a.py": python("a")})
    (tmp_path / "inside/link.py").symlink_to(tmp_path / "outside/secret.py")
    (tmp_path / "inside/folder").symlink_to(tmp_path / "outside")
    (tmp_path / "inside/loop").symlink_to(tmp_path / "inside")
    assert paths(tmp_path / "inside") == {"a.py"}


def test_a_pipe_with_the_name_of_a_source_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    write(tmp_path, {"a.py": python("a")})
    assert paths(tmp_path) == {"a.py"}


def test_a_file_that_is_too_big_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, {"big.py": "x = 1\n" * 1_000, "a.py": python("a")})
    parsed = read(str(tmp_path), ReadOptions(max_file_bytes=2_000))
    assert [function.path for function in parsed.functions] == ["a.py"]
    assert [Path(problem.file).name for problem in parsed.problems] == ["big.py"]


def test_an_unchanged_file_keeps_its_digest_over_commits_and_an_edit_changes_it(tmp_path: Path) -> None:
    def digests() -> dict[str, str]:
        return {unit.key: unit.digest for unit in open_source(str(tmp_path)).units()}

    as_checkout(tmp_path, "https://github.com/owner/name")
    write(tmp_path, {"a.py": python("a"), "b.py": python("b")})
    before = digests()
    write(tmp_path, {".git/refs/heads/main": "b" * 40, "b.py": python("c")})
    after = digests()
    assert before["a.py"] == after["a.py"]
    assert before["b.py"] != after["b.py"]


def test_names_that_are_not_utf8_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text(python("f"))
    assert [function.path for function in read(str(tmp_path)).functions] == ["caf\\xe9.py"]


def test_a_source_whose_own_name_is_not_utf8_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    write(folder, {"a.py": python("a")})
    with pytest.raises(InputError, match=r"caf\\xe9 has a name that is not valid text") as error:
        open_source(str(folder))
    assert error.value.hint == "rename it, or give the folder above it"


def test_an_ignored_folder_that_is_named_itself_is_read(tmp_path: Path) -> None:
    as_checkout(tmp_path, "https://github.com/owner/name")
    write(tmp_path, {".gitignore": "/env/\n", "env/pkg/a.py": python("a")})
    assert paths(tmp_path / "env/pkg") == {"a.py"}
    assert paths(tmp_path) == set()


def test_what_is_no_source_is_refused_in_one_line(tmp_path: Path) -> None:
    write(tmp_path, {"a.exe": ""})
    for spec in (str(tmp_path / "nowhere"), str(tmp_path / "a.exe"), "", "nul\0byte"):
        with pytest.raises(InputError) as refused:
            open_source(spec)
        assert "\n" not in str(refused.value)


def test_a_folder_is_read_as_it_stands_whatever_ref_says(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": python("a")})
    with pytest.raises(InputError, match="--ref is for git URLs"):
        open_source(str(tmp_path), ReadOptions(ref="main"))


def test_a_folder_swapped_for_a_link_while_it_is_read_gives_nothing_away(tmp_path: Path) -> None:
    write(tmp_path / "code", {"pkg/a.py": python("f"), "b.py": python("g")})
    write(tmp_path / "outside", {"a.py": python("private")})
    units = list(open_source(str(tmp_path / "code")).units())
    (tmp_path / "code/pkg").rename(tmp_path / "moved")
    (tmp_path / "code/pkg").symlink_to(tmp_path / "outside")
    parsed = [chunk.parse() for unit in units for chunk in unit.chunks()]
    assert {one.func_name for each in parsed for one in each.functions if one.kind == "function"} == {"g"}
    [problem] = [problem for each in parsed for problem in each.problems]
    assert problem.reason == f"not below {tmp_path}/code any more"
