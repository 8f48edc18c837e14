"""`treeline show` and `treeline similar`: one function by its name or id, in real processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ingest.loading import project
from tests.service.cli.test_commands import only_line, treeline

FUNCTIONS = ("--kind", "function", "--kind", "method")  # no classes and files among them
FILES = {
    "reading.py": '''
def read_json(path):
    """Read a JSON file."""
    with open(path) as file:
        return json.load(file)


def read_yaml(path):
    """Read a YAML file."""
    with open(path) as file:
        return yaml.load(file)


def read_both(path):
    return read_json(path), read_yaml(path)


class Reader:
    def __init__(self, path):
        self.rows = read_both(path)

    def close(self):
        pass
''',
    "writing.py": """
class Writer:
    def close(self):
        self.file.flush()
""",
    "talk/quietly.py": "def whisper(text):\n    return text.lower()\n",
    "other.py": """
def first_row(reading, path):
    return reading.Reader(path), reading.read_json(path)
""",
    "Shout.java": """
class Shout {
    /** Make it loud. */
    String shout(String text) { return text.toUpperCase(); }
}
""",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("functions")
    done = treeline(folder / "home", "index", str(project(folder / "demo", FILES)), *FUNCTIONS)
    assert done.returncode == 0, done.stderr
    return folder / "home"


def test_show_gives_place_callers_callees_and_the_whole_code(home: Path) -> None:
    shown = treeline(home, "show", "read_json()").stdout
    assert shown.startswith("read_json  demo  reading.py:2\n")
    assert "\ncalled by 1 function (read_both); 1 more function has read_json( in the code " in shown
    assert '(treeline search "what calls read_json")\ncalls nothing known here\n' in shown
    constructor = treeline(home, "show", "Reader.__init__").stdout
    assert "\ncalled by nothing known here; 1 function has Reader( in the code " in constructor
    assert "\ncalled by 1 function (Reader.__init__)\n" in treeline(home, "show", "read_both").stdout
    assert "        return json.load(file)" in shown
    assert "calls 2 functions (read_json, read_yaml)" in treeline(home, "show", "read_both").stdout


def test_show_of_a_file_does_not_speak_of_calls(tmp_path: Path) -> None:
    home = tmp_path / "home"
    treeline(home, "index", str(project(tmp_path / "demo", FILES)))
    shown = treeline(home, "show", "reading.py").stdout
    assert shown.startswith("reading.py  demo  reading.py:1\n")
    assert "nothing known here" not in shown


def test_a_docstring_outside_of_the_code_is_shown_and_one_inside_not_twice(home: Path) -> None:
    assert "Make it loud." in treeline(home, "show", "shout").stdout
    assert treeline(home, "show", "read_json").stdout.count("Read a JSON file.") == 1


def test_show_as_json_is_the_record_with_its_neighbours_and_its_id_shows_it_again(home: Path) -> None:
    done = treeline(home, "show", "read_json", "--json")
    row = json.loads(done.stdout)
    assert done.stderr == ""
    assert (row["func_name"], row["docstring"]) == ("read_json", "Read a JSON file.")
    assert [caller["name"] for caller in row["callers"]] == ["read_both"]
    assert (row["unresolved_calls"], row["all_unresolved_calls"], row["callees"]) == (1, True, [])
    assert json.loads(treeline(home, "show", row["id"], "--json").stdout) == row


def test_show_knows_a_function_behind_the_package_that_offers_it(home: Path) -> None:
    assert treeline(home, "show", "talk.whisper").stdout.startswith("whisper  demo  talk/quietly.py:1\n")
    assert treeline(home, "show", "tal.whisper").returncode != 0


def test_similar_lists_the_nearest_first(home: Path) -> None:
    shown = treeline(home, "similar", "read_json", "-k", "3").stdout
    assert shown.startswith("similar to read_json  demo  reading.py:2\n")
    assert "read_yaml  demo  reading.py:8" in shown
    assert "Read a YAML file." in shown
    found = json.loads(treeline(home, "similar", "read_json", "-k", "3", "--json").stdout)
    assert {one["func_name"] for one in found["results"]} == {"read_both", "first_row", "read_yaml"}
    scores = [one["score"] for one in found["results"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("command", ["show", "similar"])
def test_a_name_that_several_have_is_told_apart_by_line_by_class_or_by_path(home: Path, command: str) -> None:
    done = treeline(home, command, "close")
    assert (done.returncode, done.stdout) == (2, "")
    *choice, said = done.stderr.splitlines()
    assert len(choice) == 2
    assert said.startswith("treeline: several definitions are called 'close' (give the place of one (path:line), ")
    for narrowed in ([choice[0].split()[-1]], ["Reader.close"], ["close", "--path", "writing"]):
        assert treeline(home, command, *narrowed).returncode == 0


def test_a_function_may_be_named_as_a_program_calls_it(home: Path, tmp_path: Path) -> None:
    assert treeline(home, "show", "writing.Writer.close").stdout.startswith("Writer.close  demo  writing.py:3\n")
    loads = "def loads(text):\n    return parse(text)\n"
    source = project(tmp_path / "two", {"json/__init__.py": loads, "flask/json/__init__.py": loads, "xml.py": loads})
    treeline(tmp_path / "home", "index", str(source))
    assert treeline(tmp_path / "home", "show", "json.loads").stdout.startswith("loads  two  json/__init__.py:1\n")
    assert "flask/json" in treeline(tmp_path / "home", "show", "flask.json.loads").stdout
    assert treeline(tmp_path / "home", "show", "yaml.loads").returncode == 2


@pytest.mark.parametrize(
    "line",
    [
        "reading.py:4",
        "./reading.py:4",
        "reading.py:2-5",
        "reading.py:5:16",
        "/srv/checkout/demo/reading.py:4",
        "C:\\work\\demo\\reading.py:4",
        "https://example.org/me/demo/blob/main/reading.py#L3-L5",
    ],
)
def test_a_function_may_be_meant_by_a_line_of_it(home: Path, line: str) -> None:
    assert treeline(home, "show", line).stdout.startswith("read_json  demo  reading.py:2\n")


def test_a_line_means_the_function_of_the_file_that_fits_best(tmp_path: Path) -> None:
    code = "class A:\n    def outer(self):\n        return 1\n\n    def other(self):\n        return 2\n"
    files = {"app.py": code, "web/app.py": code, "cli/app.py": code, "no.py": "x = 1\n"}
    home = tmp_path / "home"
    treeline(home, "index", str(project(tmp_path / "three", files)), *FUNCTIONS)
    assert treeline(home, "show", "app.py:3").stdout.startswith("A.outer  three  app.py:2\n")
    assert treeline(home, "show", "/x/web/app.py:6").stdout.startswith("A.other  three  web/app.py:5\n")
    outside = only_line(treeline(home, "show", "cli/app.py:4"))
    assert "nothing is defined at line 4 of cli/app.py (there are A.outer (2 to 3), A.other (5 to 6))" in outside
    assert "nothing of a file 'no.py' is indexed here" in only_line(treeline(home, "show", "no.py:1"))
    # The file of exactly that path is meant, and it is not there.
    assert treeline(home, "show", "app.py:3", "--path", "web").returncode == 2


def test_a_line_of_several_files_is_told_apart(tmp_path: Path) -> None:
    source = project(tmp_path / "two", {"a/app.py": "def f():\n    pass\n", "b/app.py": "def g():\n    pass\n"})
    treeline(tmp_path / "home", "index", str(source))
    done = treeline(tmp_path / "home", "show", "app.py:2")
    assert done.returncode == 2
    assert "several definitions are at app.py:2" in done.stderr
    assert treeline(tmp_path / "home", "show", "app.py:2", "--path", "b").stdout.startswith("g  two  b/app.py:1\n")


@pytest.mark.parametrize("command", ["show", "similar"])
def test_an_unknown_name_is_one_line_with_names_like_it(home: Path, command: str) -> None:
    done = treeline(home, command, "read_jsn")
    assert done.returncode == 2
    assert "nothing is called 'read_jsn' here; near it: read_json" in only_line(done)
    assert "near it: Writer.close" in only_line(treeline(home, command, "Writr.close"))
    a_class = only_line(treeline(home, command, "Reader"))
    assert "'Reader' is a class in reading.py, no function (name one of its functions: Reader.name)" in a_class
    assert treeline(home, command, "read_json", "--path", "reading", "--path", "writing").returncode == 0
    elsewhere = treeline(home, command, "read_json", "--path", "writing")
    assert "nothing is called 'read_json' in writing" in only_line(elsewhere)
