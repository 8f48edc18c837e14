"""Issues are asked at the commit before their fix; files and functions that it touched are the answers."""

import gzip
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from tests.ingest.test_history import commit, git
from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.sets.issues import Issue, command, is_code, measure, read, touched_functions
from treeline.graph.git import run_git

CART = 'def total_price(items):\n    """Add up the cart."""\n    return sum(items)\n'
TEXT = "The cart adds up gifts\n\nIn `total_price` a gift is counted.\nIt should not.\nSo the price is wrong.\n"


def hit(name: str, path: str, lines: str) -> Hit:
    return Hit(name, 1.0, Address("me/shop", path, name, "python", f"https://example.org/{path}#{lines}", "function"))


def test_files_are_all_found_or_any() -> None:
    hits = [hit("a", "a.py", "L1-L2"), hit("b", "a.py", "L4-L5"), hit("c", "c.py", "L1-L2")]
    values = measure(frozenset({"a.py", "c.py"}), frozenset({"b"}), hits)
    assert (values["file_1"], values["file_3"], values["any_10"], values["reciprocal_rank"]) == (0.0, 1.0, 1.0, 1.0)
    assert (values["function_5"], values["any_function_10"]) == (1.0, 1.0)
    assert measure(frozenset({"x.py"}), frozenset(), hits)["function_5"] is None


def test_the_innermost_functions_with_lines_of_the_fix_are_the_answers() -> None:
    units = [(one.id, one.address) for one in (hit("outer", "a.py", "L1-L9"), hit("inner", "a.py", "L3-L5"))]
    issue = Issue("1", "me/shop", "", "", "", {"a.py": [4, 5, 20], "docs/a.md": [1]})
    assert touched_functions(issue, {"a.py": units}) == {"inner"}
    assert issue.files == {"a.py"}


@pytest.mark.parametrize(
    ("path", "expected"), [("src/a.go", True), ("tests/test_a.py", False), ("README.md", False), ("a.yml", False)]
)
def test_code_is_told_from_what_fixes_touch_beside_it(path: str, expected: bool) -> None:
    assert is_code(path) is expected


def test_an_issue_is_asked_before_its_fix_with_the_history_up_to_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    root = tmp_path / "checkouts" / "shop"
    root.mkdir(parents=True)
    git(root, "init", "--quiet")
    commit(root, "Add up carts", {"shop/cart.py": CART, "shop/mail.py": "def send(to):\n    return to\n"})
    base = run_git(root, "rev-parse", "HEAD").decode().strip()
    commit(root, "Leave gifts out", {"shop/later.py": CART, "shop/cart.py": None})
    row = {"id": "shop-1", "repo": "me/shop", "base_commit": base, "created_at": "2026", "text": TEXT}
    row["targets"] = [{"path": "shop/cart.py", "lines": [3]}]  # type: ignore[assignment]
    (tmp_path / "issues.jsonl.gz").write_bytes(gzip.compress(orjson.dumps(row)))
    arguments = [str(tmp_path), "--checkouts", str(root.parent), "--ablate", "--json", "-"]
    said = CliRunner().invoke(command, arguments, catch_exceptions=False)
    document = orjson.loads(said.stdout)
    names = [system["name"] for system in document["systems"]]
    assert names[:2] == ["default", "first line"] and "without history" in names
    assert document["systems"][0]["means"]["function_5"]["mean"] == 1.0


def test_a_question_counts_the_cited_files_that_one_path_alone_ends_with(tmp_path: Path) -> None:
    row = {
        "id": "q",
        "repo": "me/shop",
        "commit": "1a2b",
        "question": "Why?",
        "cited": ["cart.py:3-9", "a.py", "/docs/x.md"],
    }
    (tmp_path / "cited.jsonl").write_bytes(orjson.dumps(row))
    (issue,) = read(tmp_path)
    issue = issue.locate(["shop/cart.py", "shop/mycart.py", "a.py", "b/a.py", "docs/x.md"])
    assert (issue.commit, sorted(issue.files)) == ("1a2b", ["docs/x.md", "shop/cart.py"])
    values = measure(issue.files, frozenset(), [hit("f", "shop/cart.py", "L1-L2")])
    assert (values["any_5"], values["recall_10"], values["function_5"]) == (1.0, 0.5, None)


def test_what_holds_no_issues_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no issue"):
        read(tmp_path)
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="does not hold issues"):
        read(tmp_path)
