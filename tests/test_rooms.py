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
    "search": {"corpus", "encoder", "engine", "graph", "rerank"},
    "service": {"corpus", "encoder", "engine", "graph", "ingest", "rerank", "search"},
    "eval": {"corpus", "encoder", "engine", "graph", "ingest", "rerank", "search", "service"},
}
# What the service is made of, floor by floor: a part imports only from the floors below its own.
SERVICE = (
    {"settings_doc", "feedback", "evaluation", "indexes", "jobs", "projects"},
    {"present"},
    {"http", "lsp", "mcp"},
    {"api"},
    {"pages"},
    {"app"},
    {"server"},
    {"cli"},
)


# What the pipeline may know of sources: how to name one beside others.
OPENING = {f"treeline.ingest.sources.{name}" for name in ("check_overlap", "disambiguate", "is_missing")}


def imported(path: Path) -> set[str]:
    """Dotted names of all that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def imported_rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path) if name.startswith("treeline.")} & MAY_IMPORT.keys()


def test_the_package_imports_nothing_that_stands_beside_it() -> None:
    for room in MAY_IMPORT:
        for path in (ROOT / room).rglob("*.py"):
            assert not {name.split(".")[0] for name in imported(path)} & {"benchmarks", "lab", "scripts", "tests"}, path


def parts_of_the_service() -> dict[Path, str]:
    """Each file with the room or, beside the rooms, the file that it is."""
    folder = ROOT / "service"
    files = {path: path.relative_to(folder).parts[0].removesuffix(".py") for path in folder.rglob("*.py")}
    return {path: part for path, part in files.items() if part != "__init__"}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}
    for path in (ROOT / room).rglob("*.py"):
        assert imported_rooms(path) <= allowed, path


def test_every_part_of_the_service_has_a_floor() -> None:
    assert set(parts_of_the_service().values()) == set().union(*SERVICE)


@pytest.mark.parametrize("floor", range(len(SERVICE)), ids=lambda floor: "-".join(sorted(SERVICE[floor])))
def test_a_part_of_the_service_imports_only_from_the_floors_below_it(floor: int) -> None:
    below = set().union(*SERVICE[:floor])
    for path, part in parts_of_the_service().items():
        if part in SERVICE[floor]:
            parts = {name.split(".")[2] for name in imported(path) if name.startswith("treeline.service.")}
            assert parts <= below | {part}, path


def test_the_pipeline_knows_no_kind_of_source() -> None:
    for part in ("artifacts", "generation", "pipeline", "source", "state", "workers"):
        found = imported(ROOT / "ingest" / f"{part}.py")
        assert not {name for name in found if name.startswith("treeline.ingest.sources.")} - OPENING, part
