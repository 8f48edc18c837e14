"""Lower rooms know nothing of the rooms above them."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import networkx as nx
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
    {"quick", "skips"},
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


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("treeline", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def imported_at_once(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Dotted names of all that a module imports while it is imported itself."""
    for node in body:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.If(test=ast.Name("TYPE_CHECKING"), orelse=rest):
                yield from imported_at_once(rest)
            case ast.If(body=inner, orelse=rest) | ast.Try(body=inner, orelse=rest):
                yield from imported_at_once([*inner, *rest])


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {module_of(path): path for room in MAY_IMPORT for path in (ROOT / room).rglob("*.py")}
    imports: nx.DiGraph[str] = nx.DiGraph(
        (module, target)
        for module, path in modules.items()
        for name in imported_at_once(ast.parse(path.read_text(encoding="utf-8")).body)
        for target in (name if name in modules else name.rpartition(".")[0],)
        if target in modules and target != module
    )
    assert len(imports) > 100
    assert not [sorted(circle) for circle in nx.strongly_connected_components(imports) if len(circle) > 1]


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
