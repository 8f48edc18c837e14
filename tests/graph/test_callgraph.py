"""The call graph against a brute-force oracle, and what it promises about names, ids and loading."""

from time import process_time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.parsed import graph_of, names
from treeline.corpus.errors import InputError
from treeline.corpus.function import Address, function_id
from treeline.graph.callgraph import CallGraph, load
from treeline.graph.callgraph.build import build
from treeline.graph.callgraph.storage import pack
from treeline.graph.references import FileFacts, Import, Reference, Relation, Symbol

RELATIONS: tuple[Relation, ...] = ("calls", "extends", "implements", "uses")


def facts(path: str, symbols: str, references: str = "", language: str = "python", repo: str = "o/r") -> FileFacts:
    """`symbols` like "f C:class C.m", `references` like "f>g C-extends>D"."""
    kinds = {"class": "class", "interface": "interface", "": "function"}
    made = []
    for line, word in enumerate(symbols.split(), 1):
        name, _, kind = word.partition(":")
        made.append(Symbol(name, kinds[kind], line, line))  # type: ignore[arg-type]  # one of the kinds
    seen = []
    for word in references.split():
        left, _, target = word.partition(">")
        source, _, relation = left.partition("-")
        seen.append(Reference(relation or "calls", source, target, 1))  # type: ignore[arg-type]  # a relation
    return FileFacts(repo, path, language, tuple(made), (), tuple(seen))


def graph(*files: FileFacts) -> CallGraph:
    return load(build(files, []))


def callers(found: CallGraph, name: str, depth: int = 1) -> set[str]:
    return names(found, (step.node for step in found.walk(found.named(name), ("calls",), "in", depth)))


def test_a_misspelt_name_is_near_what_was_meant() -> None:
    others = " ".join(f"pa{letter}{number}" for letter in "abcdefghijklmnopqrstuvwxyz" for number in range(9))
    found = graph(facts("m.py", f"{others} parse_url execute_with_retries Client:class Client.get_config"))
    assert found.near("pasre_url", 1) == ["parse_url"]
    assert found.near("excute_with_retries", 1) == ["execute_with_retries"]
    assert found.near("Client.get_confg", 1) == ["get_config"]
    assert found.near("nothing_like_this", 3) == []


def test_lines_and_nodes_may_be_more_than_a_byte_counts() -> None:
    found = graph(facts("m.py", " ".join(f"f{number}" for number in range(1, 301)), "f300>f299"))
    (node,) = found.named("f300")
    assert (found.symbol(node).line, found.symbol(node).kind) == (300, "function")
    assert callers(found, "f299") == {"m.py:f300"}


@st.composite
def edge_lists(draw: st.DrawFn) -> list[tuple[int, int, Relation]]:
    node = st.integers(0, 11)
    return draw(st.lists(st.tuples(node, node, st.sampled_from(("calls", "uses"))), max_size=40))


@settings(max_examples=150, deadline=None)
@given(edges=edge_lists(), start=st.integers(0, 11), depth=st.integers(1, 6), both=st.booleans(), inward=st.booleans())
def test_a_walk_reaches_exactly_what_brute_force_reaches(
    edges: list[tuple[int, int, Relation]], start: int, depth: int, both: bool, inward: bool
) -> None:
    relations: tuple[Relation, ...] = ("calls", "uses") if both else ("calls",)
    symbols = tuple(Symbol(f"f{number}", "function", number + 1, number + 1) for number in range(12))
    references = tuple(Reference(relation, f"f{a}", f"f{b}", 1) for a, b, relation in edges)
    found = load(build([FileFacts("o/r", "m.py", "python", symbols, (), references)], []))
    walked = found.walk(found.named(f"f{start}"), relations, "in" if inward else "out", depth)

    oracle: nx.DiGraph[int] = nx.DiGraph()
    oracle.add_nodes_from(range(12))
    oracle.add_edges_from((a, b) for a, b, relation in edges if relation in relations)
    if inward:
        oracle = oracle.reverse()
    distances = nx.single_source_shortest_path_length(oracle, start, cutoff=depth)
    expected = {f"f{node}": distance for node, distance in distances.items() if distance}
    if oracle.has_edge(start, start):
        expected[f"f{start}"] = 1
    assert {found.symbol(step.node).name: step.depth for step in walked} == expected
    assert [step.depth for step in walked] == sorted(step.depth for step in walked)


CALLERS = {
    "a file in pieces is one file": ([facts("a.py", "f", "f>g"), facts("a.py", "g", "g>f")], "g", {"a.py:f"}),
    "repositories do not see each other": ([facts("a.py", "f", "f>g"), facts("a.py", "g", repo="o/other")], "g", set()),
    "who refers from an unknown symbol is the module and no other": (
        [facts("m.py", "f", "gone>f"), facts("n.py", "", "gone>f")], "f", {"m.py:", "n.py:"},
    ),
    "a name that two functions have is not guessed": (
        [facts("a.py", "f", "f>g"), facts("b.py", "g"), facts("c.py", "g")], "g", set(),
    ),
    "classes that extend each other do not loop": (
        [facts("a.py", "A:class B:class A.m", "A-extends>B B-extends>A A.m>self.gone")], "A.m", set(),
    ),
    **{
        f"methods are looked up in what a class extends: {name}": (
            [
                facts("a.py", "A:class A.m"),
                facts("b.py", "B:class B.n C:class C.o", "B-extends>A C-extends>B C.o>self.m C.o>self.n"),
            ], name, {"b.py:C.o"},
        )
        for name in ("A.m", "B.n")
    },
    **{
        f"a call of a class calls its constructor, also an inherited one: {name}": (
            [facts("a.py", "A:class A.__init__ B:class f", "B-extends>A f>B")], name, {"a.py:f"},
        )
        for name in ("B", "A.__init__")
    },
}  # fmt: skip


@pytest.mark.parametrize(("files", "name", "expected"), CALLERS.values(), ids=CALLERS)
def test_callers(files: list[FileFacts], name: str, expected: set[str]) -> None:
    assert callers(graph(*files), name) == expected


def test_without_imports_a_name_that_only_one_has_is_believed_and_says_so() -> None:
    found = graph(facts("a.py", "f", "f>g"), facts("b.py", "g"))
    (step,) = found.walk(found.named("g"), ("calls",), "in")
    assert (found.symbol(step.node).name, step.how) == ("f", "only one of that name")


def test_with_imports_a_name_that_is_not_imported_is_not_believed() -> None:
    seen = FileFacts(
        "o/r", "a.py", "python", (Symbol("f", "function", 1, 1),), (Import("os", "", "os"),),
        (Reference("calls", "f", "g", 1),),
    )  # fmt: skip
    assert callers(graph(seen, facts("b.py", "g")), "g") == set()


@pytest.mark.parametrize("target", ["open", "x.append", "os.path.join", "np.sum", "?.items", "self"])
def test_builtins_and_well_known_modules_are_no_calls_into_the_repository(target: str) -> None:
    last = target.rpartition(".")[2]
    found = graph(facts("a.py", "f", f"f>{target}"), facts("b.py", f"{last} C:class C.{last}"))
    assert callers(found, last) == set()


def test_a_star_import_brings_what_its_module_defines_or_has_from_another_and_shadows_a_builtin() -> None:
    found = graph_of(
        {
            "shop/a.py": "from .b import *\n\n\ndef use(path):\n    open(path)\n    far(path)\n    len(path)\n",
            "shop/b.py": "from .a import *\nfrom .c import *\nfrom os.path import *\n\n\ndef open(path): ...\n",
            "shop/c.py": "from .b import *\nfrom .d import deep as far\n",
            "shop/d.py": "def deep(path): ...\n",
        },
        "python",
    )
    called = names(found, (step.node for step in found.walk(found.named("use"), ("calls",), "out")))
    assert called == {"shop/b.py:open", "shop/d.py:deep"}


def test_of_several_that_star_imports_bring_the_nearest_is_meant() -> None:
    found = graph_of(
        {
            "shop/__init__.py": "from .solve import *\nfrom .norms import *\n",
            "shop/solve/__init__.py": "from .direct import *\n",
            "shop/solve/direct.py": "from plain import norm\n",
            "shop/norms.py": "def norm(x): ...\n",
            "plain.py": "def norm(x): ...\n",
            "main.py": "from shop import norm\n\n\ndef use(x):\n    norm(x)\n",
        },
        "python",
    )
    called = names(found, (step.node for step in found.walk(found.named("use"), ("calls",), "out")))
    assert called == {"shop/norms.py:norm"}


def test_modules_that_import_all_of_each_other_take_no_time() -> None:
    others = "".join(f"from .m{other} import *\n" for other in range(30))
    handed_on = "from .m0 import nowhere\n"
    files = {
        f"pkg/m{n}.py": f"{others}{handed_on if n else ''}\n\ndef f{n}(x):\n    len(x)\n    nowhere(x)\n    f0(x)\n"
        for n in range(30)
    }
    started = process_time()
    found = graph_of(files, "python")
    assert process_time() - started < 5
    assert callers(found, "f0") == {f"pkg/m{n}.py:f{n}" for n in range(30)}


def test_a_ruby_class_has_what_every_file_that_opens_it_gives_it() -> None:
    calls = " ".join(f"Gem.Shop.sell>{name}" for name in ("buy", "self.pay", "log", "help"))
    found = graph(
        facts("a.rb", "Gem:class Gem.Shop:class Gem.Shop.buy Gem.Shop.help", language="ruby"),
        facts("b.rb", "Gem:class Gem.Shop:class Gem.Shop.pay", "Gem.Shop-extends>Base", language="ruby"),
        facts("c.rb", "Base:class Base.log Base.help", language="ruby"),
        facts("d.rb", "Gem:class Gem.Shop:class Gem.Shop.sell Gem.Shop.help", calls, language="ruby"),
    )
    called = names(found, (step.node for step in found.walk(found.named("sell"), ("calls",), "out")))
    assert called == {"a.rb:Gem.Shop.buy", "b.rb:Gem.Shop.pay", "c.rb:Base.log", "d.rb:Gem.Shop.help"}


def test_a_module_that_a_thousand_files_open_takes_time_in_proportion() -> None:
    started = process_time()
    found = graph(
        *(
            facts(f"{n}.rb", f"Gem:class Gem.C{n}:class Gem.C{n}.m", f"Gem.C{n}.m>a Gem.C{n}.m>b", "ruby")
            for n in range(1_000)
        )
    )
    assert process_time() - started < 5
    assert len(found) == 3_000


@pytest.mark.parametrize(("language", "suffix", "target"), [("python", "py", "x.run"), ("java", "java", "helper")])
def test_a_name_that_very_many_files_have_or_lack_costs_no_more_than_another(
    language: str, suffix: str, target: str
) -> None:
    files = [
        facts(f"m{n}.{suffix}", f"C{n}:class C{n}.run C{n}.go", f"C{n}.go>{target}", language) for n in range(8_000)
    ]
    started = process_time()
    found = graph(*files)
    assert process_time() - started < 5
    assert found.edges == (8_000 if target == "x.run" else 0)  # each to the `run` of its own file


def test_a_package_is_the_files_of_one_language() -> None:
    found = graph(
        facts("a.go", "main", "main>helper", language="go"),
        facts("b.py", "helper"),
        facts("c.go", "helper", language="go"),
    )
    assert names(found, (s.node for s in found.walk(found.named("main"), ("calls",), "out"))) == {"c.go:helper"}


def test_go_interfaces_are_implemented_by_who_has_all_methods() -> None:
    found = graph(
        facts("a.go", "I:interface I.Save I.Load Disk:class Disk.Save Disk.Load Null:class Null.Save", language="go")
    )
    (step,) = found.walk(found.named("I"), ("implements",), "in")
    assert (found.symbol(step.node).name, step.how) == ("Disk", "has all its methods")


def test_python_protocols_are_implemented_by_who_has_all_methods() -> None:
    found = graph(
        facts("p.py", "Engine:class Engine.run Engine.stop", "Engine-extends>Protocol"),
        facts("m.py", "Memory:class Memory.run Memory.stop Memory.__init__ Other:class Other.run"),
    )
    assert names(found, (s.node for s in found.walk(found.named("Engine"), ("implements",), "in"))) == {"m.py:Memory"}


def test_functions_are_found_by_whole_trailing_last_and_file_qualified_name() -> None:
    found = graph_of({"pkg/sessions.py": "class Session:\n    def send(self): pass\n"}, "python")
    for name in ("Session.send", "send", "sessions.Session.send", "pkg.sessions.Session.send", "Session#send"):
        assert names(found, found.named(name)) == {"pkg/sessions.py:Session.send"}, name
    assert found.named("other.Session.send") == found.named("nothing") == found.named("") == []


def test_all_of_a_name_goes_before_the_end_of_a_longer_one() -> None:
    found = graph(facts("a/json.py", "dumps"), facts("json.py", "dumps"), facts("tag.py", "C:class C.dumps"))
    assert [found.symbol(node).path for node in found.named("json.dumps")] == ["json.py", "a/json.py"]
    assert [found.symbol(node).name for node in found.named("dumps")] == ["dumps", "dumps", "C.dumps"]


def test_the_case_that_was_given_goes_before_any_other() -> None:
    found = graph(facts("a.py", "run Run:class"))
    assert names(found, found.named("Run")) == {"a.py:Run"}
    assert names(found, found.named("RUN")) == {"a.py:Run", "a.py:run"}


def test_a_package_hands_on_what_its_modules_define() -> None:
    found = graph(
        facts("json/encoder.py", "Encoder:class Encoder.default f"), facts("yaml/encoder.py", "Encoder:class")
    )
    assert names(found, found.named("json.Encoder")) == {"json/encoder.py:Encoder"}
    assert names(found, found.named("json.Encoder.default")) == {"json/encoder.py:Encoder.default"}
    assert found.named("toml.Encoder") == found.named("json.default") == []


def test_classes_are_known_by_a_base_from_elsewhere() -> None:
    ours = facts("a.py", "A:class B:class C:class", "A-extends>json.Encoder B-extends>Encoder C-extends>A")
    found = graph(ours, facts("b.py", "D:class E:class", "D-extends>XEncoder E-extends>yaml.Encoder", repo="o/other"))
    assert names(found, found.naming("Encoder")) == {"a.py:A", "a.py:B", "b.py:E"}
    assert names(found, found.naming("json.Encoder")) == {"a.py:A", "a.py:B"}  # a bare name may be either
    assert names(found, found.naming("Encoder", "o/other".__eq__)) == {"b.py:E"}
    assert found.naming("A") == []  # resolved: an edge says so


def test_a_name_can_be_narrowed_to_a_repository() -> None:
    found = graph(facts("a.py", "f"), facts("b.py", "f", repo="o/other"))
    assert names(found, found.named("f", "o/other".__eq__)) == {"b.py:f"}


def test_nodes_know_their_functions_and_functions_their_nodes() -> None:
    id_ = function_id("o/r", "a.py", "f", "def f(): pass")
    address = Address("o/r", "a.py", "f", "python", "https://example.org/a.py#L1-L1")
    stranger = function_id("o/r", "b.py", "f", "")
    found = load(build([facts("a.py", "f g")], [(id_, address)]))
    node = found.node_of(id_)
    assert node is not None
    assert found.symbol(node).name == "f"
    assert found.symbol(node).ids == (id_,)
    assert found.node_of(stranger) is None


def test_ids_that_end_in_zeros_are_found() -> None:
    address = Address("o/r", "a.py", "f", "python", "")
    id_ = "ab" * 14 + "0000"
    found = load(build([facts("a.py", "f")], [(id_, address)]))
    assert found.symbol(found.named("f")[0]).ids == (id_,)
    assert found.node_of(id_) == found.named("f")[0]


def test_the_ids_of_many_nodes_are_those_of_each() -> None:
    overloads = [(f"{number:02x}" * 14 + "0000", Address("o/r", "a.py", "f", "python", "")) for number in (1, 2)]
    other = ("07" * 16, Address("o/r", "a.py", "C.m", "python", ""))
    found = load(build([facts("a.py", "f C:class C.m g")], [*overloads, other]))
    nodes = [found.named(name)[0] for name in ("m", "C", "f", "g", "f")]
    assert found.ids_of(nodes) == [found.ids(node) for node in nodes]
    assert [len(ids) for ids in found.ids_of(nodes)] == [1, 0, 2, 0, 2]
    assert found.without_ids(nodes) == [nodes[1], nodes[3]]
    assert found.ids_of([]) == []
    assert found.without_ids([]) == []


def test_an_empty_index_has_an_empty_graph() -> None:
    found = load(build([], []))
    assert len(found) == found.edges == 0
    assert found.named("f") == []
    assert found.node_of("00" * 16) is None


def test_a_graph_of_another_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match="index it again"):
        load(pack({"names": np.zeros(1)}))


def test_the_same_facts_make_the_same_bytes() -> None:
    files = [facts("a.py", "f g", "f>g"), facts("b.py", "h", "h>g")]
    assert build(files, []) == build(files, [])
