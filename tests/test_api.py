"""The public API, used as a user would: `import treeline`."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import assert_type, get_args, get_type_hints

import networkx as nx
import pytest

import treeline
from treeline.search.query import SWITCHES

COOKIES = '''def sign_cookie(value, key):
    """Sign a cookie so that nobody can forge it."""
    return digest(value, key)


def digest(value, key):
    """The keyed hash of a value."""
    return hash((value, key))


class Jar:
    """Cookies by their names."""

    def put(self, name, value, key):
        self.cookies[name] = sign_cookie(value, key)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cookies.py").write_text(COOKIES, encoding="utf-8")
    return folder


def test_a_folder_is_asked_without_any_ceremony(project: Path, tmp_path: Path) -> None:
    with treeline.open_project(project, home=tmp_path / "home") as index:
        [best, *_] = index.search("how are cookies signed", kind="function")
        assert (best.rank, best.name, best.path, best.kind) == (1, "sign_cookie", "cookies.py", "function")
        assert (best.first_line, best.last_line) == (1, 3)
        assert best.code.startswith("def sign_cookie")
        assert "Sign a cookie" in best.docstring
        assert len(index) > 3


def test_a_class_comes_with_its_best_members(project: Path, tmp_path: Path) -> None:
    with treeline.open_project(project, home=tmp_path / "home") as index:
        jar = next(one for one in index.search("put cookies in a jar") if one.name == "Jar")
        [put] = jar.members
        assert (put.name, put.kind, put.signature) == ("Jar.put", "method", "def put(self, name, value, key):")
        assert (put.first_line, put.last_line) == (14, 15)


def test_an_edit_is_seen_by_the_next_one_who_opens_the_project(project: Path, tmp_path: Path) -> None:
    treeline.open_project(project, home=tmp_path / "home").close()
    (project / "llamas.py").write_text('def tame(herd):\n    """Calm a herd of llamas."""\n', encoding="utf-8")
    with treeline.open_project(project, home=tmp_path / "home") as index:
        assert index.search("calm llamas")[0].path == "llamas.py"


def test_a_result_leads_to_its_callers_callees_and_similar_functions(project: Path, tmp_path: Path) -> None:
    with treeline.make_index(project, name="shop", home=tmp_path / "home") as index:
        [best, *_] = index.search("sign_cookie", k=1)
        assert [one.name for one in index.callees(best)] == ["digest"]
        assert [one.name for one in index.callers(best)] == ["Jar.put"]
        assert best.id not in [one.id for one in index.similar(best, k=2)]
        again = index.get(best.id)
        assert again is not None
        assert again.code == best.code


def test_the_tree_of_the_index_and_of_a_query_is_a_networkx_graph(project: Path, tmp_path: Path) -> None:
    with treeline.open_project(project, home=tmp_path / "home") as index:
        whole, part = assert_type(index.tree(), "nx.DiGraph[int]"), index.tree("sign a cookie")
        assert nx.is_arborescence(whole) and nx.is_arborescence(part)
        assert sum(bool(id_) for _, id_ in whole.nodes(data="function")) == len(index)
        ranked = {data["rank"]: data["name"] for _, data in part.nodes(data=True) if "rank" in data}
        assert ranked[1] == index.search("sign a cookie", k=1)[0].name
        for graph in (whole, part):
            assert all(data["x"] ** 2 + data["y"] ** 2 < 1 for _, data in graph.nodes(data=True))


def test_an_index_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(treeline.IndexMissing, match="nothing"):
        treeline.open_index("nothing", home=tmp_path)


def test_what_is_not_there_is_refused(project: Path, tmp_path: Path) -> None:
    """mypy refuses the first too: it reports an ignored error that is none."""
    with treeline.open_project(project, home=tmp_path / "home") as index:
        with pytest.raises(treeline.InputError, match="no switch 'colour'"):
            index.search("cookies", colour="red")  # type: ignore[call-arg]
        with pytest.raises(treeline.InputError, match=r"no kind 'klass' \(choose from: function, method, class"):
            index.search("cookies", kind="class,klass")
        for ask in (index.similar, index.callers, index.callees):
            with pytest.raises(treeline.InputError, match="no unit has the id 'nowhere'"):
                ask("nowhere")
        assert index.get("nowhere") is None


def test_the_typed_switches_are_those_of_every_search() -> None:
    switches = {switch.name: switch for switch in SWITCHES if switch.scope != "answer" and switch.name != "k"}
    hints = get_type_hints(treeline.Switches)
    assert hints.keys() == switches.keys()
    for name, hint in hints.items():
        choices = get_args(hint)
        assert choices == switches[name].choices and (choices or hint is switches[name].type), name


def test_a_shell_shows_what_it_is(project: Path, tmp_path: Path) -> None:
    with treeline.open_project(project, home=tmp_path / "home") as index:
        jar = next(one for one in index.search("put cookies in a jar") if one.name == "Jar")
        assert repr(jar) == f"<Match {jar.rank}: class Jar cookies.py:11>"
        assert repr(jar.members) == "(<Member method Jar.put lines 14-15>,)"
        assert repr(index.callees(jar.members[0].id)) == "[<Neighbor sign_cookie cookies.py:1>]"
        assert repr(index).endswith(f"{len(index)} units>")
        assert treeline.__version__ == version("treeline-search")


def test_a_ranking_is_scored() -> None:
    judgements = {"q1": {"a": 1.0, "b": 0.0}, "q2": {"c": 1.0}}
    ranking = {"q1": ["a", "b"], "q2": ["x", "c"]}
    assert treeline.evaluate(judgements, ranking, "mrr") == pytest.approx(0.75)
    assert treeline.evaluate(judgements, ranking, "recall@1") == pytest.approx(0.5)
    assert treeline.evaluate(judgements, ranking, "ndcg@10") == pytest.approx((1 + 1 / 1.584962500721156) / 2)
    with pytest.raises(treeline.InputError):
        treeline.evaluate(judgements, ranking, "beauty")


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import sys, treeline; print([m for m in ('numpy', 'flask', 'tantivy', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
