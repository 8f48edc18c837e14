"""Lower rooms know nothing of the rooms above them."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "corpus": set[str](),
    "encoder": {"corpus"},
    "engine": {"corpus"},
    "graph": {"corpus"},
    "ingest": {"corpus", "encoder", "engine", "graph"},
    "rerank": {"corpus", "graph", "engine"},
    "service": {"corpus", "encoder", "engine", "graph", "ingest", "rerank"},
    "eval": {"corpus", "encoder", "engine", "graph", "ingest", "rerank", "service"},
}


def imported_rooms(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found & MAY_IMPORT.keys()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}
    for path in (ROOT / room).rglob("*.py"):
        assert imported_rooms(path) <= allowed, path


def test_the_pipeline_knows_no_kind_of_source() -> None:
    kinds = {f"ingest.{kind}" for kind in ("codesearchnet", "folder", "git", "python_env", "shards", "parquet")}
    for part in ("beginning", "generation", "pipeline", "preparing", "reading", "workers"):
        tree = ast.parse((ROOT / "ingest" / f"{part}.py").read_text(encoding="utf-8"))
        assert not kinds & {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}, part
