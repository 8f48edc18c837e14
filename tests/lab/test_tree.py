"""`python -m lab.tree`: figures of the tree, of a question's part of it, and files that networkx reads back."""

import subprocess
import sys
from pathlib import Path

import networkx as nx
import orjson
import pytest
from click.testing import CliRunner

from lab import tree
from tests.ingest.loading import project
from treeline.corpus.errors import InputError
from treeline.service.cli import index

ROOT = Path(__file__).parents[2]
FILES = {
    "web/url.py": "def parse_url(text):\n    return text\n\ndef join_url(base, path):\n    return base + path\n",
    "web/client.py": "class Client:\n    def send(self, url):\n        return open(url)\n",
}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TREELINE_HOME", str(folder / "home"))
        CliRunner().invoke(index.index, [str(project(folder / "demo", FILES))], catch_exceptions=False)
    return folder / "home"


@pytest.fixture(autouse=True)
def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(home))


def said(*arguments: str) -> str:
    return CliRunner().invoke(tree.command, arguments, catch_exceptions=False).output


def test_the_whole_tree_in_figures() -> None:
    # root, repository, folder, two files, a class, three functions
    assert "9 nodes: 6 units of 1 repository, 5 deep" in said()


def test_a_disk_for_each_repository_is_measured_too() -> None:
    assert "in 1 disk, one a repository: average distortion 0." in said("--split")


def test_the_tree_of_a_question_is_the_part_its_results_span() -> None:
    told = said("join an url and a path")
    assert "results span" in told
    assert "average distortion 0." in told


@pytest.mark.transformers
@pytest.mark.filterwarnings("ignore")
def test_refinement_never_makes_it_worse() -> None:
    pytest.importorskip("geoopt")
    told = said("--refine", "3")
    flat, deep = (float(part.split(",")[0]) for part in told.split("average distortion ")[1:3])
    assert "in 3 dimensions: " in told and deep <= flat


def test_an_export_with_a_question_is_of_its_tree_alone(tmp_path: Path) -> None:
    told = said("send repo:demo path:web/client.py kind:method", "--export", str(tmp_path / "part.json"))
    graph = nx.node_link_graph(orjson.loads((tmp_path / "part.json").read_bytes()), edges="edges")
    assert [data["label"] for _, data in graph.nodes(data=True)] == ["demo/web/client.py/Client/send"]
    assert "units of" not in told  # the figures of the whole tree are not this one's
    assert "written: 1 node" in told


def test_an_exported_question_has_places_distances_and_ranks(tmp_path: Path) -> None:
    said("url path send", "--export", str(tmp_path / "part.graphml"))
    graph = nx.read_graphml(tmp_path / "part.graphml")
    ranks = sorted(data["rank"] for _, data in graph.nodes(data=True) if "rank" in data)
    assert ranks == list(range(1, len(ranks) + 1)) and len(ranks) > 2
    assert all(data["x"] ** 2 + data["y"] ** 2 < 1 for _, data in graph.nodes(data=True))
    assert all(data["distance"] >= 1 and data["length"] > 0 for _, _, data in graph.edges(data=True))


@pytest.mark.parametrize(("forest", "nodes"), [(False, 9), (True, 8)])
def test_exports_are_what_networkx_reads(tmp_path: Path, forest: bool, nodes: int) -> None:
    more = ["--forest"] if forest else []
    said("--export", str(tmp_path / "tree.graphml"), *more)
    said("--export", str(tmp_path / "tree.json"), *more)
    for graph in (
        nx.read_graphml(tmp_path / "tree.graphml"),
        nx.node_link_graph(orjson.loads((tmp_path / "tree.json").read_bytes()), edges="edges"),
    ):
        assert len(graph) == nodes
        assert nx.is_forest(graph)
        assert sum(bool(function) for _, function in graph.nodes(data="function")) == 6


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="for the whole tree"):
        said("join an url and a path", "--refine", "3")
    with pytest.raises(InputError, match="cannot write a tree"):
        said("--export", str(tmp_path / "tree.png"))


def test_a_file_that_cannot_be_written_to_its_end_is_a_failure_in_one_line(tmp_path: Path) -> None:
    full = tmp_path / "tree.json"
    full.symlink_to("/dev/full")
    command = [sys.executable, "-m", "lab.tree", "--export", str(full)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == "treeline: [Errno 28] No space left on device\n"
    assert done.returncode == 1
