"""A source archive: read as its folder would be, without leaving it, unpacking it or trusting it."""

from __future__ import annotations

import io
import random
import stat
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from tests.ingest.loading import functions, loaded, names, project
from tests.ingest.reading import read
from treeline.corpus.errors import InputError
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source

KINDS = [".zip", ".whl", ".jar", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"]
FILES = {
    "p-1.0/src/a.py": "def a():\n    return 1\n",
    "p-1.0/b.go": "package b\nfunc B() {}\n",
    "p-1.0/README.md": "words",
}


def pack(path: Path, files: dict[str, str]) -> Path:
    """An archive of the kind that its name says."""
    if path.suffix in (".zip", ".whl", ".jar"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, text in files.items():
                zipped.writestr(name, text)
        return path
    way = {".gz": "gz", ".tgz": "gz", ".bz2": "bz2", ".xz": "xz"}.get(path.suffix, "")
    with tarfile.open(path, f"w:{way}") as tarred:  # type: ignore[call-overload]
        for name, text in files.items():
            add(tarred, tarfile.TarInfo(name), text)
    return path


def add(archive: tarfile.TarFile, info: tarfile.TarInfo, text: str = "") -> None:
    info.size = len(text.encode())
    archive.addfile(info, io.BytesIO(text.encode()))


def refusal(path: Path, options: ReadOptions | None = None) -> str:
    """Why it is not opened, in one line."""
    with pytest.raises(InputError) as refused:
        open_source(str(path), options)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_one_top_folder_is_the_repository_and_no_part_of_the_paths(tmp_path: Path, kind: str) -> None:
    path = pack(tmp_path / f"p-1.0{kind}", FILES)
    found = {function.func_name: function for function in read(str(path)).functions}
    assert {(one.repo, one.path) for one in found.values()} == {("p-1.0", "src/a.py"), ("p-1.0", "b.go")}
    assert found["a"].url == f"{path.as_uri()}/p-1.0/src/a.py#L1-L2"
    assert list(tmp_path.iterdir()) == [path]


def test_without_one_top_folder_the_archive_names_the_repository(tmp_path: Path) -> None:
    files = {"flask/app.py": "def run(): pass\n", "flask-3.0.0.dist-info/RECORD": ""}
    (run,) = read(str(pack(tmp_path / "flask-3.0.0-py3-none-any.whl", files))).functions
    assert (run.repo, run.path) == ("flask-3.0.0", "flask/app.py")
    (run,) = read(str(pack(tmp_path / "My Files.TAR.GZ", files))).functions
    assert run.repo == "My Files"


def test_an_archive_gives_what_its_folder_gives(tmp_path: Path) -> None:
    source = {
        ".gitignore": "*_old.py\n/secret/\n",
        ".git/info/exclude": "mine.py\n",
        "mine.py": "def mine(): pass\n",
        "a.py": "def a(): pass\n",
        "a_old.py": "def b(): pass\n",
        "secret/c.py": "def c(): pass\n",
        "sub/.gitignore": "!keep_old.py\n",
        "sub/keep_old.py": "def d(): pass\n",
        "tests/e.py": "def e(): pass\n",
        "vendor/f.py": "def f(): pass\n",
        "g_pb2.py": "def g(): pass\n",
        "h.py": "# @generated\ndef h(): pass\n",
        "i.rs": "fn i() {}",
        "broken.py": "def broken(:\n",
    }
    folder = project(tmp_path / "p", source)
    path = pack(tmp_path / "p.tar.gz", {f"p/{name}": text for name, text in source.items()})
    for options in (ReadOptions(), ReadOptions(include_tests=True), ReadOptions(languages=frozenset({"go"}))):
        opened, expected = (open_source(str(one), options) for one in (path, folder))
        units = {unit.key: len(list(unit.chunks())) for unit in opened.units()}
        assert units == {unit.key: len(list(unit.chunks())) for unit in expected.units()}
        assert opened.left_out == expected.left_out
        assert opened.size == expected.size
    assert {one.func_name for one in read(str(path)).functions} == {
        one.func_name for one in read(str(folder)).functions
    }
    assert [problem.file for problem in read(str(path)).problems] == [f"{path}/p/broken.py"]


def test_only_what_differs_is_loaded_again_and_the_source_can_be_taken_out(tmp_path: Path) -> None:
    home, path = tmp_path / "home", pack(tmp_path / "p-1.0.tar.gz", FILES)
    assert loaded(home, path).sources == (str(path),)
    again = loaded(home, path)
    assert (again.published, again.unchanged, again.units["read"]) == (False, 2, 0)
    pack(path, {"p-1.0/src/a.py": FILES["p-1.0/src/a.py"], "p-1.0/c.py": "def c(): pass\n"})
    changed = loaded(home, path)
    assert (changed.indexed, changed.unchanged, changed.removed, changed.units["read"]) == (1, 1, 1, 1)
    assert names(home) == ["a", "c"]
    assert loaded(home, remove=(str(path),)).total == 0


def test_a_folder_and_an_archive_of_one_name_are_told_apart(tmp_path: Path) -> None:
    folder = project(tmp_path / "here/p-1.0", {"a.py": "def a(): pass\n"})
    (tmp_path / "there").mkdir()
    path = pack(tmp_path / "there/p-1.0.tar.gz", FILES)
    loaded(tmp_path / "home", folder)
    loaded(tmp_path / "home", path)
    assert {one.repo for one in functions(tmp_path / "home").values()} == {"p-1.0", "there/p-1.0"}


def test_names_that_lead_out_are_refused_and_links_and_devices_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "p.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("p/a.py", "../out.py", "/etc/out.py", "p/../../out.py"):
            add(archive, tarfile.TarInfo(name), "def a(): pass\n")
        for number, kind in enumerate((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(f"p/{number}.py")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    source, parsed = open_source(str(path)), read(str(path))
    assert [function.path for function in parsed.functions] == ["a.py"]
    assert [problem.reason for problem in parsed.problems] == ["the name is not a path inside the archive: refused"] * 3
    assert source.left_out == {"link": 2, "device or pipe": 2}


def test_links_and_the_other_slash_in_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        link = zipfile.ZipInfo("p/link.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("p\\sub\\a.py", "def a(): pass\n")
        archive.writestr("..\\out.py", "def out(): pass\n")
    parsed = read(str(tmp_path / "p.zip"))
    assert [function.path for function in parsed.functions] == ["sub/a.py"]
    assert len(parsed.problems) == 1
    assert open_source(str(tmp_path / "p.zip")).left_out == {"link": 1}


@pytest.mark.parametrize("kind", [".zip", ".tar.gz", ".tar.bz2", ".tar.xz"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, kind: str) -> None:
    path = pack(tmp_path / f"bomb{kind}", {"a.py": "#" * 60_000_000})
    assert "unpacks to more than" in refusal(path)
    assert "give the folder" in refusal(path)


@pytest.mark.parametrize("kind", KINDS)
def test_more_files_or_bytes_than_allowed_are_refused_and_one_large_file_is_a_problem(
    tmp_path: Path, kind: str
) -> None:
    path = pack(tmp_path / f"p{kind}", {f"{n}.py": "def f(): pass\n" * n for n in (1, 2, 100)})
    assert "holds more than 2 files" in refusal(path, ReadOptions(max_source_files=2))
    assert "unpacks to more than" in refusal(path, ReadOptions(max_source_bytes=100))
    assert [problem.reason for problem in read(str(path), ReadOptions(max_file_bytes=1_000)).problems] == [
        "file is over the limit of 1,000 bytes"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_archive_is_told_with_what_to_do_and_never_taken_for_a_shorter_one(tmp_path: Path, kind: str) -> None:
    path = pack(tmp_path / f"p{kind}", {f"p/{n}.py": f"def f{n}(): return {n * 7919}\n" for n in range(200)})
    whole = path.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) * 9 // 10):
        path.write_bytes(whole[:length])
        assert "fetch it again" in refusal(path)
    path.write_bytes(b"not an archive at all" * 100)
    assert "cannot be read as an archive" in refusal(path)


@pytest.mark.parametrize("kind", KINDS)
def test_changed_bytes_are_told_or_do_no_harm(tmp_path: Path, kind: str) -> None:
    path, rng = pack(tmp_path / f"p{kind}", FILES), random.Random(1)
    whole = path.read_bytes()
    for _ in range(60):
        content = bytearray(whole)
        for at in rng.choices(range(len(whole)), k=rng.randint(1, 4)):
            content[at : at + 1] = rng.choice([b"\0", b"\xff", b"7", b"-"])
        path.write_bytes(content)
        with suppress(InputError):
            read(str(path))


def test_a_file_without_a_name_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    path = pack(tmp_path / "p.zip", {"x": "", "a.py": "def a(): pass\n"})
    content = bytearray(path.read_bytes())
    first = content.index(b"PK\x01\x02")
    content[first + 28], content[first + 32] = 0, 1  # its name becomes its comment
    path.write_bytes(content)
    parsed = read(str(path))
    assert [function.func_name for function in parsed.functions] == ["a"]
    assert [problem.reason for problem in parsed.problems] == ["the name is not a path inside the archive: refused"]


def test_a_tar_that_is_broken_in_the_middle_is_not_taken_for_its_first_half(tmp_path: Path) -> None:
    path = pack(tmp_path / "p.tar", {f"{n}.py": "def f(): pass\n" for n in range(4)})
    content = bytearray(path.read_bytes())
    content[2 * 1_024 + 148 : 2 * 1_024 + 154] = b"999999"  # the checksum of the third header
    path.write_bytes(content)
    assert "cannot be read as an archive" in refusal(path)


def test_a_header_of_any_size_takes_no_memory(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 8_000_000_000
    (tmp_path / "p.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + b"a" * 10_240)
    assert "cannot be read as an archive" in refusal(tmp_path / "p.tar")


def test_a_damaged_file_in_a_zip_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    path = pack(tmp_path / "p.zip", {"a.py": "def a(): pass\n", "b.py": "def b(): pass\n"})
    content = path.read_bytes()
    at = content.index(b"b.py") + len("b.py")
    path.write_bytes(content[:at] + b"\xff\xff" + content[at + 2 :])
    parsed = read(str(path))
    assert [function.func_name for function in parsed.functions] == ["a"]
    assert [problem.file for problem in parsed.problems] == [f"{path}/b.py"]


def test_an_encrypted_zip_is_told(tmp_path: Path) -> None:
    path = pack(tmp_path / "p.zip", {"a.py": "def a(): pass\n"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # in the list of members
    path.write_bytes(content)
    assert refusal(path) == f"{path} is encrypted (unpack it with its password and give the folder)"


def test_a_tar_is_known_by_its_bytes_whatever_its_name_says_of_them(tmp_path: Path) -> None:
    path = pack(tmp_path / "p.tar", FILES).rename(tmp_path / "p.tar.gz")
    assert len(read(str(path)).functions) == 2


def test_an_archive_that_has_changed_since_it_was_listed_is_not_read_by_the_old_list(tmp_path: Path) -> None:
    path = pack(tmp_path / "p.zip", {"a.py": "def a(): pass\n"})
    source = open_source(str(path))
    pack(path, {"b.py": "def b(): pass\n"})
    with pytest.raises(InputError, match="was changed while it was read"):
        list(source.units())


def test_codesearchnets_zip_needs_no_prefix_and_an_address_of_an_archive_is_not_fetched(tmp_path: Path) -> None:
    path = pack(tmp_path / "go.zip", {"go/final/jsonl/train/go_train_0.jsonl": ""})
    assert open_source(str(path)).name == f"codesearchnet:{path}"
    with pytest.raises(InputError, match="only git repositories are fetched"):
        open_source("https://github.com/owner/name/archive/refs/tags/v1.0.zip")
