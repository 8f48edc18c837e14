"""The command line as a person meets it: a real index in a folder, real processes, real exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.elasticsearch_download import VERSION
from tests.elasticsearch_server import Cluster, free_port
from tests.forked import run_command_line
from tests.ingest.loading import project
from treeline.engine.elasticsearch.client import connect
from treeline.rerank.registry import FUSIONS, NAMES
from treeline.search.settings import Settings
from treeline.service.cli.options import how_to_index

# Root may read everything.
WITHOUT_ROOTS_RIGHTS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
ROOT = Path(__file__).parents[3]
FREE_PORT = str(free_port())
FILES = {
    "strings.py": '''
def number_to_text(number):
    """Convert an int to a string."""
    return str(number)


def shout(text):
    return text.upper() + "!"
''',
    "files.py": '''
def read_json(path):
    """Read a JSON file."""
    with open(path) as file:
        return json.load(file)
''',
}


def treeline(
    home: Path, *arguments: str, before: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own; `before` is a program that runs it."""
    environment = os.environ | {"TREELINE_HOME": str(home), "TREELINE_INDEX": "default", "COLUMNS": "100"} | environment
    if not before:
        return run_command_line(arguments, environment, ROOT)
    return subprocess.run(
        [*before, sys.executable, "-m", "treeline.service.cli", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        check=False,
    )


def on_terminal(home: Path, *arguments: str, **others: str) -> str:
    """The screen of a person who asks."""
    environment = os.environ | {"TREELINE_HOME": str(home), "TREELINE_INDEX": "default", "NO_COLOR": "1"}
    return run_command_line(arguments, environment | {"PAGER": "cat"} | others, ROOT, terminal=True).stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the small project, made by the command."""
    folder = tmp_path_factory.mktemp("cli")
    done = treeline(folder / "home", "index", str(project(folder / "demo", FILES)))
    assert done.returncode == 0, done.stderr
    assert "5 records read: 5 indexed" in done.stdout  # three functions, two files
    assert "now holds 5 units" in done.stdout
    return folder / "home"


def only_line(done: subprocess.CompletedProcess[str]) -> str:
    """What went wrong, when it was said in one line and nothing else was printed."""
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("treeline: ")
    return lines[0]


def test_a_terminal_shows_the_signature_and_the_lines_with_the_questions_words(home: Path) -> None:
    shown = on_terminal(home, "search", "convert int to string", "-k", "1")
    first, head, line, *_ = shown.split("\n")
    assert first == f" 1. number_to_text  {home.parent}/demo/strings.py:2"
    assert head == "    2- def number_to_text(number):"
    assert line == '    3:     """Convert an int to a string."""'
    assert "file://" not in shown and "\x1b" not in shown
    coloured = on_terminal(home, "search", "convert int to string", "-k", "1", TERM="xterm", NO_COLOR="")
    assert "\x1b[31m\x1b[1mConvert\x1b[0m" in coloured


def test_a_pipe_gets_a_line_for_each_result_and_the_rest_goes_to_stderr(home: Path) -> None:
    done = treeline(home, "search", "convret int to string", "-k", "1")
    assert done.stdout == f"{home.parent}/demo/strings.py:2:1: def number_to_text(number):\n"
    assert done.stderr == "treeline: searched for “convert” instead of “convret” (--as-typed turns correction off)\n"
    assert "instead of" not in treeline(home, "search", "convret int to string", "--as-typed").stderr


def test_calls_and_names_show_their_lines_and_count_them(tmp_path: Path) -> None:
    caller = (
        "\n\ndef read_all(paths):\n    a, *rest = paths\n    yield read_json(a)\n    yield from map(read_json, rest)\n"
    )
    home = tmp_path / "home"
    treeline(home, "index", str(project(tmp_path / "demo", {"files.py": FILES["files.py"] + caller})))
    shown = [line.strip() for line in on_terminal(home, "search", "what calls read_json", "-k", "1").split("\n")]
    assert shown[2] == f"1. read_all  {tmp_path}/demo/files.py:10  calls  1 of 2 in this file"
    assert shown[3:6] == ["9- a, *rest = paths", "10: yield read_json(a)", "11- yield from map(read_json, rest)"]
    piped = treeline(home, "search", "read_json", "-k", "1")
    assert piped.stdout == f"{tmp_path}/demo/files.py:2:5: def read_json(path):\n"


def test_who_interrupts_a_load_is_told_that_it_goes_on(tmp_path: Path) -> None:
    environment = os.environ | {"TREELINE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "treeline.service.cli", "index", "python-env", "--workers", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=ROOT) as load:
        patience = time.monotonic() + 120
        while not (tmp_path / "default" / "building").exists():  # it has begun to write
            assert time.monotonic() < patience
            time.sleep(0.05)
        load.send_signal(signal.SIGTERM)
        said = load.communicate(timeout=120)[1]
    assert load.returncode == 130
    assert "treeline: interrupted (the same command continues from here)" in said


def test_explain_says_which_lanes_found_it(home: Path) -> None:
    done = treeline(home, "search", "convert int to string", "-k", "1", "--explain")
    assert "keyword #1" in done.stdout
    assert "score" in done.stdout


@pytest.mark.parametrize("mode", ["keyword", "dense", "hybrid"])
def test_json_prints_nothing_but_json(home: Path, mode: str) -> None:
    done = treeline(home, "search", *"read a json file".split(), "--json", "--mode", mode)  # needs no quotes
    answer = json.loads(done.stdout)
    assert done.stderr == ""
    assert answer["results"][0]["func_name"] == "read_json"
    assert answer["results"][0]["code"].startswith("def read_json")
    assert (answer["mode"], answer["query"]) == (mode, "read a json file")
    signature, docstring = answer["results"][0]["lines_shown"]
    assert (signature["line"], docstring["line"]) == (2, 3)
    assert [docstring["text"][begin:end] for begin, end in docstring["spans"]] == ["Read", "JSON", "file"]


def test_a_structural_answer_says_how_many_are_exact_and_tells_the_rest_from_them(tmp_path: Path) -> None:
    home, caller = tmp_path / "home", "\ndef read_twice(path):\n    return read_json(path), read_json(path)\n"
    treeline(home, "index", str(project(tmp_path / "demo", FILES | {"files.py": FILES["files.py"] + caller})))
    called = on_terminal(home, "search", "what calls read_json")
    assert called.startswith("1 function is known to call the read_json defined in this index\n")
    first, _, rest = called.partition("── by keyword or meaning, not from the call graph ──")
    assert re.search(r"1\. read_twice .* calls  2 of 3 in this file$", first, re.MULTILINE)
    assert " 2. " in rest and "calls\n" not in rest
    library = on_terminal(home, "search", "who calls load")
    assert re.search(
        r"── with load\( in the code, not resolved by the call graph ──\n\n 1\. .* unresolved$", library, re.M
    )
    unknown = treeline(home, "search", "who calls read_jsonn").stderr
    assert unknown.startswith("treeline: no function called read_jsonn in this index; near it: read_json\n")


def test_nonsense_is_told_to_be_answered_by_meaning_alone(home: Path) -> None:
    shown = treeline(home, "search", "qwertyzxcv").stderr
    assert shown.startswith("treeline: nothing here contains these words; what follows is the nearest by meaning\n")
    assert json.loads(treeline(home, "search", "qwertyzxcv", "--json").stdout)["relaxed"] == ["meaning"]


def test_filters_narrow_the_search(home: Path) -> None:
    done = treeline(home, "search", "string", "--path", "files", "--json")
    assert {row["path"] for row in json.loads(done.stdout)["results"]} <= {"files.py"}
    nothing = treeline(home, "search", "string", "--language", "java")
    assert nothing.returncode == 1  # as grep
    assert "language java: there is none; there is: python" in nothing.stderr
    near = treeline(home, "search", "string", "--language", "pyton").stderr
    assert "language pyton: there is none; near it: python" in near
    said = treeline(home, "search", "x", "--partition", "train").stderr
    assert "partition train: this index has no partition" in said


def test_filters_and_excluded_words_in_the_question_are_understood_and_shown(home: Path) -> None:
    shown = on_terminal(home, "search", "string or file path:strings -upper")
    assert "number_to_text" in shown and "read_json" not in shown
    assert not re.search(r"^ *\d+\. shout ", shown, re.MULTILINE)
    assert ", only path strings; without “upper” · " in shown
    row = json.loads(treeline(home, "search", "lang:py text", "--json").stdout)
    assert (row["query"], row["filters"]["language"], row["excluded"]) == ("text", "python", [])


def test_the_help_names_the_commands_and_the_methods(home: Path) -> None:
    commands, methods = treeline(home, "--help").stdout, treeline(home, "search", "--help").stdout
    assert all(f"  {name} " in commands for name in ("index", "search", "serve", "status", "doctor"))
    assert all(method in methods for method in (*FUSIONS, *NAMES))


def test_an_empty_index_is_said_and_never_takes_the_place_of_one_with_functions(tmp_path: Path) -> None:
    home, demo = tmp_path / "home", project(tmp_path / "demo", {"one.py": "def one():\n    return 1\n"})
    (tmp_path / "empty").mkdir()
    nothing = treeline(home, "index", str(tmp_path / "empty"), "--name", "none")
    assert (nothing.returncode, nothing.stderr) == (
        0,
        "treeline: index 'none' is empty: there is nothing to search in it\n",
    )
    assert "now holds 2 units," in treeline(home, "index", str(demo)).stdout
    (demo / "one.py").unlink()
    for again in ([], ["--fresh"]):
        refused = treeline(home, "index", str(demo), *again)
        assert refused.returncode == 2
        assert "index 'default' would become empty, so it stays as it was" in only_line(refused)
        assert "default: 2 units, 1 repository" in treeline(home, "status").stdout
    removed = treeline(home, "index", "--remove", str(demo))
    assert removed.returncode == 0
    assert "is empty" in removed.stderr


def test_status_tells_what_there_is_and_manages_generations(tmp_path: Path) -> None:
    home, demo = tmp_path / "home", project(tmp_path / "demo", FILES)
    nothing = treeline(home, "status").stdout
    assert "no index yet" in nothing and nothing.endswith("make one with: treeline index SOURCE\n")
    summary = json.loads(treeline(home, "index", str(demo), "--json").stdout)
    assert [summary[key] for key in ("read", "indexed", "total", "engine")] == [5, 5, 5, "embedded"]
    (demo / "files.py").unlink()
    treeline(home, "index", str(demo))
    row = json.loads(treeline(home, "status", "--json").stdout)["indexes"][0]
    assert (row["name"], row["functions"], len(row["generations"])) == ("default", 3, 2)
    assert row["encoders"][0]["dimension"] == 256
    assert row["bytes"] > 0
    assert re.search(r"default: 3 units, .* \d+ kB\n", treeline(home, "status").stdout)
    back = treeline(home, "status", "--roll-back").stdout
    assert "back at generation 000001 (5 units); no roll-back leads to 000002 again" in back
    assert re.search(r"   000002 .* rolled back$", back, re.MULTILINE)
    assert "5 units" in treeline(home, "status").stdout
    nowhere = treeline(home, "status", "--roll-back")
    assert (nowhere.returncode, "no generation before 000001" in nowhere.stderr) == (2, True)
    assert "removed" in treeline(home, "status", "--prune", "1").stdout
    for other in (["--roll-back"], ["--prune", "1"]):
        both = treeline(home, "status", "--drop", "--name", "default", *other)
        assert (both.returncode, "cannot be combined" in both.stderr) == (2, True)
    assert treeline(home, "status", "--drop", "--name", "default").returncode == 0
    assert "no index yet" in treeline(home, "status").stdout


def test_doctor_names_what_is_missing_and_how_to_get_it(home: Path, tmp_path: Path) -> None:
    well = treeline(home, "doctor")
    assert well.returncode == 0, well.stdout
    assert "✓ index: default: 5 units" in well.stdout
    assert "✓ encoder: static:" in well.stdout
    ill = treeline(tmp_path, "doctor", "--json")
    assert ill.returncode == 1
    findings = {finding["what"]: finding for finding in json.loads(ill.stdout)}
    assert findings["index"]["state"] == "missing"
    assert "treeline index" in findings["index"]["hint"]


def test_doctor_looks_at_everything_although_a_program_does_not_run(home: Path, tmp_path: Path) -> None:
    broken = tmp_path / "git"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    done = treeline(home, "doctor", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert "does `git --version` answer?" in done.stdout


def test_doctor_looks_at_everything_although_a_setting_of_elasticsearch_is_wrong(home: Path) -> None:
    done = treeline(home, "doctor", TREELINE_ELASTICSEARCH_URL="http://me:secret@host:port")
    assert done.returncode == 0, done.stderr  # this index is not on it
    assert "✗ Elasticsearch: 'http://host:port' is no address" in done.stdout
    assert "✓ index: default: 5 units" in done.stdout
    assert "✓ git" in done.stdout


@pytest.mark.elasticsearch
def test_status_and_doctor_show_the_cluster_without_its_password(
    elasticsearch_cluster: Cluster, tmp_path: Path
) -> None:
    shown = elasticsearch_cluster.url
    url = {"TREELINE_ELASTICSEARCH_URL": shown.replace("//", "//me:secret@")}
    for command in (("status", "--engine", "elasticsearch"), ("doctor",)):
        told = treeline(tmp_path, *command, **url).stdout
        assert shown in told
        assert "secret" not in told


def test_advice_names_only_what_the_settings_do_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert how_to_index(Settings()) == "treeline index SOURCE"
    elsewhere = Settings(engine="elasticsearch", index="mine")
    assert how_to_index(elsewhere) == "treeline index SOURCE --engine elasticsearch --name mine"
    monkeypatch.setenv("TREELINE_ENGINE", "elasticsearch")
    assert how_to_index(elsewhere) == "treeline index SOURCE --name mine"
    assert how_to_index(Settings()) == "treeline index SOURCE --engine embedded"


@pytest.mark.elasticsearch
def test_doctor_shows_the_clusters_health_version_alias_count_and_encoder(
    elasticsearch_cluster: Cluster, tmp_path: Path
) -> None:
    there = {"TREELINE_ENGINE": "elasticsearch", "TREELINE_ELASTICSEARCH_URL": elasticsearch_cluster.url}
    demo = project(tmp_path / "demo", FILES)
    assert treeline(tmp_path, "index", str(demo), "--name", "seen", **there).returncode == 0
    well = treeline(tmp_path, "doctor", "--name", "seen", **there)
    assert well.returncode == 0, well.stdout
    assert "✓ index: seen: 5 units, alias treeline-seen → treeline-seen-000001, encoder static:" in well.stdout
    cluster = rf"Elasticsearch: {elasticsearch_cluster.url}: (green|yellow), 1 node, version {VERSION}, \d+ index"
    assert re.search(f"✓ {cluster}", well.stdout), well.stdout
    with connect([elasticsearch_cluster.url]) as client:  # what the server does itself when its disk is nearly full
        client.indices.put_settings(index="treeline-seen-000001", settings={"blocks.read_only_allow_delete": True})
    full = treeline(tmp_path, "doctor", "--name", "seen", **there)
    assert full.returncode == 1
    assert re.search(f"✗ {cluster}.*closed to writing  → .*disk", full.stdout), full.stdout
    assert treeline(tmp_path, "status", "--drop", "--name", "seen", **there).returncode == 0
    away = treeline(
        tmp_path, "doctor", TREELINE_ENGINE="elasticsearch", TREELINE_ELASTICSEARCH_URL="http://127.0.0.1:9"
    )
    assert away.returncode == 1
    assert "✗ Elasticsearch: http://127.0.0.1:9: does not answer  → start it" in away.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("eval", "minde"), "did you mean 'mined'?"),
        (("search",), "Missing argument 'QUESTION'"),
        (("search", ""), "empty"),
        (("search", "  \t "), "empty"),
        (("search", "x", "--mode", "magic"), "magic"),
        (("search", "x", "--rerank", "magic"), "magic"),
        (("search", "x", "--quality", "finest"), "finest"),
        (("search", "!!!"), "no word"),
        (("search", "x", "-k", "0"), "-k"),
        (("search", "x" * 100_001), "100,000"),
        (("search", "x", "--name", "other-name"), "other-name"),
        (("search", "x", "--name", "../../etc"), "../../etc"),
        (("index",), "SOURCE"),
        (("index", "/not/there"), "/not/there"),
        (("index", "github.com/owner/name"), "its URL is https://github.com/owner/name"),
        (("index", "codesearchnet:/not/there"), "/not/there"),
        (("index", "codesearchnet:klingon", "--download"), "go, java, javascript, php, python, ruby"),
        (("index", "codesearchnet:python", "--partition", "foo"), "'train', 'valid', 'test', 'pool'"),
        (("index", "python-env", "--encoder", "none"), "none"),
        (("index", "--remove", "nothing"), "nothing"),
        (("index", "/not/there", "--rejects", "/dev/null/x"), "cannot write /dev/null/x: /dev/null is no folder"),
        (("index", "/not/there", "--rejects", "/proc/x"), "cannot write /proc/x: in /proc: No such file or directory"),
        (("status", "--name", "other-name"), "other-name"),
        (("serve", "--port", "99999"), "99999"),
        (("--no-such-option",), "--no-such-option"),
        (("search", "x", "--mode", "dense", "--mode", "keyword"), "--mode given more than once (give each"),
        (("search", "x", "--name", ""), "'--name': it is empty"),
        (("search", "x", "--name", "a", "--global"), "--global and --name cannot be combined"),
        (("keys", "create", " "), "'NAME': it is empty"),
        (("status", "--drop"), "--drop needs --name"),
        (("serve", "--port", FREE_PORT, "--name", "My Code"), "'My Code' cannot be the name of an index"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(home: Path, arguments: tuple[str, ...], said: str) -> None:
    done = treeline(home, *arguments)
    assert said in only_line(done)
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (("search", "x"), {"LANE_DEPTH": "many"}, "TREELINE_LANE_DEPTH='many'"),
        (("search", "x"), {"ENGINE": "elasticsearch", "ELASTICSEARCH_URL": "http://127.0.0.1:9"}, "127.0.0.1:9"),
        (("serve", "--port", FREE_PORT), {"LOG_FORMAT": "xml"}, "TREELINE_LOG_FORMAT='xml' is not known"),
        (("serve", "--port", FREE_PORT), {"LOG_LEVEL": "loud"}, "TREELINE_LOG_LEVEL='loud' is not known"),
        (("serve", "--port", FREE_PORT), {"KEYS_REQUIRED": "some"}, "TREELINE_KEYS_REQUIRED='some' is not known"),
        (("serve", "--port", FREE_PORT), {"INDX": "small"}, "did you mean TREELINE_INDEX?"),
    ],
)
def test_a_wrong_setting_is_one_line_and_exit_code_2(
    home: Path, arguments: tuple[str, ...], settings: dict[str, str], said: str
) -> None:
    done = treeline(home, *arguments, **{f"TREELINE_{name}": value for name, value in settings.items()})
    assert said in only_line(done)
    assert done.returncode == 2


def test_a_load_tells_which_source_gave_nothing_and_which_is_no_longer_there(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", project(tmp_path / "my project", FILES)
    (tmp_path / "empty").mkdir()
    assert f"  nothing found in {tmp_path}/empty\n" in treeline(home, "index", str(folder), f"{tmp_path}/empty").stdout
    moved = folder.rename(tmp_path / "moved")
    told = treeline(home, "index", str(moved)).stdout
    command = f"treeline index --name default --remove '{folder}'"
    assert f"  no longer there: {folder} ({command} removes it)\n" in told
    assert "no longer there" not in treeline(home, "index", "--remove", str(folder)).stdout


def test_what_is_not_ours_to_read_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private.zip").touch()
    for source in tmp_path.iterdir():
        source.chmod(0)
        said = only_line(treeline(tmp_path / "home", "index", str(source), before=WITHOUT_ROOTS_RIGHTS))
        assert said == f"treeline: '{source}' cannot be read: Permission denied (ask its owner for access)"


def test_rejects_go_to_a_file_that_is_there_but_never_to_a_source(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text("no record\n")
    refused = treeline(tmp_path / "home", "index", str(records), "--rejects", str(records))
    assert "would overwrite it" in only_line(refused)
    assert records.read_text() == "no record\n"
    told = treeline(tmp_path / "home", "index", str(records), "--rejects", "/dev/stdout", before=["env"]).stdout
    assert json.loads(told.splitlines()[0])["reason"].startswith("broken JSON")


def test_an_offset_beyond_the_last_result_is_no_empty_answer(home: Path) -> None:
    done = treeline(home, "search", "string", "--offset", "900")
    assert re.search(r"there are only \d+ results?: --offset 900 skips", done.stderr)
    assert done.returncode == 1  # as grep


def test_a_key_file_in_no_folder_is_a_failure_in_one_line(home: Path) -> None:
    done = treeline(home, "keys", "create", "ci", TREELINE_KEY_FILE="/dev/null/keys.json")
    assert "/dev/null" in only_line(done)
    assert done.returncode == 1


def test_an_error_is_json_where_json_is_asked_for(home: Path) -> None:
    refused = treeline(home, "search", "--json", "/(a/")
    assert (refused.returncode, refused.stderr) == (2, "")
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "bad_input" and error["message"].startswith("/(a/ is no regular expression")
    usage = treeline(home, "show", "--json")
    assert (usage.returncode, json.loads(usage.stdout)["error"]["hint"]) == (2, "see treeline show --help")


def test_a_terminal_gets_long_answers_in_the_pager_and_leaving_it_early_is_no_error(home: Path) -> None:
    shown = on_terminal(home, "search", "convert int to string", PAGER="sed s/^/paged:/")
    assert shown.startswith("paged: 1. number_to_text")
    assert on_terminal(home, "search", "--no-pager", "int", PAGER="sed s/^/paged:/").startswith(" 1. number_to_text")
    assert on_terminal(home, "show", "shout", PAGER="true") == ""
    assert on_terminal(home, "show", "shout", PAGER="nothere").startswith("shout  demo  ")


@pytest.mark.parametrize("width", ["40", "20"])
def test_a_narrow_terminal_gets_no_line_that_is_too_long(home: Path, width: str) -> None:
    shown = on_terminal(home, "search", "read json file", COLUMNS=width)
    code = [line for line in shown.split("\n") if re.match(r" +(› )?\d+[:-]? ", line)]
    assert code and max(map(len, code)) <= max(int(width), 30)


@pytest.mark.parametrize("arguments", [["search"], ["search", "-l"], ["search", "--json"], ["--explain"]])
def test_an_interrupted_question_ends_with_130(home: Path, arguments: list[str]) -> None:
    environment = os.environ | {"TREELINE_HOME": str(home), "TREELINE_INDEX": "default"}
    command = [sys.executable, "-m", "treeline.service.cli", *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    pipes["preexec_fn"] = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # in a background job it is ignored
    with subprocess.Popen(command, env=environment, text=True, cwd=ROOT, **pipes) as asking:
        waiting = Path(f"/proc/{asking.pid}/wchan")
        patience = time.monotonic() + 120
        while "pipe" not in waiting.read_text():  # it reads the question
            assert time.monotonic() < patience
            time.sleep(0.05)
        asking.send_signal(signal.SIGINT)
        said = "".join(asking.communicate(timeout=120))
    assert asking.returncode == 130
    assert "interrupted" in said and "Traceback" not in said


def test_a_terminal_that_lacks_a_letter_gets_another(home: Path) -> None:
    latin = treeline(home, "search", "convret int to string", before=["env"], PYTHONIOENCODING="latin-1")
    assert (latin.returncode, "Traceback" in latin.stderr) == (0, False)
    assert "searched for ?convert? instead of ?convret?" in latin.stderr


def in_bash(home: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell, in which `$treeline` is the command."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; treeline='{sys.executable} -m treeline.service.cli'; {command}"],
        env=os.environ | {"TREELINE_HOME": str(home), "TREELINE_INDEX": "default"},
        capture_output=True,
        text=True,
        timeout=240,
        cwd=ROOT,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments",
    ["search string --full", "search string", "--all def", "search string --json", "show shout", "status", "-h"],
)
def test_a_reader_that_has_seen_enough_is_no_error(home: Path, arguments: str) -> None:
    """`true` reads nothing at all, so that every command meets a closed pipe."""
    done = in_bash(home, f"$treeline {arguments} | true")
    assert done.stderr == ""
    assert done.returncode == 0


def test_without_an_output_a_command_still_does_its_work(home: Path) -> None:
    done = in_bash(home, "$treeline status >&-")
    assert done.stderr == ""
    assert done.returncode == 0


def test_an_answer_that_cannot_be_written_is_a_failure_in_one_line(home: Path) -> None:
    done = in_bash(home, "$treeline search string > /dev/full")
    assert "No space left on device" in only_line(done)
    assert done.returncode == 1
