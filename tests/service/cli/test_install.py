"""`treeline install` writes what each agent documents, leaves the rest alone, and takes it out again."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from treeline.corpus.errors import InputError
from treeline.service.cli.install import AGENTS, install

# What each agent's own documentation has for a local server, below the project or the home folder.
DOCUMENTED = {
    "claude": (".mcp.json", {"mcpServers": {"treeline": {"command": "treeline", "args": ["mcp"]}}}),
    "cursor": (".cursor/mcp.json", {"mcpServers": {"treeline": {"command": "treeline", "args": ["mcp"]}}}),
    "codex": (".codex/config.toml", {"mcp_servers": {"treeline": {"command": "treeline", "args": ["mcp"]}}}),
    "gemini": (".gemini/settings.json", {"mcpServers": {"treeline": {"command": "treeline", "args": ["mcp"]}}}),
    "copilot": (
        ".vscode/mcp.json",
        {"servers": {"treeline": {"type": "stdio", "command": "treeline", "args": ["mcp"]}}},
    ),
    "opencode": (
        "opencode.json",
        {"mcp": {"treeline": {"type": "local", "command": ["treeline", "mcp"], "enabled": True}}},
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("treeline.service.cli.install.shutil.which", lambda _name: "/somewhere/treeline")
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    return CliRunner().invoke(install, [*arguments, "--folder", str(folder)], catch_exceptions=False).stdout


def parsed(path: Path) -> object:
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def everything(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()}


def test_every_agent_is_known() -> None:
    assert set(AGENTS) == set(DOCUMENTED)


@pytest.mark.parametrize("agent", DOCUMENTED)
def test_the_entry_is_as_documented_said_and_removed_again(agent: str, folder: Path) -> None:
    name, wanted = DOCUMENTED[agent]
    said = run(folder, agent)
    assert parsed(folder / name) == wanted
    assert "+" in said and name in said and "set up" in said
    assert "search_code" in (folder / AGENTS[agent].instructions).read_text(encoding="utf-8")
    before = everything(folder)
    assert "nothing to change" in run(folder, agent)
    assert everything(folder) == before
    run(folder, agent, "--remove")
    assert everything(folder) == {}


@pytest.mark.parametrize("agent", DOCUMENTED)
def test_what_was_there_stays(agent: str, folder: Path) -> None:
    name, _ = DOCUMENTED[agent]
    config, notes = folder / name, folder / AGENTS[agent].instructions
    for path in (config, notes):
        path.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\n'
        if config.suffix == ".toml"
        else '{\n  "theme": "dark"\n}\n',
        encoding="utf-8",
    )
    notes.write_text("# Ours\n\nBe kind.\n", encoding="utf-8")
    before = everything(folder)
    run(folder, agent)
    assert everything(folder) != before
    assert "Be kind." in notes.read_text(encoding="utf-8")
    run(folder, agent, "--remove")
    assert everything(folder) == before


def test_a_dry_run_changes_nothing(folder: Path) -> None:
    assert "would be changed" in run(folder, "claude", "--dry-run")
    assert everything(folder) == {}


def test_a_configuration_with_comments_is_left_to_the_person(folder: Path) -> None:
    (folder / ".mcp.json").write_text("{ // mine\n}", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as JSON"):
        run(folder, "claude")
    assert everything(folder) == {str(folder / ".mcp.json"): "{ // mine\n}"}
