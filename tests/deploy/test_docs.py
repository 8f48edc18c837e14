"""What the documentation names exists: tests, files, settings, commands."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts.reference import pages
from treeline.search.query import BY_NAME
from treeline.search.settings import PREFIX, Settings
from treeline.service.cli import COMMANDS, cli
from treeline.service.mcp.server import create_server

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "research")
THREATS = re.findall(
    r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "how-to" / "secure.md").read_text(encoding="utf-8")
)


def test_the_threat_list_is_not_empty() -> None:
    assert len(THREATS) > 30


@pytest.mark.parametrize(("file", "name"), THREATS, ids=[name for _, name in THREATS])
def test_every_test_in_the_threat_list_exists(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_commands_and_files_on_the_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known = {PREFIX + row.name.upper() for row in fields(Settings)} | {"TREELINE_PASSWORD"}  # the last is compose's own
    assert set(re.findall(r"\bTREELINE_[A-Z_]*[A-Z]\b", text)) <= known
    assert set(re.findall(r"(?:^    |`)treeline ([a-z][a-z-]*)", text, re.MULTILINE)) <= set(COMMANDS)


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))], ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


def test_every_picture_is_shown_somewhere() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    shown = {
        Path(link).name for page in pages for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    assert {picture.name for picture in (ROOT / "docs" / "images").iterdir()} <= shown


def test_pages_that_are_made_from_the_code_are_current() -> None:
    assert CliRunner().invoke(cli, ["status", "--help"]).exit_code == 0  # a call changes nothing on the pages
    for page, text in pages().items():
        assert page.read_text(encoding="utf-8") == text, "run make docs"


def test_the_page_on_the_api_names_every_parameter_of_a_search() -> None:
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    [row] = [line for line in text.splitlines() if line.startswith("| `GET /api/search?q=`")]
    assert set(re.findall(r"`(\w+)`", row)) >= set(BY_NAME)


def test_the_page_on_agents_names_the_tools_and_what_they_take() -> None:
    text = (ROOT / "docs" / "how-to" / "agents.md").read_text(encoding="utf-8")
    section = text.partition("\n## The tools\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE)
    tools = create_server(Settings()).tools
    assert {name: set(re.findall(r"`(\w+)`", takes)) for name, takes in rows} == {
        name: set(tool.arguments) for name, tool in tools.items()
    }
