"""The call graph of every repository below `fixtures/LANGUAGE/` has the edges of its snapshot, and no others.

A folder's name is the claim that it makes. Add one, then run `make snapshots` and read what was written.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graph.parsed import graph_of
from tests.snapshots import SUFFIX, check, fixtures
from treeline.graph.callgraph import CallGraph
from treeline.graph.references import RELATIONS

FIXTURES = Path(__file__).parent / "fixtures"
REPOSITORIES = sorted({file.relative_to(FIXTURES).parts[:2] for file in fixtures(FIXTURES)})


def edges(graph: CallGraph) -> Iterator[str]:
    """One line for each edge: from, relation, to, and how it was resolved."""
    for relation in RELATIONS:
        for node in range(len(graph)):
            for step in graph.walk([node], [relation], "out"):
                source, target = graph.symbol(node), graph.symbol(step.node)
                yield f"{source.path}:{source.name} {relation} {target.path}:{target.name} ({step.how})"


@pytest.mark.parametrize(("language", "claim"), REPOSITORIES)
def test_a_repository_has_the_edges_of_its_snapshot(language: str, claim: str) -> None:
    folder = FIXTURES / language / claim
    files = {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in fixtures(folder)}
    check(folder / f"calls{SUFFIX}", "".join(f"{line}\n" for line in edges(graph_of(files, language))))
