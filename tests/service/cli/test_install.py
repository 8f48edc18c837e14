"""`treeline install` writes what each agent documents, leaves the rest alone, and takes it out again."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from treeline.corpus.errors import InputError
from treeline.service.cli import jsonc
from treeline.service.cli.install import AGENTS, install

STDIO = {"command": "treeline", "args": ["mcp"]}
# What each agent's own documentation has for a local server, below the project or the home folder.
DOCUMENTED: dict[str, tuple[str, dict[str, object]]] = {
    "claude": (".mcp.json", {"mcpServers": {"treeline": STDIO}}),
    "cursor": (".cursor/mcp.json", {"mcpServers": {"treeline": STDIO}}),
    "codex": (".codex/config.toml", {"mcp_servers": {"treeline": STDIO}}),
    "gemini": (".gemini/settings.json", {"mcpServers": {"treeline": STDIO}}),
    "copilot": (".vscode/mcp.json", {"servers": {"treeline": {"type": "stdio", **STDIO}}}),
    "copilot-cli": (
        ".copilot/mcp-config.json",
        {"mcpServers": {"treeline": {"type": "local", **STDIO, "tools": ["*"]}}},
    ),
    "opencode": (
        "opencode.json",
        {"mcp": {"treeline": {"type": "local", "command": ["treeline", "mcp"], "enabled": True}}},
    ),
    "zed": (".zed/settings.json", {"context_servers": {"treeline": STDIO}}),
    "windsurf": (
        ".codeium/windsurf/mcp_config.json",
        {"mcpServers": {"treeline": {"command": "treeline", "args": ["mcp", "--root", "FOLDER"]}}},
    ),
    "amp": (".amp/settings.json", {"amp.mcpServers": {"treeline": STDIO}}),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("treeline.service.cli.install.shutil.which", lambda _name: "/somewhere/treeline")
    return tmp_path


def run(folder: Path, *arguments: str, yes: bool = True) -> str:
    arguments = (*arguments, "--yes") if yes else arguments
    return CliRunner().invoke(install, [*arguments, "--folder", str(folder)], catch_exceptions=False).stdout


def parsed(path: Path) -> object:
    text = path.read_text(encoding="utf-8").replace(json.dumps(str(path.parents[2])), '"FOLDER"')
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


def test_without_a_yes_the_changes_are_shown_and_not_made(folder: Path) -> None:
    said = run(folder, "claude", yes=False)
    assert '+    "treeline": {' in said and "nothing is written yet" in said
    assert everything(folder) == {}


@pytest.mark.parametrize("agent", [name for name in DOCUMENTED if name != "codex"])
def test_comments_and_commas_of_a_configuration_stay(agent: str, folder: Path) -> None:
    name, wanted = DOCUMENTED[agent]
    [outer] = wanted
    entries = '{\r\n        "other": {"command": "y"}, // keep\r\n    }'
    before = f'{{\r\n    // mine\r\n    "{outer}": {entries},\r\n}}\r\n'
    config = folder / name
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_bytes(before.encode())
    run(folder, agent)
    written = config.read_bytes().decode()
    assert "// mine" in written and '"other": {"command": "y"}, // keep' in written and '"treeline": {' in written
    run(folder, agent, "--remove")
    assert config.read_bytes().decode() == before


def test_opencode_is_written_where_its_newer_form_has_the_servers(folder: Path) -> None:
    (folder / "opencode.jsonc").write_text('{"mcp": {"servers": {}}} // v2', encoding="utf-8")
    run(folder, "opencode")
    assert not (folder / "opencode.json").exists()
    [entry] = jsonc.read((folder / "opencode.jsonc").read_text(encoding="utf-8"))["mcp"]["servers"].values()
    assert entry == {"type": "local", "command": ["treeline", "mcp"], "enabled": True}


def test_a_configuration_that_cannot_be_read_is_left_to_the_person(folder: Path) -> None:
    (folder / ".mcp.json").write_text("{ mine }", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as JSON"):
        run(folder, "claude")
    assert everything(folder) == {str(folder / ".mcp.json"): "{ mine }"}
