"""Asking with an issue from standard input, and asking the history of a project."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import orjson
import pytest
from click.testing import CliRunner

import treeline
from tests.ingest.test_history import commit, git
from treeline.corpus.errors import InputError
from treeline.graph.git import run_git
from treeline.graph.history import history_file
from treeline.ingest import history as histories
from treeline.ingest.project import find_project
from treeline.search.settings import from_environment
from treeline.service.app import create_app
from treeline.service.cli import cli

CART = 'def total_price(items):\n    """Add up what is in the cart."""\n    return sum(items)\n'
MAIL = "def hand_over(to):\n    return to\n"
ISSUE = """Receipts are sent twice

When I order something, `total_price` is right -and- the receipt comes twice.
It began with version 2.
Mine is 2.1.
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a history that is read at once, with this process in it."""
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREELINE_ENCODER", "none")
    monkeypatch.delenv("TREELINE_INDEX", raising=False)
    monkeypatch.setattr(histories, "update_behind", histories.update)
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, "Add up carts", {"shop/cart.py": CART})
    commit(root, "Send a receipt by mail after each order", {"shop/post.py": MAIL})
    monkeypatch.chdir(root)
    return root


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "treeline.service.cli", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_issue_on_standard_input_leads_to_the_files_that_like_commits_changed(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("search", "add up the cart")
    done = run("--json", text=ISSUE)
    answer = orjson.loads(done.stdout)
    assert answer["route"] == "issue"
    assert {row["path"] for row in answer["results"]} == {"shop/cart.py", "shop/post.py"}
    said = run("search", "--explain", text=ISSUE).stdout
    assert "changed by commits about the same" in said and "Send a receipt by mail after each order" in said
    assert "read as an issue: its first line" in (complete := run(text=ISSUE).stderr) and "history" not in complete
    (shop / ".git" / "shallow").write_bytes(run_git(shop, "rev-parse", "HEAD"))
    ask("log", "carts")
    assert "the clone is shallow" in run(text=ISSUE).stderr and "the clone is shallow" in run("log", "carts").stderr
    monkeypatch.setenv("TREELINE_HISTORY", "false")
    rmtree(Path(os.environ["TREELINE_HOME"]) / ".history")
    assert "without a history" in run(text=ISSUE).stderr


def test_a_function_that_the_last_commits_touched_comes_sooner_for_an_issue(shop: Path) -> None:
    tax = "def tax_{0}(cart):\n    gifts = {1}\n    return gifts + len(cart)\n\n\n"
    for number in range(5):
        commit(shop, f"Gifts {number}", {"shop/tax.py": tax.format("old", 1) + tax.format("new", number)})
    (shop / "shop/tax.py").write_text("# not committed\n" * 9 + tax.format("old", 1) + tax.format("new", 4))
    ask("log", "carts")
    rows = orjson.loads(run("--json", "--explain", text=f"{ISSUE}\nIs the tax of the gifts wrong?\n").stdout)["results"]
    reasons = {row["func_name"]: row["why"]["reason"] for row in rows}
    assert list(reasons).index("tax_new") < list(reasons).index("tax_old")
    assert "touched by the last commits of its file" in reasons["tax_new"]


def index(root: Path) -> str:
    return find_project(root, Path(os.environ["TREELINE_HOME"])).index


def test_an_empty_standard_input_is_an_empty_question(shop: Path) -> None:
    assert "the question is empty" in run("search").stderr


def ask(*arguments: str) -> tuple[int, str]:
    said = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
    if said.exception:
        raise said.exception
    return said.return_value or 0, said.stdout


def test_commits_are_found_by_what_they_are_about(shop: Path) -> None:
    code, said = ask("log", "who", "mails", "receipts")
    assert code == 0
    assert "Ada: Send a receipt by mail after each order" in said and "shop/post.py" in said and "carts" not in said
    assert ask("log", "nothing", "zebra")[0] == 1


def test_the_last_commits_of_a_file_are_listed(shop: Path) -> None:
    commit(shop, "Round the sum", {"shop/cart.py": f"{CART}\n"})
    rows = orjson.loads(ask("log", "--path", "shop/cart.py", "--json")[1])["commits"]
    assert [row["subject"] for row in rows] == ["Round the sum", "Add up carts"]
    assert rows[0]["paths"] == ["shop/cart.py"]


def test_what_changed_lately_is_the_last_commits_of_the_subjects_files_newest_first(shop: Path) -> None:
    commit(shop, "Round the sum", {"shop/cart.py": f"{CART}\n"})
    code, said = ask("log", "what changed in the cart lately")
    assert code == 0
    assert [line.split(": ")[1] for line in said.splitlines() if "Ada" in line] == ["Round the sum", "Add up carts"]
    assert ask("search", "kind:commit what changed in the cart lately") == (code, said)


def test_a_commit_is_a_result_with_the_definitions_that_it_touched(shop: Path) -> None:
    commit(shop, "Round the sum", {"shop/cart.py": CART.replace("sum(items)", "round(sum(items))")})
    commit(shop, "Say where the sum is used", {"shop/cart.py": f"# {CART.replace('sum(items)', 'round(sum(items))')}"})
    assert "    shop/cart.py:1 total_price" not in ask("log", "receipt by mail")[1]
    assert "    shop/post.py:1 hand_over" in ask("log", "receipt by mail")[1]
    said = ask("search", "kind:commit path:shop/post.py sum cart receipt")[1]
    assert "receipt" in said and "sum" not in said
    with treeline.open_project(shop, home=os.environ["TREELINE_HOME"]) as project:
        first = project.search("kind:commit receipt by mail")[0]
        assert first.kind == "commit" and first.name.endswith(" Send a receipt by mail after each order")
        assert "Ada, 20" in first.why and "shop/post.py" in first.why
        assert [(one.name, one.first_line) for one in first.members] == [("hand_over", 1)]
        assert project.search("receipt", kind="commit") == project.search("kind:commit receipt")
        assert [one.rank for one in project.search("kind:commit sum cart receipt", 1, offset=1)] == [2]
    settings = replace(from_environment(), index=index(shop))
    body = create_app(settings).test_client().get("/api/search?q=kind:commit+sum+cart+receipt&k=1").json or {}
    assert body["total"] > 1 and body["next_offset"] == 1 and body["results"][0]["kind"] == "commit"


def test_who_knows_a_subject_is_answered_by_authors_with_their_commits(shop: Path) -> None:
    commit(shop, "Round the sum", {"shop/cart.py": f"{CART}\n"})
    said = ask("log", "who", "knows", "the", "cart")[1]
    assert said.startswith("Ada  2 commits, last on 20")
    assert [one["commits"] for one in orjson.loads(ask("log", "--json", "who knows the cart")[1])["people"]] == [2]


def test_a_question_when_something_stopped_finds_what_was_dropped(shop: Path) -> None:
    commit(shop, "Support orders by fax", {"shop/fax.py": MAIL})
    commit(shop, "Drop orders by fax", {"shop/fax.py": f"{MAIL}\n"})
    assert "Drop orders by fax" in ask("log", "when did we stop orders by fax")[1].splitlines()[0]


def test_a_folder_without_a_history_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shop: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.py").write_text(CART, encoding="utf-8")
    monkeypatch.chdir(plain)
    with pytest.raises(InputError, match="no history of this folder"):
        ask("log", "carts")
    with pytest.raises(InputError, match="a question or --path"):
        ask("log")
    with pytest.raises(InputError, match="plain is no git checkout"):
        ask("impact")
    with pytest.raises(InputError, match="git cannot compare"):
        ask("impact", "HEAD~1..HEAD")


def test_a_history_goes_with_its_index(shop: Path) -> None:
    ask("search", "add up the cart")
    file = history_file(Path(os.environ["TREELINE_HOME"]), index(shop))
    assert file.exists() and file.parent.stat().st_mode & 0o077 == 0
    ask("status", "--drop", "--name", index(shop))
    assert not file.exists()


TILL = """from shop.cart import total_price


def charge(items):
    return total_price(items)


def test_charge():
    assert charge([1]) == 1
"""


def test_impact_lists_what_depends_on_a_change_and_what_changes_with_it(shop: Path) -> None:
    commit(shop, "Charge", {"shop/till.py": TILL})
    for price in range(3):
        commit(shop, f"Price {price}", {"shop/cart.py": f"# {price}\n{CART}", "prices.json": f"{price}"})
    assert ask("impact")[0] == 1
    (shop / "shop/cart.py").write_text(CART.replace("sum(items)", "sum(items) - 1"))
    result = orjson.loads(ask("impact", "--json")[1])
    assert [one["func_name"] for one in result["definitions"]] == ["total_price"]
    dependents = {one["name"]: (one["relation"], one["test"], one["depth"]) for one in result["dependents"]}
    assert dependents == {"charge": ("calls", False, 1), "test_charge": ("calls", True, 2)}
    likely = {one["path"]: one for one in result["likely"]}
    assert next(iter(likely)) == "prices.json" and likely["prices.json"]["commits"] == 3
    said = ask("impact", "total_price")[1]
    assert "shop/till.py:4  charge calls total_price" in said and "prices.json  changed together 3 times" in said


def test_a_file_with_words_that_a_change_removes_and_one_that_it_names_likely_change_too(shop: Path) -> None:
    commit(shop, "Set up", {"shop/till.py": 'LIMIT = read("till_limit")\n', "shop.toml": "till_limit = 3\n"})
    (shop / "shop/till.py").write_text('LIMIT = read("limit_of_till")\n')
    reasons = {one["path"]: one["reasons"] for one in orjson.loads(ask("impact", "--json")[1])["likely"]}
    assert "has words that the change removes" in reasons["shop.toml"]
    commit(shop, "Vat", {"shop/receipt.py": CART})
    (shop / "shop/till.py").write_text('LIMIT = read("limit_of_till", receipt)\n')
    reasons = {one["path"]: one["reasons"] for one in orjson.loads(ask("impact", "--json")[1])["likely"]}
    assert "named in the change" in reasons["shop/receipt.py"]


def test_impact_names_calls_of_what_is_gone_and_compares_revisions_and_diffs(shop: Path) -> None:
    commit(shop, "Charge", {"shop/till.py": TILL})
    commit(shop, "Rename", {"shop/cart.py": CART.replace("total_price", "price_of")})
    assert "total_price is gone, and still called in shop/till.py:4" in ask("impact", "HEAD~1..HEAD")[1]
    diff = subprocess.run(["git", "-C", str(shop), "diff", "HEAD~1"], capture_output=True, check=True).stdout
    (shop / "rename.diff").write_bytes(diff)
    assert "1 definition of 1 file changed" in ask("impact", "rename.diff")[1]
    with pytest.raises(InputError, match=r"git cannot compare nowhere\.\.HEAD"):
        ask("impact", "nowhere..HEAD")
    with pytest.raises(InputError, match=r"nowhere\.diff is not there"):
        ask("impact", "nowhere.diff")
    assert ask("log", "--path", "nowhere.py") == (1, "")


def test_no_escape_or_token_in_a_commit_reaches_the_terminal(shop: Path) -> None:
    bad = "\x1b[2J\u202e"
    git(shop, "config", "user.name", f"E{bad}ve")
    commit(shop, f"Total{bad}", {f"shop{bad}/to\n{bad}tal.py": CART.replace("total_price", "total") + f"# {bad}\n"})
    commit(shop, "Total key AKIAQ7X2MZL4TPW9KD3B", {"total.txt": "1"})
    every = "".join(
        ask(*words)[1]
        for words in (
            ("log", "total"),
            ("log", "--path", "total.txt"),
            ("log", "--path", f"shop{bad}/to\n{bad}tal.py"),
            ("impact", "HEAD~2..HEAD"),
            ("context", "total"),
            ("show", "total"),
            ("search", "total"),
            ("--all", "total"),
            ("-l", "sum"),
            ("outline", f"shop{bad}/to\n{bad}tal.py"),
            ("status", "--skipped"),
        )
    )
    assert "to[U+000A][U+001B]" in every and not any(line.startswith("[U+001B]") for line in every.splitlines())
    assert every.count("[U+001B][2J") > 6 and not set("\x1b\u202e") & set(every)
    assert "the message holds a secret" in every and "AKIA" not in every


def test_show_lists_the_last_commits_of_a_definition_and_no_others(shop: Path) -> None:
    whole = "def tax():\n    return 1\n\n\n" + CART
    commit(shop, "Tax", {"shop/cart.py": whole})
    commit(shop, "Leave gifts out", {"shop/cart.py": whole.replace("sum(items)", "sum(items) - 1")})
    commit(shop, "Raise the tax", {"shop/cart.py": whole.replace("return 1", "x = 2\n    return x")})
    commit(shop, "Two lines before", {"shop/cart.py": f"import os\nimport re\n{whole}"})
    (shop / "shop/cart.py").write_text(f"# not committed\nimport os\nimport re\n{whole}")
    rows = orjson.loads(ask("show", "total_price", "--json")[1])["commits"]
    assert [row["subject"] for row in rows] == ["Raise the tax", "Leave gifts out", "Add up carts"]
    said = ask("show", "tax")[1]
    assert "Ada: Tax" in said and "Ada: Raise the tax" in said and "gifts" not in said


def test_context_packs_places_their_relatives_and_commits_into_the_budget(shop: Path) -> None:
    others = "".join(f"def total_{n}(cart):\n    return cart\n\n\n" for n in range(12))
    ring = "from shop.cart import total_price\n\n\ndef ring(bell):\n    return total_price(bell)\n"
    commit(shop, "Ring", {"shop/bell.py": ring, "shop/others.py": others})
    said = ask("context", "add up what is in the cart")[1]
    assert "total_price (place to edit): Add up what is in the cart." in said and "    return sum(items)" in said
    assert "shop/bell.py:4-5 ring (calls total_price)" in said and "Ada: Add up carts" in said
    data = orjson.loads(ask("context", "--json", "add up what is in the cart")[1])
    best = {one["name"]: one for one in data["results"]}["total_price"]
    assert best["note"] == "place to edit" and "return sum(items)" in best["code"]
    assert any("Ada: Add up carts" in line for line in data["notices"])
    assert len(ask("context", "--tokens", "100", "add up what is in the cart")[1]) <= 250
