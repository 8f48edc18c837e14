"""A call graph that is updated after an edit is the one that is built from all files."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.graph.parsed import REPO, parse
from tests.graph.test_fixtures import FIXTURES, REPOSITORIES
from tests.snapshots import fixtures
from treeline.graph.callgraph import update as updating
from treeline.graph.callgraph.build import FileEntry, GraphBuilder, of_pieces, refer
from treeline.graph.callgraph.resolve import Resolver
from treeline.graph.callgraph.storage import Part
from treeline.graph.callgraph.update import update
from treeline.graph.facts import pack_facts

Files = dict[str, str]
BASE = "from lib import Base\n\n\nclass Shape(Base):\n    def area(self):\n        return self.width()\n"
LIB = "class Base:\n    def width(self):\n        return helper()\n\n\ndef helper():\n    return 1\n"
USER = "from shapes import Shape\n\n\ndef total(shapes):\n    return Shape().area() + Shape().width()\n"
OTHER = "def unrelated():\n    return nothing()\n"
PROJECT = {"lib.py": LIB, "shapes.py": BASE, "user.py": USER, "a.py": OTHER, "b.py": OTHER}


def pieces(files: Files, language: str) -> list[bytes]:
    return [
        data for path, source in sorted(files.items()) for _, data in pack_facts([parse(path, source, language)[1]])
    ]


def differences(part: Part, other: Part) -> list[str]:
    assert part.arrays.keys() == other.arrays.keys()
    return [name for name, array in part.arrays.items() if not np.array_equal(array, other.arrays[name])]


def edits(files: Files) -> Iterator[Files]:
    """Each file with its lines moved, with each of its names renamed where it is defined, gone, and copied."""
    for path, source in files.items():
        yield files | {path: f"\n\n{source}"}
        for name in sorted(set(re.findall(r"(?:def|func|fn|fun|function|class|struct|interface|trait) (\w+)", source))):
            yield files | {path: re.sub(rf"\b{name}\b", f"{name}Renamed", source, count=1)}
        yield {other: text for other, text in files.items() if other != path}
        folder, _, name = path.rpartition("/")
        yield files | {f"{folder}/other_{name}".lstrip("/"): source}


@pytest.mark.parametrize(("language", "claim"), REPOSITORIES)
def test_an_update_equals_the_build_of_all_files(language: str, claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updating, "MOST_FILES", 1.0)
    folder = FIXTURES / language / claim
    files = {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in fixtures(folder)}
    part = of_pieces(REPO, pieces(files, language))
    updates = 0
    for edited in edits(files):
        after = pieces(edited, language)
        result = update(part, after)
        if result is not None:
            updates += 1
            assert differences(result[0], of_pieces(REPO, after)) == []
            assert {path for path in files.keys() | edited.keys() if files.get(path) != edited.get(path)} >= result[1]
    assert updates >= len(files)  # at least those that only move lines


def resolved(part: Part, edited: Files, monkeypatch: pytest.MonkeyPatch) -> tuple[Part, list[str]]:
    """The updated graph, and the files whose references were resolved again."""
    again: list[str] = []

    def note(graph: GraphBuilder, resolver: Resolver, files: list[FileEntry]) -> None:
        again.extend(entry.file.path for entry in files)
        refer(graph, resolver, files)

    monkeypatch.setattr(updating, "refer", note)
    result = update(part, pieces(edited, "python"))
    assert result is not None
    return result[0], again


def test_an_edited_body_resolves_that_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    part = of_pieces(REPO, pieces(PROJECT, "python"))
    edited = PROJECT | {"lib.py": LIB.replace("return helper()", "return helper() + Base().width()")}
    assert resolved(part, edited, monkeypatch)[1] == ["lib.py"]


def test_a_new_name_resolves_the_files_that_are_written_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    part = of_pieces(REPO, pieces(PROJECT, "python"))
    edited = PROJECT | {"lib.py": LIB.replace("helper", "nothing")}
    updated, again = resolved(part, edited, monkeypatch)
    assert again == ["a.py", "b.py", "lib.py"]
    assert differences(updated, of_pieces(REPO, pieces(edited, "python"))) == []


def test_an_updated_graph_can_be_updated_again() -> None:
    part = of_pieces(REPO, pieces(PROJECT, "python"))
    for number in range(3):
        edited = PROJECT | {"a.py": f"def unrelated_{number}():\n    return helper()\n"}
        result = update(part, pieces(edited, "python"))
        assert result is not None
        part = result[0]
        assert differences(part, of_pieces(REPO, pieces(edited, "python"))) == []


@pytest.mark.parametrize(
    "edited",
    [
        PROJECT | {"shapes.py": BASE.replace("(Base)", "")},  # another base class
        PROJECT | {"user.py": "from shapes import *\n"},
        PROJECT | {"__init__.py": ""},
        {path: f"\n{source}" for path, source in PROJECT.items()},  # more than a fifth
    ],
)
def test_there_is_no_update_where_it_is_hard_to_tell(edited: Files) -> None:
    assert update(of_pieces(REPO, pieces(PROJECT, "python")), pieces(edited, "python")) is None


def test_a_graph_of_records_is_built(tmp_path: Path) -> None:
    facts = [parse(path, source, "python")[1] for path, source in PROJECT.items()]
    records = [data for _, data in pack_facts(facts)]  # all in one
    assert update(of_pieces(REPO, records), records) is None
