"""The evaluation page's tables are those of the kept results."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks import tables
from tests.eval.report.test_reports import document
from treeline.eval.report import results
from treeline.eval.sets.paper import with_table

PAGE = "before\n<!-- table tiny mrr n against -->\nold\n<!-- end -->\nafter\n"


def test_a_table_is_made_from_the_last_result(tmp_path: Path) -> None:
    results.keep({**results.stamp(document()), "commit": "abc"}, tmp_path)
    page = tables.render(PAGE, tmp_path)
    assert "old" not in page
    assert "| default | 1.000 (1.000–1.000) | 1.00 | +0.500, p < .001 | 3 / 0 | 1.0 / 1.0 |" in page
    assert "commit abc" in page
    assert tables.render(page, tmp_path) == page


def test_the_papers_table_has_its_own_form(tmp_path: Path) -> None:
    results.keep({**results.stamp(with_table(document())), "commit": "abc"}, tmp_path)
    page = tables.render("<!-- table codesearchnet-paper paper -->\n<!-- end -->\n", tmp_path)
    assert "| Elasticsearch | 0.1955 |" in page


def test_a_table_without_a_result_stays_as_it_is(tmp_path: Path) -> None:
    assert tables.render(PAGE, tmp_path) == PAGE


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"commit": "abc", "changed": False}, "commit abc.*"),
        ({"commit": "abc", "changed": True}, "commit abc with changes.*"),
        ({"facts": {"repositories": 1.0}}, "index of 1 repository;"),  # of mined cases
        ({"facts": {"repositories": 3.0}}, "index of 3 repositories;"),
    ],
)
def test_a_table_says_what_it_was_measured_on(tmp_path: Path, more: dict[str, Any], told: str) -> None:
    results.keep({**results.stamp(document()), **more}, tmp_path)
    assert told in tables.render(PAGE, tmp_path)


def test_the_command_writes_when_asked_and_only_then(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    results.keep(results.stamp(document()), tmp_path)
    where = ["--page", str(page), "--results", str(tmp_path)]
    asked = CliRunner()
    assert asked.invoke(tables.main, ["--help"]).exit_code == 0
    assert asked.invoke(tables.main, ["nonsense"]).exit_code == 2
    assert asked.invoke(tables.main, [*where, "--check"]).exit_code == 1
    assert page.read_text() == PAGE
    assert "written" in asked.invoke(tables.main, where).output
    assert asked.invoke(tables.main, [*where, "--check"]).exit_code == 0
    assert tables.render(page.read_text(), tmp_path) == page.read_text() != PAGE


def test_the_page_is_as_the_kept_results_say() -> None:
    if not list(results.FOLDER.glob("*.json")):
        pytest.skip("no result is kept yet")
    page = tables.PAGE.read_text(encoding="utf-8")
    assert tables.render(page) == page, "run python -m benchmarks.tables"
