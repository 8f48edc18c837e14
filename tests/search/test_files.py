"""The files of an index: folders, units by line, names and what they refer to, with texts and without."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.decoding import decode
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source
from treeline.search.files import Files, FolderEntry, Target, at_line, depths, lines_of
from treeline.search.live import open_searcher
from treeline.search.settings import Settings

SHOP = """\
from tools.money import pay


class Till:
    def open(self):
        return self.count()

    def count(self):
        def add(x):
            return x

        return add(1)


def sell(till):
    return pay(till)
"""
PROJECT = {
    "shop/till.py": SHOP,
    "shop/README.md": "# Shop\nSells.\n",
    "tools/money.py": "def pay(x):\n    return x\n\n\ndef pay_twice(x):\n    return pay(pay(x))\n",
    "tools/Deep/er/a.py": "def open():\n    return 1\n",
    "setup.py": "LIMIT = 3\n",
    "web/open.js": "function show() { return 1; }\n",
}
OTHER = {"b.py": "def other():\n    return 1\n"}


@pytest.fixture(scope="module", params=[True, False], ids=["texts", "no texts"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    """Two repositories, with the texts of their files or without."""
    root = tmp_path_factory.mktemp("files")
    for name, project in (("owner/shop", PROJECT), ("owner/other", OTHER)):
        for path, text in project.items():
            (root / name / path).parent.mkdir(parents=True, exist_ok=True)
            (root / name / path).write_text(text)
    sources = [
        open_source(str(root / name), ReadOptions(keep_texts=request.param)) for name in ("owner/shop", "owner/other")
    ]
    load(EmbeddedStore(root / "home"), "x", sources, LoadOptions(work=root / "work", workers=0))
    searcher = open_searcher(Settings(home=str(root / "home"), index="x", lane_timeout=30.0))
    with searcher.searcher() as current:
        yield Files(current)
    searcher.close()


def shop(files: Files) -> str:
    return next(repo for repo in files.repositories() if "shop" in repo)


def test_repositories_come_by_their_size(files: Files) -> None:
    found = files.repositories()
    assert list(found) == [shop(files), next(repo for repo in found if "other" in repo)]
    assert found[shop(files)] > 5


def test_an_address_is_a_repository_and_the_path_in_it(files: Files) -> None:
    repo = shop(files)
    assert files.split(f"{repo}/shop/till.py") == (repo, "shop/till.py")
    assert files.split(repo) == (repo, "")
    assert files.split("nowhere/till.py") is None


def test_a_folder_lists_folders_first_by_name_and_counts_what_is_below(files: Files) -> None:
    repo = shop(files)
    top = files.folder(repo)
    assert [(row.name, row.is_folder) for row in top] == [
        ("shop", True),
        ("tools", True),
        ("web", True),
        ("setup.py", False),
    ]
    assert [row.name for row in files.folder(repo, "tools/")] == ["Deep", "money.py"]
    assert files.folder(repo, "nowhere/") == []
    if files.languages(repo):
        size, lines = sum(len(PROJECT[path]) for path in PROJECT if path.startswith("tools/")), 6 + 2
        assert top[1] == FolderEntry("tools", True, "", 2, size, lines)
        assert top[3] == FolderEntry("setup.py", False, "python", 1, len(PROJECT["setup.py"]), 1)
    else:
        assert top[1] == FolderEntry("tools", True, "", 0, 0, 0)


def test_languages_come_by_their_bytes(files: Files) -> None:
    if files.entry(shop(files), "setup.py") is None:
        assert files.languages(shop(files)) == {} and files.read(shop(files), "setup.py") is None
        return
    python = sum(len(text) for path, text in PROJECT.items() if path.endswith(".py"))
    assert list(files.languages(shop(files)).items()) == [
        ("python", python),
        ("javascript", len(PROJECT["web/open.js"])),
        ("markdown", len(PROJECT["shop/README.md"])),
    ]
    assert files.read(shop(files), "setup.py") == b"LIMIT = 3\n"


def test_the_units_of_a_file_come_by_line_the_outer_before_the_inner(files: Files) -> None:
    found = files.units(shop(files), "shop/till.py")
    assert [(unit.address.func_name, lines_of(unit)) for unit in found] == [
        ("Till", (4, 12)),
        ("Till.open", (5, 6)),
        ("Till.count", (8, 12)),
        ("sell", (15, 16)),
    ]
    assert depths(found) == [0, 1, 1, 0]
    at = {line: at_line(found, line) for line in (1, 4, 6, 7, 12, 13, 16)}
    assert {line: unit.address.func_name if unit else "" for line, unit in at.items()} == {
        1: "",
        4: "Till",
        6: "Till.open",
        7: "Till",
        12: "Till.count",
        13: "",
        16: "sell",
    }
    assert files.units(shop(files), "shop") == files.units(shop(files), "nowhere.py") == []


def test_a_name_refers_to_what_the_call_graph_says_in_its_own_unit_first(files: Files) -> None:
    repo = shop(files)
    names = files.references(files.units(repo, "shop/till.py"))
    assert names.at(16, "pay") == names.at(1, "pay") == Target(repo, "tools/money.py", 1)
    assert names.at(6, "count") == Target(repo, "shop/till.py", 8)
    assert names.at(6, "nothing") is None


def test_the_most_called_come_first(files: Files) -> None:
    found = files.most_called(shop(files), 1)
    assert [(hit.address.func_name, count) for hit, count in found] == [("pay", 2)]
    assert len(files.most_called(shop(files), 9)) > 1


def test_a_path_is_completed_by_one_step_whatever_its_case(files: Files) -> None:
    assert files.complete_path("TO") == ["tools/"]
    assert files.complete_path("tools/") == ["tools/Deep/", "tools/money.py"]
    assert files.complete_path("tools/m", shop(files)) == ["tools/money.py"]
    assert files.complete_path("b") == ["b.py"] and files.complete_path("b", shop(files)) == []


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("a.py", b"\xef\xbb\xbfa\r\nb\rc\n", ("a\nb\nc\n", "utf-8-sig", True)),
        ("a.py", b"# -*- coding: latin-1 -*-\n\xe9", ("# -*- coding: latin-1 -*-\né", "iso-8859-1", True)),
        ("a.py", b"caf\xe9", ("caf\ufffd", "utf-8", False)),
        ("a.bin", b"a" * 7_999 + b"\0", ("", "binary", False)),
        ("a.txt", b"a" * 8_000 + b"\0", ("a" * 8_000 + "\0", "utf-8", True)),
    ],
)
def test_a_file_is_shown_in_its_encoding(path: str, content: bytes, expected: tuple[str, str, bool]) -> None:
    text, encoding, exact = decode(path, content)
    assert (text, encoding, exact) == expected


def test_splitting_a_long_path_takes_time_linear_in_its_length(files: Files) -> None:
    started = time.thread_time()
    assert files.split("a/" * 60_000) is None
    assert files.split("shop" + "/a" * 60_000) == ("shop", "a/" * 59_999 + "a")
    assert time.thread_time() - started < 0.5  # it was over 30 s
