"""The default: evidence along the tree, and places by the share of the relevance that a cluster holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, both, found, unit, units
from treeline.corpus.analysis import terms
from treeline.corpus.function import Address
from treeline.graph.embedding import embed
from treeline.graph.hyperbolic import distance, distances
from treeline.graph.local_tree import local_tree as whole_tree
from treeline.rerank.candidates import Candidate, Candidates, Contribution, RerankContext
from treeline.rerank.evidence import label_match, lists_changes, old_versions, path_facts, query_words
from treeline.rerank.rules import CLASS, DIVISORS, FILE, REPOSITORY, Columns
from treeline.rerank.tree import TreeRanking


def order(query: str, candidates: list[Candidate], diversity: float = 0.5) -> list[str]:
    ranked = TreeRanking(diversity)(candidates, RerankContext(query))
    return [f"{one.address.path}:{one.address.func_name}" for one in ranked]


def columns(rows: list[Candidate], fused: list[float] | None = None, query: str = "") -> Columns:
    scores = np.array([one.score for one in rows] if fused is None else fused)
    return Columns(Candidates.of(rows), scores, RerankContext(query))


def step(name: str, scope: str) -> float:
    return next(rule.weight for rule in DIVISORS if (rule.name, rule.scope) == (name, scope))


def test_in_a_collection_a_score_is_divided_for_earlier_results_from_its_repository() -> None:
    head = both("aaab", [0.9, 0.8, 0.7, 0.6])
    divided = TreeRanking().divisors(columns(head, [1.0, 0.9, 0.8, 0.75])).tolist()
    one = step("spread-repositories", "functions")
    assert divided == pytest.approx([1.0, 1.0 + one, 1.0 + 2 * one, 1.0])


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 1000).map(lambda share: share / 1000)), min_size=1, max_size=40
    )
)
def test_the_order_within_a_repository_stays(rows: list[tuple[str, float]]) -> None:
    head = both([repo for repo, _ in rows], [0.5] * len(rows))
    head = [one._replace(score=score) for one, (_, score) in zip(head, rows, strict=True)]
    head.sort(key=lambda one: -one.score)
    ranked = TreeRanking()(head, CONTEXT)
    for repo in "abc":
        own = [one.score for one in ranked if one.address.repo == f"o/{repo}"]
        assert own == sorted(own, reverse=True)


def test_more_diversity_shows_more_repositories_and_those_that_moved_say_why() -> None:
    head = both("aaaaaaaabbccddee", np.linspace(0.9, 0.1, 16).tolist())

    def repositories(diversity: float) -> int:
        return len({candidate.address.repo for candidate in TreeRanking(diversity)(head, CONTEXT)[:6]})

    assert repositories(0.0) == 1 < repositories(0.9) <= repositories(1.0) == 5
    assert [one.id for one in TreeRanking(0.0)(head, CONTEXT)] == [one.id for one in head]
    ranked = TreeRanking(1.0)(head, CONTEXT)
    assert [one.address.repo for one in ranked[:5]] == ["o/a", "o/b", "o/c", "o/d", "o/e"]  # as Algorithm 1
    assert ranked[1].reason.startswith("raised") and "f8.py holds" in ranked[1].reason
    assert any(one.reason.startswith("lowered: results from elsewhere") for one in ranked)


def test_a_result_far_below_the_others_is_not_raised_for_diversity() -> None:
    def repositories(*scores: float) -> str:
        places = [(f"o/{repo}", f"{number}.py", "f") for number, repo in enumerate("aaaabc")]
        rows = [one._replace(score=score) for one, score in zip(functions(*places), scores, strict=True)]
        return "".join(one.address.repo[-1] for one in TreeRanking()(rows, CONTEXT))

    assert repositories(0.9, 0.85, 0.8, 0.75, 0.75, 0.0) == "abaaac"
    assert repositories(0.9, 0.85, 0.8, 0.75, 0.5, 0.0) == "aaaabc"
    files = units(
        ("retry.py", "Retry", "class", 1.0),
        ("retry.py", "Retry.new", "method", 0.9),
        ("retry.py", "Retry.sleep", "method", 0.9),
        ("auth.py", "fail", "function", 0.2),
        ("far.py", "far", "function", 0.0),
    )
    assert order("try it once more with a delay", files)[2:4] == ["retry.py:Retry", "auth.py:fail"]


def test_the_units_of_a_file_change_places_among_themselves_alone() -> None:
    rows = units(
        ("retry.py", "Retry", "class", 1.0),
        ("auth.py", "Auth.sign", "method", 0.9),
        ("retry.py", "Retry.sleep", "method", 0.8),
        ("far.py", "far", "function", 0.0),
    )
    files = ["retry.py", "auth.py", "retry.py", "far.py"]
    specific, broad = order("sleep between one try and the next", rows), order("how it sleeps", rows)
    assert [one.partition(":")[0] for one in specific] == files == [one.partition(":")[0] for one in broad]
    assert specific[::2] == ["retry.py:Retry.sleep", "retry.py:Retry"]  # what does it, before the class around it
    assert broad[0] == "retry.py:Retry"
    assert order("Retry", rows)[0] == "retry.py:Retry"


def test_where_the_call_graph_answers_the_order_stays() -> None:
    head = [
        found(address("o/a", "f.py", f"f{i}"), i, keyword=(5 - i, 1.0), graph=(i + 1, 1.0), dense=(5 - i, 0.5))
        for i in range(4)
    ]
    ranked = TreeRanking()(head, RerankContext("what calls f", kind="structural"))
    assert [candidate.id for candidate in ranked] == [candidate.id for candidate in head]
    assert [candidate.id for candidate in TreeRanking()(head, CONTEXT)] == [candidate.id for candidate in head]


def test_what_only_one_lane_found_is_ranked_too_and_leaves_the_others_as_they_are() -> None:
    usual = [unit(i, f"f{i}.py", f"f{i}", "class", 1.0 - i / 200) for i in range(100)]
    deep = [unit(100, "yaml.py", "load", "function", 0.2), unit(101, "f0.py", "rest", "function", 0.0)]
    ranked = order("yaml reader for the settings of users", [*usual, *deep])
    assert ranked.index("yaml.py:load") < 60  # for its file's name
    assert [one for one in ranked if one.startswith("f") and "rest" not in one] == order("yaml reader for users", usual)


def test_nothing_found_is_nothing_ranked() -> None:
    assert not list(TreeRanking()([], CONTEXT))


def test_a_file_whose_units_match_together_rises() -> None:
    rows = units(
        ("one.py", "Alone", "class", 1.0),
        ("many.py", "first", "function", 0.95),
        ("many.py", "second", "function", 0.9),
        ("many.py", "third", "function", 0.85),
        ("near.py", "near", "function", 0.8),
        ("far.py", "far", "function", 0.0),
    )
    assert order("routing", rows)[:2] == ["many.py:first", "one.py:Alone"]
    # Another file goes before the second of one, unless it is much weaker.
    assert order("routing", rows)[2:] == ["near.py:near", "many.py:second", "many.py:third", "far.py:far"]


def test_words_of_the_file_name_count_and_words_that_all_files_have_do_not() -> None:
    rows = units(
        ("http_server.py", "run", "function", 1.0),
        ("http_session.py", "load", "function", 0.8),
        ("http_client.py", "Client", "class", 0.7),
        ("http_other.py", "far", "function", 0.0),
    )
    assert order("http session management", rows)[0] == "http_session.py:load"
    assert order("http", rows)[0] == "http_server.py:run"


def test_a_word_of_many_file_names_counts_less_than_a_word_of_one() -> None:
    names = ["option", "option group", "option flag", "option parser", "source", "context", "help"]
    labels = [(frozenset(name.split()),) for name in names]
    found = label_match(labels, frozenset({"option", "source"}), ["o/r"] * len(labels))
    assert 0.0 < found[0] < 0.7 < found[4] == 1.0
    scattered = label_match(labels, frozenset({"option", "source"}), [f"o/r{number}" for number in range(len(labels))])
    assert scattered[0] == scattered[4] == 1.0  # one file of each repository says nothing about its other names


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_app.py",
        "src/app_test.go",
        "src/app.spec.ts",
        "examples/app.py",
        "benches/bench/app.rs",
        "vendor/lib/app.go",
        "api/app.pb.go",
        "src/app.d.ts",
        "app/FooTest.java",
        "app/AppTests.swift",
        "App.Tests/Reader.cs",
        "src/jvmTest/kotlin/App.kt",
        "pkg/testdata/app.go",
        "benches/app.rs",
        "features/app.feature",
        "apps/web/test/app_SUITE.erl",
    ],
)
def test_tests_examples_vendored_and_generated_files_follow_the_real_thing(path: str) -> None:
    rows = units((path, "run_app", "function", 1.0), ("core/x.py", "run", "class", 0.8), ("y.py", "z", "class", 0.0))
    assert order("start the server", rows)[0] == "core/x.py:run"
    assert order("tests and examples, generated code or vendored", rows)[0] == f"{path}:run_app"


@pytest.mark.parametrize(
    "path",
    ["contest.py", "latest/app.py", "attestation.go", "spectrum.py", "doctor.py", "a/latest/b.py", "fastest/x.go"],
)
def test_a_name_that_only_looks_like_a_test_does_not(path: str) -> None:
    assert not path_facts(path).is_test_like


def document(number: int, path: str, name: str, score: float) -> Candidate:
    where = Address("o/r", path, name, "markdown", f"https://example.org/{path}#L{number + 1}-L{number + 9}", "section")
    return Candidate(f"id{number}", where, score, (Contribution("keyword", 1, score, score),))


@pytest.mark.parametrize(
    "path",
    [
        "CHANGELOG.md",
        "History.markdown",
        "NEWS",
        "CHANGES.rst",
        "docs/releases/2.0.txt",
        "release-notes/1.md",
        "news/1.md",
    ],
)
def test_a_list_of_changes_follows_the_code_unless_it_is_asked_for(path: str) -> None:
    rows = [
        document(0, path, "2.0.0", 1.0),
        unit(1, "core/x.py", "send", "function", 0.6),
        unit(2, "y.py", "z", "class", 0.0),
    ]
    assert order("retry a request that timed out", rows)[0] == "core/x.py:send"
    assert order("how do I retry a request", rows)[0] == "core/x.py:send"
    assert order("changelog: retry a request that timed out", rows)[0] == f"{path}:2.0.0"


def test_code_about_history_is_no_list_of_changes() -> None:
    assert not lists_changes("src/history.py", "python", "retry a request")


@pytest.mark.parametrize("path", ["exchange.md", "docs/historical.md", "newsletter.md", "releasing.md"])
def test_a_document_that_only_sounds_like_a_list_of_changes_is_none(path: str) -> None:
    assert not lists_changes(path, "markdown", "retry a request")


@pytest.mark.parametrize("path", ["README.md", "docs/permalinks.md", "site/guide.md"])
def test_code_goes_before_a_document_that_matches_a_little_better(path: str) -> None:
    rows = [
        document(0, path, "Links", 1.0),
        unit(1, "core/x.py", "make", "function", 0.75),
        unit(2, "y.py", "z", "class", 0.0),
    ]
    assert order("how are addresses generated", rows)[0] == "core/x.py:make"
    for asking in ("how do I generate addresses", "install it", "documentation of addresses"):
        assert order(asking, rows)[0] == f"{path}:Links"


def test_the_sections_of_a_document_support_each_other_less_than_functions_do() -> None:
    rows = [("src/zip.py", "Archive.unpack", "function", 0.9), ("src/other.py", "pack", "function", 0.0)]
    sections = [("README.md", f"Zip > Part {number}", "section", 0.8) for number in range(6)]
    found = [one._replace(address=one.address._replace(language="markdown")) for one in units(*sections)]
    candidates = [*found, *(one._replace(id=f"code{number}") for number, one in enumerate(units(*rows)))]
    assert order("extracting of archives", candidates)[0] == "src/zip.py:Archive.unpack"


def test_a_document_that_matches_much_better_than_any_code_stays_first() -> None:
    rows = [
        document(0, "README.md", "Links", 1.0),
        unit(1, "x.py", "make", "function", 0.1),
        *units(("y.py", "z", "class", 0.0)),
    ]
    assert order("what it is for", rows)[0] == "README.md:Links"


def test_a_section_goes_first_if_the_query_is_its_heading_unless_code_answers_as_well() -> None:
    guide = [document(0, "site/guide.md", "Pipes", 0.9), document(1, "site/guide.md", "Pipes > Using streams", 0.8)]
    rows = [*guide, unit(2, "core/tube.py", "open", "function", 0.9), unit(3, "y.py", "z", "class", 0.0)]
    assert order("Using streams", rows)[0] == "site/guide.md:Pipes > Using streams"
    assert "the query is its name" in TreeRanking()(rows, RerankContext("using streams"))[0].reason
    assert order("using streams twice", rows)[0] == "core/tube.py:open"
    named = [*guide, unit(2, "core/streams.py", "use", "function", 1.0), unit(3, "y.py", "z", "class", 0.0)]
    assert order("using streams", named)[0] == "core/streams.py:use"


def test_the_definition_of_a_name_comes_before_its_uses() -> None:
    rows = units(
        ("use.py", "make_router", "function", 1.0),
        ("use.py", "router_for", "function", 0.9),
        ("plain.py", "router", "constant", 0.4),
        ("def.py", "Router", "class", 0.2),
        ("sigil.ts", "$Router", "interface", 0.1),
    )
    assert order("Router", rows)[0] == "def.py:Router"
    places = order("Router", rows).index
    assert places("sigil.ts:$Router") < places("plain.py:router") < places("use.py:router_for")
    assert order("the router", rows)[0] == "use.py:make_router"


def test_a_file_that_is_called_like_the_name_comes_before_a_constant_of_that_name() -> None:
    rows = units(
        ("main.js", "response", "constant", 1.0),
        ("response.js", "response.js", "file", 0.1),
        ("x.js", "y", "class", 0.0),
    )
    assert order("response", rows)[0] == "response.js:response.js"
    rows[0] = unit(0, "main.js", "Response", "class", 1.0)
    assert order("Response", rows)[0] == "main.js:Response"


def test_a_document_defines_no_name() -> None:
    rows = [document(0, "guide/routing.md", "Routing", 0.9), *units(("router.py", "routing", "function", 1.0))]
    where = rows[0].address._replace(func_name="routing.md", kind="file")
    rows[0] = rows[0]._replace(id="doc", address=where)
    assert order("routing", rows)[0] == "router.py:routing"


def test_a_folder_counts_beside_the_name_of_the_project() -> None:
    rows = [
        unit(0, "core/app.py", "run", "function", 1.0, "o/web"),
        unit(1, "routing/match.py", "find", "function", 0.7, "o/web"),
        unit(2, "x.py", "Z", "class", 0.0, "o/web"),
    ]
    assert order("how web does its routing", rows)[0] == "routing/match.py:find"


def test_a_file_that_hands_on_a_name_stands_for_a_definition_that_is_elsewhere() -> None:
    rows = units(
        ("json.rs", "Json.from_request", "method", 1.0),
        ("extract/mod.rs", "mod.rs", "file", 0.2),
        ("other.rs", "other.rs", "file", 0.1),
        ("z.rs", "z", "class", 0.0),
    )
    texts = {
        "id1": "pub use core::{\n    FromRef, FromRequest,\n};",
        "id2": "use core::FromRequest;\npub use core::Other;",
    }

    def first(query: str, rows: list[Candidate]) -> str:
        context = RerankContext(query, texts=lambda ids: [texts.get(id_, "") for id_ in ids])
        return TreeRanking()(rows, context)[0].address.path

    assert first("FromRequest", rows) == "extract/mod.rs"
    matches = [unit(5 + n, "json.rs", f"Json.from_request_{n}", "method", 0.98) for n in range(4)]
    assert first("FromRequest", [rows[0], *matches, *rows[1:]]) == "extract/mod.rs"
    assert first("from_request", rows) == "json.rs"
    rows.insert(1, unit(4, "z.rs", "FromRequest", "interface", 0.7))
    assert first("FromRequest", rows) == "z.rs"


def test_a_type_that_is_asked_for_does_not_fill_the_page_with_its_members() -> None:
    rows = units(
        ("session.py", "Session", "class", 1.0),
        *((f"methods{number}.py", f"Session.send_{number}", "method", 0.9 - number / 100) for number in range(6)),
        ("client.py", "open_session", "function", 0.3),
        ("x.py", "y", "function", 0.0),
    )
    found = order("Session", rows)
    assert found[0] == "session.py:Session"
    assert found.index("client.py:open_session") == 4  # the type, three members, then others
    assert order("send a request in a session", rows).index("client.py:open_session") > 4


def test_a_file_that_is_called_like_the_project_gains_nothing_from_its_name() -> None:
    rows = units(
        ("args.py", "iterate", "function", 1.0), ("clap.py", "main", "function", 0.8), ("y.py", "z", "class", 0.0)
    )
    assert order("how clap iterates over arguments", rows)[0] == "clap.py:main"
    own = [one._replace(address=one.address._replace(repo="owner/zig-clap")) for one in rows]
    assert order("how clap iterates over arguments", own)[0] == "args.py:iterate"


@pytest.mark.parametrize(
    ("query", "symbols"),
    [
        ("how helpToFile writes the output", ["helpToFile"]),
        ("what fmt::helpToFile writes", ["fmt::helpToFile"]),
        ("how Helper formats the output of Unknown", []),
    ],
)
def test_a_repository_that_defines_the_names_in_a_sentence_goes_before_others(query: str, symbols: list[str]) -> None:
    rows = [
        unit(0, "format.py", "write_help", "function", 1.0, "o/click"),
        unit(1, "format.py", "print_help", "function", 0.9, "o/click"),
        unit(2, "clap.zig", "helpToFile", "function", 0.5, "o/zig-clap"),
        unit(3, "clap.zig", "Helper", "class", 0.4, "o/zig-clap"),
        unit(4, "other.zig", "z", "function", 0.0, "o/zig-clap"),
    ]

    def first(query: str, symbols: list[str]) -> str:
        return TreeRanking()(rows, RerankContext(query, symbols=symbols))[0].address.repo

    assert first(query, symbols) == "o/zig-clap"
    assert first(query.lower(), []) == "o/click"
    rows[1] = unit(1, "format.py", "helpToFile", "function", 0.9, "o/click")
    rows[0] = unit(0, "format.py", "Helper", "class", 1.0, "o/click")
    assert first(query, symbols) == "o/click"


def test_an_old_version_follows_the_new_one_unless_it_is_asked_for() -> None:
    rows = units(
        ("v3/types.ts", "Schema", "class", 1.0), ("v4/core.ts", "Schema", "class", 0.8), ("y.ts", "z", "class", 0.0)
    )
    assert order("schema that validates", rows)[0] == "v4/core.ts:Schema"
    assert order("v3 schema that validates", rows)[0] == "v3/types.ts:Schema"
    assert order("schema that validates", rows[:1] + rows[2:])[0] == "v3/types.ts:Schema"


def test_an_old_version_of_a_file_follows_the_newest_unless_it_is_asked_for() -> None:
    paths = ["specs/tool-1.9.2-1.spec", "specs/tool-1.10.0-1.spec", "specs/other-1.1.0.spec", "v2/migrations/v01.py"]
    assert old_versions(paths, ["o/r"] * 4, "dependencies") == [True, False, False, False]
    assert old_versions(paths, ["o/r"] * 4, "dependencies of 1.9.2-1") == [False] * 4
    assert old_versions(paths, ["o/a", "o/b", "o/c", "o/d"], "dependencies") == [False] * 4


def test_an_outdated_folder_and_a_first_version_beside_the_same_file_are_old() -> None:
    paths = ["lib/legacy/parse.js", "api/v1/pods.go", "api/pods.go", "api/v1/nodes.go"]
    assert old_versions(paths, ["o/r"] * 4, "parse pods") == [True, True, False, False]
    assert old_versions(paths, ["o/r"] * 4, "legacy v1 pods") == [False] * 4


def test_the_name_of_an_agent_meets_what_it_does() -> None:
    for name, query in (
        ("formatter", "formats a date"),
        ("router", "routing"),
        ("logger", "log it"),
        ("writer", "writes"),
    ):
        assert path_facts(f"{name}.py").stem & query_words(query), name
    assert not path_facts("user.py").stem & query_words("use it")


def test_words_of_the_query_that_are_one_word_in_a_file_name_meet_it() -> None:
    rows = units(
        ("work.c", "queue", "function", 1.0), ("threadpool.c", "post", "function", 0.7), ("y.c", "z", "class", 0.0)
    )
    assert order("the thread pool", rows)[0] == "threadpool.c:post"


POOL = [
    ("pool.py", "Pool.acquire", "method", 1.0),
    ("pool.py", "Pool.release", "method", 0.95),
    ("pool.py", "Pool.close", "method", 0.9),
    ("pool.py", "Pool", "class", 0.7),
    ("x.py", "y", "class", 0.0),
]


def test_a_question_about_a_whole_shows_other_files_before_the_second_result_of_one() -> None:
    rows = units(
        ("pool.py", "Pool.get", "method", 1.0),
        ("pool.py", "Pool.put", "method", 0.9),
        ("other.py", "reuse", "function", 0.55),
        ("far.py", "Far", "class", 0.0),
    )
    assert order("how are connections kept", rows)[1] == "other.py:reuse"
    assert order("keep a connection that is not used any more", rows)[1] == "pool.py:Pool.put"


def test_the_longer_a_query_the_nearer_together_it_leaves_the_results_of_a_file() -> None:
    rows = units(
        ("a/x.py", "one", "function", 0.9),
        ("a/x.py", "Two", "class", 0.8),
        ("b/y.py", "three", "function", 0.7),
    )
    queries = ["words " * count for count in (4, 8, 12, 20)]
    apart = [TreeRanking().divisors(columns(rows, query=query)).max() - 1 for query in queries]
    assert apart[0] > apart[1] > apart[2] == apart[3] > 0


def test_a_qualified_name_is_found_by_all_of_it() -> None:
    rows = units(
        ("a.rb", "Other.call", "method", 1.0), ("b.rb", "Builder.call", "method", 0.5), ("c.rb", "x", "class", 0.0)
    )
    assert order("Builder::call", rows)[0] == "b.rb:Builder.call"


def test_every_result_says_what_its_node_added_and_its_share() -> None:
    rows = units(
        ("session.py", "load", "function", 1.0), ("session.py", "save", "function", 0.8), ("b.py", "f", "class", 0.1)
    )
    first = TreeRanking()(rows, RerankContext("session"))[0]
    assert "more matches in its file +" in first.reason and "its file's name +0.60" in first.reason
    assert "session.py holds" in first.reason and "of 10 places" in first.reason


def functions(*places: tuple[str, str, str]) -> list[Candidate]:
    return [unit(number, path, name, "function", 1.0, repo) for number, (repo, path, name) in enumerate(places)]


def radius_of(rows: list[Candidate], fused: list[float] | None = None) -> int:
    return columns(rows, fused or [1.0] * len(rows)).radius


def test_the_tree_is_cut_where_it_separates_the_candidates_into_as_many_as_the_page_has_ranks() -> None:
    assert radius_of(functions(*((f"o/r{i}", "a.py", "f") for i in range(12)))) == REPOSITORY
    assert radius_of(functions(*((f"o/r{i % 2}", f"a{i}.py", "f") for i in range(12)))) == FILE
    assert radius_of(functions(*(("o/r", "a.py", f"C{i}.f") for i in range(12)))) == CLASS
    rows = functions(*((f"o/r{i}", "a.py", "f") for i in range(12)))
    assert radius_of(rows, [100.0] + [0.1] * 11) > REPOSITORY  # one holds most


def test_where_files_are_units_the_cut_is_at_the_file_and_in_one_file_at_the_class() -> None:
    rows = [unit(i, f"a{i % 2}.py", "C", "class", 1.0, f"o/r{i}") for i in range(12)]
    assert radius_of(rows) == FILE
    assert radius_of([unit(i, "a.py", f"C{i}", "class", 1.0) for i in range(12)]) == CLASS


def test_among_functions_of_one_repository_another_file_goes_first_if_nearly_as_good() -> None:
    rows = functions(("r", "a.py", "f"), ("r", "a.py", "g"), ("r", "b.py", "h"), ("r", "c.py", "i"))
    rows = [one._replace(score=score) for one, score in zip(rows, (1.0, 0.9, 0.88, 0.0), strict=True)]
    assert order("something", rows) == ["a.py:f", "b.py:h", "a.py:g", "c.py:i"]
    assert "b.py holds" in TreeRanking()(rows, RerankContext("something"))[1].reason


def test_the_cut_at_a_radius_of_the_disk_is_the_cut_of_the_tree() -> None:
    """Two candidates share a cluster where their paths part beyond the cut: the Gromov product says the same in the
    embedded tree, up to its distortion."""
    places = [address(f"o/r{i % 5}", f"d{i % 2}/f{i % 3}.py", f"f{i}") for i in range(40)]
    local = whole_tree(places)
    points = embed(local.parents, local.weights)
    leaves = points.points.take(local.leaves.astype(np.intp))
    root = points.points.take(np.zeros(len(places), dtype=np.intp))
    height = distance(leaves, root) / points.scale
    meeting = (height[:, None] + height[None, :] - distances(leaves, leaves) / points.scale) / 2
    same = np.array([[one.repo == other.repo for other in places] for one in places])
    assert ((meeting > 0.5) == same).all()


@pytest.mark.parametrize("name", ["tests.walks_all", "tests.helper", "Walk.test_parallel", "test_walk"])
def test_a_test_inside_a_file_of_code_follows_the_code_unless_tests_are_asked_for(name: str) -> None:
    found = units(
        ("src/one.rs", name, "function", 0.9),
        ("src/two.rs", "walk", "function", 0.8),
        ("src/lib.rs", "lib.rs", "file", 0.1),
    )
    assert order("parallel walking of folders", found)[0] == "src/two.rs:walk"
    assert order("tests of walking", found)[0] == f"src/one.rs:{name}"


def test_up_to_three_neighbouring_words_of_a_query_are_read_as_one_too() -> None:
    assert query_words("open the Thread pool") == {
        *terms("open the thread pool openthe thethread threadpool openthethread thethreadpool")
    }


def test_documents_of_a_release_follow_those_of_today_unless_the_release_is_named() -> None:
    kept = [f"www/versioned_docs/version-{version}/errors.md" for version in ("9.x", "10.x", "2.0.0")]
    assert old_versions([*kept, "www/docs/errors.md"], ["o/r"] * 4, "format errors") == [True, True, True, False]
    assert old_versions(kept, ["o/r"] * 3, "format errors in v9") == [False, True, True]
