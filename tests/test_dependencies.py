"""What the code imports is declared, so that an environment made from `pyproject.toml` has it; all of it is pinned."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from treeline.corpus.errors import EXTRAS as EXTRA_OF_MODULE

ROOT = Path(__file__).parent.parent
ROOMS = ("corpus", "encoder", "engine", "eval", "graph", "ingest", "rerank", "search", "service")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: list[str]) -> set[str]:
    names = {normal(re.split(r"[ <>=!~;\[]", requirement, maxsplit=1)[0]) for requirement in requirements}
    return names - {"treeline-models", "treeline-search"}  # our own


EXTRAS = PROJECT["optional-dependencies"]
DEFAULT = declared(PROJECT["dependencies"])
OPTIONAL = DEFAULT.union(*(declared(packages) for name, packages in EXTRAS.items() if name != "test"))
# Modules that are imported only on the way to an extra.
BEHIND_AN_EXTRA = (
    "engine/elasticsearch",
    "eval",
    "service/api",
    "service/app",
    "service/feedback",
    "service/http",
    "service/lsp",
    "service/pages",
    "service/present/markdown",
    "service/server",
)
EVERYTHING = OPTIONAL | declared(EXTRAS["test"])


def imports(path: Path, *, only_top: bool = False) -> set[str]:
    """First names of the modules that a file imports; `only_top`: when it is itself imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in tree.body if only_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"treeline", "benchmarks", "lab", "tests", "scripts"}


def undeclared(folders: tuple[str, ...], allowed: set[str], *, only_top: bool = False) -> dict[str, set[str]]:
    distributions = packages_distributions()
    missing: dict[str, set[str]] = {}
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            # What other Pythons run, those that have the tool, and what parsers read.
            if path.is_relative_to(ROOT / "lab" / "calls") or "fixtures" in path.parts:
                continue
            if only_top and path.relative_to(ROOT).as_posix().startswith(BEHIND_AN_EXTRA):
                continue
            for module in imports(path, only_top=only_top):
                makers = {normal(name) for name in distributions.get(module, [module])}
                if not makers & allowed:
                    missing.setdefault(module, set()).add(str(path.relative_to(ROOT)))
    return missing


def test_modules_of_the_default_path_import_default_dependencies() -> None:
    assert undeclared(ROOMS, DEFAULT, only_top=True) == {}


def test_what_is_imported_on_demand_is_in_an_extra() -> None:
    assert undeclared(ROOMS, OPTIONAL) == {}


def test_every_optional_module_names_the_extra_that_brings_it() -> None:
    distributions = packages_distributions()
    for module, extra in EXTRA_OF_MODULE.items() - {("treeline_models", "deep")}:
        assert {normal(name) for name in distributions[module]} & declared(EXTRAS[extra]), module


def test_what_the_workshop_and_tests_import_is_declared() -> None:
    assert undeclared(("benchmarks", "lab", "tests"), EVERYTHING) == {}


def test_everything_declared_is_pinned_without_an_address() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[a-z0-9-]+==\S+", line) for line in lines)
    assert declared(lines) >= EVERYTHING
