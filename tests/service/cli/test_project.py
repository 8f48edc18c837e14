"""Asking in any folder: the project is indexed, refreshed and answered at once."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import orjson
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from tests.elasticsearch_server import free_port
from tests.ingest.loading import enter_project, project
from tests.waiting import until
from treeline.corpus.errors import InputError, TreelineError
from treeline.encoder.registry import without_version
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.project import projects
from treeline.search.settings import from_environment
from treeline.service.cli import cli, doctor, occurrences, text
from treeline.service.projects import refresh_all

FILES = {
    "shop/cart.py": 'def total_price(items):\n    """Add up what is in the cart."""\n    return sum(items)\n',
    "shop/mail.py": 'class Mailer:\n    def send_receipt(self, to):\n        """Send a receipt by mail."""\n',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that nobody indexed yet, with this process in it."""
    return enter_project(tmp_path, FILES, monkeypatch)


def ask(*arguments: str) -> tuple[int, Result]:
    """The exit code as the command's value, and what it said."""
    said = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
    if said.exception:
        raise said.exception
    return said.return_value or 0, said


def test_a_question_needs_no_command_and_no_index(folder: Path) -> None:
    code, first = ask("add up the cart")
    assert code == 0 and "total_price" in first.stdout
    assert "demo: indexed 2 files" in first.stderr
    code, again = ask("add", "up", "the", "cart")
    assert code == 0 and "total_price" in again.stdout and again.stderr == ""


def test_what_is_left_out_is_listed_and_said_where_a_question_points_at_it(folder: Path) -> None:
    project(folder, {"out/a.py": "def hidden(): 0\n", ".gitignore": "out/\n*.tmp\n", "x.tmp": "", "shop/logo.png": ""})
    code, said = ask("status", "--skipped")
    assert code == 0
    assert re.search(r"1 × ignored folder\n  out/\n", said.stdout)
    assert re.search(r"1 × data or binary by its name\n  shop/logo.png\n", said.stdout)
    rows = orjson.loads(ask("status", "--skipped", "--json")[1].stdout)["skipped"]
    assert {"path": "x.tmp", "reason": "ignored"} in rows

    ignored = "out/ is left out: ignored folder (a line !out/ in .treelineignore brings it back)"
    for question in ("path:out/a.py hidden", "--all path:out/a.py hidden"):
        code, said = ask("search", *question.split())
        assert (code, said.stdout) == (1, "") and ignored in said.stderr
    assert ignored in ask("out/a.py")[1].stderr
    assert "x.tmp is left out: ignored" in ask("x.tmp")[1].stderr
    with pytest.raises(InputError, match=r"out/a\.py"):
        ask("show", "out/a.py:1")
    # Where something is indexed, what is not there is not left out.
    assert "left out" not in ask("search", "path:shop/", "zzqx")[1].stderr
    assert "has such a path" not in ask("search", "-path:shop/", "total_price")[1].stderr


def test_serve_without_an_index_serves_the_project_it_is_started_in(folder: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "treeline.service.cli", "serve", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout
            assert f"Treeline serves the project {folder} at http://127.0.0.1:{port}" in server.stdout.readline()
            bodies: list[bytes] = []

            def has_answer() -> bool:
                with suppress(OSError):
                    bodies.append(urlopen(f"http://127.0.0.1:{port}/api/search?q=add+up+the+cart").read())
                return bool(bodies)

            until(has_answer)
            assert orjson.loads(bodies[0])["results"][0]["func_name"] == "total_price"
        finally:
            server.terminate()


def test_doctor_checks_the_index_of_the_project_else_the_default_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (doctor.index,))  # the others start programs

    def told(*options: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["doctor", *options])
        return done.exit_code, done.stdout

    assert told() == (
        0,
        "– index: none yet  → `treeline QUESTION` in a repository makes one, or `treeline index SOURCE`\n",
    )
    code, said = told("--name", "default")
    assert code == 1 and "there is no index 'default'" in said
    ask("index", str(folder), "--name", "default", "--workers", "0")
    assert told()[1].startswith("✓ index: default: ")
    ask("add up the cart")
    code, said = told()
    assert code == 0 and said.startswith(f"✓ index: {projects(from_environment().home_path)[0].index}: ")
    assert told("--name", "default")[1].startswith("✓ index: default: ")
    monkeypatch.setenv("TREELINE_INDEX", "other")
    code, said = told()
    assert code == 1 and "there is no index 'other'" in said


def test_options_may_come_first(folder: Path) -> None:
    code, said = ask("-k", "1", "--json", "add up the cart")
    assert code == 0 and len(orjson.loads(said.stdout)["results"]) == 1


def test_what_matches_inside_a_class_stands_under_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "is_for_a_person", lambda: True)
    _, said = ask("kind:class,method receipt mailer")
    lines = [line.strip() for line in said.stdout.split("\n")]
    assert "› 2 def send_receipt(self, to):" in lines
    _, said = ask("--json", "kind:class,method receipt mailer")
    by_kind = {row["kind"]: row["members"] for row in orjson.loads(said.stdout)["results"]}
    assert by_kind["method"] == []
    assert [(one["func_name"], one["lines"]) for one in by_kind["class"]] == [("Mailer.send_receipt", [2, 3])]


def test_emacs_compile_mode_gets_a_line_for_each_match(folder: Path) -> None:
    """It gives a terminal to the program, whose output it reads for places."""

    def said(**environment: str) -> str:
        own, terminal = os.openpty()
        command = [sys.executable, "-m", "treeline.service.cli", "send_receipt"]
        subprocess.run(command, stdout=terminal, env={**os.environ, "TERM": "dumb", **environment}, check=True)
        return os.read(own, 10_000).decode()

    assert re.match(r"\S+\.py:\d+:\d+: ", said(INSIDE_EMACS="28.2,compile"))
    assert said().startswith(" 1. ")


def test_a_changed_file_is_seen_and_said(folder: Path) -> None:
    ask("receipt")
    (folder / "shop" / "cart.py").write_text('def grand_total(items):\n    """Add up the cart."""\n', encoding="utf-8")
    _, said = ask("add up the cart")
    assert "grand_total" in said.stdout and "total_price" not in said.stdout
    assert "refreshed" in said.stderr and "1 changed" in said.stderr


def test_a_project_obeys_the_encoder_setting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def encoder(setting: str | None) -> tuple[list[str], str]:
        """Ask with this setting: the encoders of the index, and what was said about it."""
        if setting is None:
            monkeypatch.delenv("TREELINE_ENCODER", raising=False)
        else:
            monkeypatch.setenv("TREELINE_ENCODER", setting)
        code, said = ask("add up the cart")
        assert code == 0
        _, status = ask("status", "--json")
        [index] = orjson.loads(status.stdout)["indexes"]
        return [without_version(spec["name"]) for spec in index["encoders"]], said.stderr

    made, said = encoder("none")
    assert made == [] and "indexed" in said and "again" not in said
    assert encoder("none") == ([], "")
    assert encoder(None) == ([], "")  # a program without the setting leaves the index as it is
    made, said = encoder("static")
    assert made == ["static"] and "again with encoder static:" in said
    assert encoder(None) == encoder("static") == (["static"], "")
    made, said = encoder("none")
    assert made == [] and "again with encoder none" in said


def test_indexing_the_project_one_is_in_updates_its_own_index(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def own() -> str:
        home = from_environment().home_path
        [index] = {one.index for one in projects(home)} & set(EmbeddedStore(home).names())
        return index

    _, said = ask("index", ".")
    assert said.stdout.startswith("demo: indexed 2 files")
    (folder / "shop" / "cart.py").write_text('def grand_total(items):\n    """Add up the cart."""\n', encoding="utf-8")
    monkeypatch.chdir(folder / "shop")
    _, said = ask("index", ".", "--json")
    assert orjson.loads(said.stdout) | {"changed": 1, "files": 2} == orjson.loads(said.stdout)
    _, said = ask("index", "..", "--fresh", "--encoder", "static")
    assert "indexed 2 files" in said.stdout
    store = EmbeddedStore(from_environment().home_path)
    assert [without_version(spec.name) for spec in store.info(own()).encoders] == ["static"]
    assert list(store.names()) == [own()]
    with pytest.raises(InputError, match="--language does not apply to a project's own index"):
        ask("index", "..", "--language", "python")
    ask("index", "..", "--name", "named", "--workers", "0")
    ask("index", "cart.py", "--workers", "0")
    assert sorted(store.names()) == sorted(["default", "named", own()])


def test_in_a_folder_below_the_same_project_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("receipt")
    monkeypatch.chdir(folder / "shop")
    code, said = ask("add up the cart")
    assert code == 0 and "indexed" not in said.stderr


def test_nothing_found_exits_with_1_and_an_error_with_2(folder: Path) -> None:
    code, _ = ask("--language", "cobol", "add up the cart")
    assert code == 1
    with pytest.raises(TreelineError) as refused:
        ask("--name", "nobody-made-it", "add up")
    assert refused.value.exit_code == 2


def test_a_mistyped_command_is_told_and_not_searched_for(folder: Path) -> None:
    with pytest.raises(InputError, match="stauts") as refused:
        ask("stauts")
    assert "status" in refused.value.hint and "treeline search stauts" in refused.value.hint.replace("cli", "treeline")


def test_global_asks_every_index(folder: Path, tmp_path: Path) -> None:
    ask("receipt")
    other = project(tmp_path / "other", {"zoo.py": 'def feed_lions(zoo):\n    """Feed the lions."""\n    return zoo\n'})
    ask("index", str(other), "--name", "zoo")
    code, said = ask("--global", "--json", "feed the lions")
    assert code == 0
    body = orjson.loads(said.stdout)
    assert body["results"][0]["func_name"] == "feed_lions"
    assert [result["rank"] for result in body["results"]] == list(range(1, len(body["results"]) + 1))
    code, said = ask("--global", "send a receipt by mail")
    assert "send_receipt" in said.stdout


def test_several_folders_are_searched_with_one_question(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path / "other", {"zoo.py": 'def feed_lions(zoo):\n    """Feed the lions."""\n    return sum(zoo)\n'})
    project(folder, {"mall/cart.py": "def total(items):\n    return sum(items)\n"})
    monkeypatch.chdir(tmp_path)
    both = ("--in", "demo", "--in", "other")
    code, said = ask("search", *both, "feed the lions or send a receipt")
    assert code == 0 and "other/zoo.py:1:5: def feed_lions" in said.stdout and "demo/shop/mail.py:2" in said.stdout
    code, said = ask("search", *both, "--all", "sum(")
    assert said.stdout.splitlines() == [
        "demo/mall/cart.py:2:12:     return sum(items)",
        "demo/shop/cart.py:3:12:     return sum(items)",
        "other/zoo.py:3:12:     return sum(zoo)",
    ]
    # A folder of a project is that part of it alone.
    assert ask("search", "--in", "demo/mall", "-l", "sum(")[1].stdout == "demo/mall/cart.py\n"
    assert "shop/" not in ask("search", "--in", "demo/mall", "total")[1].stdout
    with pytest.raises(InputError, match="--in with a folder of a project and path: cannot be combined"):
        ask("search", "--in", "demo/mall", "path:shop total")
    with pytest.raises(InputError, match="--global and --in cannot be combined"):
        ask("search", "--global", "--in", "demo", "total")


def test_every_occurrence_in_every_index_is_listed(folder: Path, tmp_path: Path) -> None:
    ask("receipt")
    other = project(tmp_path / "other", {"zoo.py": "def weigh(zoo):\n    return sum(zoo)\n"})
    ask("index", str(other), "--name", "zoo")
    code, said = ask("search", "--global", "-c", "sum(")
    assert (code, said.stdout) == (0, "shop/cart.py:1\nother/zoo.py:1\n")
    assert ask("search", "--global", "zzqx(")[0] == 1


def test_the_second_page_of_everything_follows_the_first(folder: Path, tmp_path: Path) -> None:
    ask("receipt")
    other = project(tmp_path / "other", {"zoo.py": 'def feed_lions(zoo):\n    """Feed the lions."""\n    return zoo\n'})
    ask("index", str(other), "--name", "zoo")

    def found(*options: str) -> list[str]:
        _, said = ask("search", "--global", "--json", *options, "feed the lions or send a receipt")
        return [result["url"] for result in orjson.loads(said.stdout)["results"]]

    whole = found("-k", "4")
    assert [*found("-k", "2"), *found("-k", "2", "--offset", "2")] == whole


def test_global_refreshes_the_projects_it_searches(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("receipt")
    monkeypatch.chdir(tmp_path)
    (folder / "shop" / "cart.py").write_text('def grand_total(items):\n    """Add up the cart."""\n', encoding="utf-8")
    (folder / "shop" / "bill.py").write_text('def print_bill(items):\n    """Print the bill."""\n', encoding="utf-8")
    _, said = ask("--global", "add up the cart")
    assert "grand_total" in said.stdout and "total_price" not in said.stdout
    assert said.stderr == "treeline: refreshed demo (1 changed, 1 new)\n"
    _, said = ask("--global", "add up the cart")
    assert "grand_total" in said.stdout and said.stderr == ""


def test_global_leaves_out_a_project_whose_folder_is_gone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("receipt")
    other = project(tmp_path / "zoo", {"zoo.py": 'def feed_lions(zoo):\n    """Feed the lions."""\n    return zoo\n'})
    monkeypatch.chdir(other)
    ask("lions")
    folder.rename(tmp_path / "moved")
    _, said = ask("--global", "add up the cart or feed the lions")
    assert "feed_lions" in said.stdout and "total_price" not in said.stdout
    assert said.stderr == f"treeline: left out, folder gone: {folder}\n"


def test_global_names_an_index_that_fails_and_searches_the_others(folder: Path, tmp_path: Path) -> None:
    ask("receipt")
    other = project(tmp_path / "other", {"zoo.py": 'def feed_lions(zoo):\n    """Feed the lions."""\n    return zoo\n'})
    ask("index", str(other), "--name", "zoo")
    for bodies in (tmp_path / "home" / "zoo").glob("*/text/*.store"):
        bodies.write_bytes(b"nonsense")
    code, said = ask("--global", "send a receipt or feed the lions")
    assert code == 0 and "send_receipt" in said.stdout and "feed_lions" not in said.stdout
    assert "treeline: without index zoo: " in said.stderr
    _, said = ask("--global", "--json", "send a receipt or feed the lions")
    assert [lane["lane"] for lane in orjson.loads(said.stdout)["degraded"]] == ["index zoo"]


def test_a_refresh_of_all_projects_ends_when_its_time_is_up(folder: Path) -> None:
    ask("receipt")
    (folder / "shop" / "cart.py").unlink()
    settings = from_environment()
    names = [one.index for one in projects(settings.home_path)]
    late = refresh_all(settings, names, limit_s=0)
    assert str(late) == "no time to check 1 project for changes" and late.refreshed == ()
    assert str(refresh_all(settings, names, limit_s=600)) == "refreshed demo (1 deleted)"


def test_escapes_in_the_name_of_a_folder_are_written_out(folder: Path, tmp_path: Path) -> None:
    hostile = project(tmp_path / "a\x1b[2Jb", FILES)
    said = b""
    for arguments in (["add up the cart"], ["index", "."], ["status"], ["doctor"], ["index", ".", "--ref", "x"]):
        command = [sys.executable, "-m", "treeline.service.cli", *arguments]
        done = subprocess.run(command, cwd=hostile, capture_output=True, timeout=240, check=False)
        said += done.stdout + done.stderr
    command = [sys.executable, "-m", "treeline.service.cli", "index", str(hostile / "gone"), "--name", "x"]
    said += subprocess.run(command, capture_output=True, timeout=240, check=False).stderr
    assert b"\x1b" not in said and said.count(b"a[U+001B][2Jb") >= 4


def test_status_lists_the_projects(folder: Path) -> None:
    ask("receipt")
    _, said = ask("status")
    assert re.search(rf"demo, project {folder} \(--name demo\.[0-9a-f]{{10}}\): \d+ units", said.stdout)


def test_the_outline_of_a_file_nests_its_definitions(folder: Path) -> None:
    _, said = ask("outline", "shop/mail.py")
    lines = said.stdout.splitlines()
    assert any(line.split() == ["1", "class", "Mailer"] for line in lines)
    inner = next(line for line in lines if "send_receipt" in line)
    assert inner.startswith("     2    ")  # inside the class


def test_encoders_and_commands_are_completed() -> None:
    shell = ShellComplete(cli, {}, "treeline", "_TREELINE_COMPLETE")
    assert [item.value for item in shell.get_completions(["index", "--encoder"], "")] == ["static", "deep", "none"]
    assert [item.value for item in shell.get_completions(["index", "--encoder"], "d")] == ["deep"]
    assert [item.value for item in shell.get_completions([], "wat")] == ["watch"]


def test_tests_are_indexed_and_come_after_code(folder: Path) -> None:
    (folder / "tests").mkdir()
    tests = "from shop.cart import total_price\n\n" + "".join(
        f"def test_{number}():\n    assert total_price([{number}]) == {number}\n\n" for number in range(3)
    )
    (folder / "tests/test_cart.py").write_text(tests)
    (folder / "shop/till.py").write_text("from shop.cart import total_price\n\ndef pay(cart):\n    total_price(cart)\n")

    def answer(*question: str) -> tuple[str, list[str]]:
        _, said = ask(*question, "--json")
        body = orjson.loads(said.stdout)
        return (body["exact"] or {}).get("answer", ""), [one["func_name"] for one in body["results"]]

    said, names = answer("what calls total_price")
    assert said.startswith("1 function is known to call the total_price defined in this index, and 3 in tests")
    assert names[:4] == ["pay", "test_0", "test_1", "test_2"]
    assert answer("tests of total_price")[0].startswith("3 tests are known to use")
    assert answer("path:tests/ total_price")[1][:1] != ["total_price"]
    assert answer("total_price", "--no-tests", "-k", "9")[1][0] == "total_price"
    assert not {"test_0", "test_1", "test_2"} & set(answer("total_price", "--no-tests", "-k", "9")[1])
    assert set(answer("total_price", "--tests", "-k", "9")[1]) <= {"test_0", "test_1", "test_2", "test_cart.py"}


def test_paths_are_relative_to_where_one_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("shop/inner/coupon.py", "docs/total.py", "shop/docs/total.py"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("def total_of_coupons(coupons):\n    return sum(coupons)\n")
    (folder / os.fsdecode(b"caf\xe9.py")).write_text("def total_of_coffee(cups):\n    return sum(cups)\n")

    def paths(*question: str) -> set[str]:
        _, said = ask("total", "-k", "20", *question, "--json")
        return {one["path"] for one in orjson.loads(said.stdout)["results"]}

    assert paths(os.fsdecode(b"path:caf\xe9")) == {"caf\\xe9.py"}
    assert paths("--path", ".") == paths()
    monkeypatch.chdir(folder / "shop")
    assert all(path.startswith("shop/") for path in paths("--path", "."))
    assert paths("path:inner/") == paths("path:./inner") == {"shop/inner/coupon.py"}
    assert paths("--path", "../docs") == {"docs/total.py"}
    assert paths("path:docs/") == {"shop/docs/total.py"}
    assert "shop/docs/total.py" not in paths("-path:docs/") >= {"docs/total.py"}
    with pytest.raises(InputError, match="outside of the project"):
        ask("total", "--path", "../..")


def test_the_home_folder_is_no_project_unasked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    with pytest.raises(InputError, match="is your home folder"):
        ask("total price")


def test_values_of_filters_are_completed_in_the_question_and_as_options(folder: Path) -> None:
    ask("search", "total", "-k", "1")
    (folder / "docs").mkdir()
    shell = ShellComplete(cli, {}, "treeline", "_TREELINE_COMPLETE")
    for words, start, values in (
        ([], "lang:p", ["lang:python"]),
        (["total"], "lang:go,P", ["lang:go,python"]),
        (["search"], "role:te", ["role:test"]),
        (["search", "--language"], "py", ["python"]),
        (["search", "--path"], "shop/c", ["shop/cart.py"]),
        (["total"], "path:do", ["path:docs/"]),
    ):
        assert [item.value for item in shell.get_completions(words, start)] == values


def test_a_filter_with_a_hyphen_is_no_option(folder: Path) -> None:
    _, everything = ask("total", "-k", "9", "--json")
    _, without = ask("total", "-path:shop/cart", "-k", "9", "--json")
    paths = [{one["path"] for one in orjson.loads(each.stdout)["results"]} for each in (everything, without)]
    assert paths[0] - paths[1] == {"shop/cart.py"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_and_installed(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    _, printed = ask("completion", shell)
    assert "_TREELINE_COMPLETE" in printed.stdout
    _, said = ask("completion", shell, "--install")
    written = Path(said.stdout.split("written: ")[1].split(";")[0])
    assert written.is_relative_to(tmp_path) and "_TREELINE_COMPLETE" in written.read_text(encoding="utf-8")


def test_the_shell_is_given_the_commands(tmp_path: Path) -> None:
    environment = os.environ | {"_TREELINE_COMPLETE": "bash_complete", "COMP_WORDS": "treeline st", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", "from treeline.service.cli import main; main()"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert "plain,status" in said.stdout


def test_exact_text_is_listed_wherever_it_occurs_relative_to_where_one_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "settings.toml").write_text('# a cart, and a Cart\ncart = "cart"\n')
    code, every = ask('"cart"')
    assert (code, every.stderr) == (0, "")
    assert every.stdout.splitlines() == [
        "settings.toml:1:5: # a cart, and a Cart",
        'settings.toml:2:1: cart = "cart"',
        'shop/cart.py:2:30:     """Add up what is in the cart."""',
    ]
    monkeypatch.chdir(folder / "shop")
    assert ask("-l", "cart")[1].stdout == "../settings.toml\ncart.py\n"
    assert ask("-c", "cart")[1].stdout == "../settings.toml:2\ncart.py:1\n"
    assert ask("-o", "/c[a-z]rt/ path:settings")[1].stdout.splitlines() == [
        "../settings.toml:1:5: cart",
        "../settings.toml:1:17: Cart",
        "../settings.toml:2:1: cart",
        "../settings.toml:2:9: cart",
    ]
    assert ask("-B", "1", "Add up")[1].stdout.splitlines() == [
        "cart.py-1- def total_price(items):",
        'cart.py:2:8:     """Add up what is in the cart."""',
    ]
    assert ask("-c", "Cart", "--language", "toml")[1].stdout == "../settings.toml:1\n"
    assert ask("-ci", "CART", "--language", "toml")[1].stdout == "../settings.toml:2\n"
    rows = orjson.loads(ask("--all", "--json", "Cart")[1].stdout)["files"]
    assert [(row["path"], row["occurrences"], row["lines"][0]["column"]) for row in rows] == [("settings.toml", 1, 17)]
    code, nothing = ask("--all", "carts")
    assert (code, nothing.stdout, nothing.stderr) == (1, "", "treeline: nothing here contains carts\n")
    assert ask("--all", "CART")[1].stderr == "treeline: nothing here contains CART in this case (-i ignores it)\n"
    (folder / "settings.toml").unlink()
    assert ask("-l", "cart")[1].stdout == "cart.py\n"
    with pytest.raises(InputError, match="is of exact text"):
        ask("--all", '"cart" price')


def test_occurrences_need_no_index_and_are_the_same_with_one(folder: Path) -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDQ7x\n" * 3
    files = {"key.txt": key, "prod.env": "KEY=1", "blob": "KEY\0", "out/a.py": "KEY", ".gitignore": "out/"}
    project(folder, files | {"read.py": "PRIVATE KEY", "r\u00e9.md": "KEY"})
    before = ask("--all", "KEY")[1].stdout
    assert before.splitlines() == ["read.py:1:9: PRIVATE KEY", "r\u00e9.md:1:1: KEY"]
    assert not projects(from_environment().home_path)
    ask("index", ".")
    assert ask("--all", "KEY")[1].stdout == before and projects(from_environment().home_path)


def test_names_that_are_no_utf8_and_what_is_no_plain_file_any_more_are_survived(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (folder / name).write_bytes(b"def caf\xe9(): # the cart\r\n    pass\r\n")
    assert ask("--all", "# the cart")[1].stdout == "caf\\xe9.py:1:13: def caf\ufffd(): # the cart\n"
    (folder / "shop" / "cart.py").unlink()
    (folder / "shop" / "cart.py").symlink_to("/dev/zero")
    assert ask("-l", "the cart")[1].stdout == "caf\\xe9.py\n"


def test_the_texts_of_a_named_index_are_searched_although_its_folder_is_gone(folder: Path) -> None:
    ask("index", str(folder), "--name", "shop", "--workers", "0")
    (folder / "shop" / "cart.py").unlink()
    assert ask("--name", "shop", '"the cart"')[1].stdout.startswith("demo/shop/cart.py:2:26: ")


def test_many_files_are_searched_side_by_side_in_the_same_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        (folder / f"{number}.py").write_text(f"x = {number}\n")
    alone = ask("--all", "x =")[1].stdout
    monkeypatch.setattr(occurrences, "SIDE_BY_SIDE", 1)
    assert ask("--all", "x =")[1].stdout == alone and alone.count("\n") == 9


def test_a_heading_is_no_rival_of_a_definition(folder: Path) -> None:
    project(folder, {"README.md": "# Mailer\n\nSends mail.\n\n# Setting up\n\nNothing to do.\n"})
    assert "shop/mail.py:1" in ask("show", "Mailer")[1].stdout
    assert "README.md:5" in ask("show", "Setting up")[1].stdout


def test_show_of_a_file_is_its_outline_and_an_empty_folder_is_called_empty(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask("show", "shop/mail.py")[1].stdout == ask("outline", "shop/mail.py")[1].stdout != ""
    empty = folder.parent / "empty"
    (empty / ".git").mkdir(parents=True)
    monkeypatch.chdir(empty)
    code, said = ask("add up the cart")
    assert code == 1 and said.stderr.startswith(f"treeline: empty: no file in {empty} is code or text to search (")
    assert "nothing found in index 'empty' (0 units)" in said.stderr
