"""What every engine must find: one suite, both engines."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from tests.engine.functions import ENCODER, SAMPLE, build, function, terms_of, vectors
from treeline.corpus.analysis import of_file, terms, with_file
from treeline.corpus.errors import EncoderMismatch
from treeline.engine.hits import Hit
from treeline.engine.patterns import exactly
from treeline.engine.protocol import Engine, Filters, Store

BY_NAME = {one.func_name: one for one in SAMPLE}


def names(hits: Sequence[Hit]) -> list[str]:
    return [hit.address.func_name for hit in hits]


def test_keyword_ranks_the_function_that_has_the_most_of_the_question_first(engine: Engine) -> None:
    assert names(engine.keyword(terms("parse a json document"), 3))[0] == "parse_json"


def test_keyword_finds_a_part_of_a_camel_case_name(engine: Engine) -> None:
    assert names(engine.keyword(terms("url"), 3)) == ["HttpClient.getUrl"]


def test_keyword_finds_another_form_of_a_word(engine: Engine) -> None:
    assert "int_to_string" in names(engine.keyword(terms("converting integers"), 3))


def test_a_shape_finds_what_has_it_and_changes_no_other_answer(store: Store, name: str) -> None:
    plain = build(store, name)
    with closing(store.open(name)) as engine:
        before = [(hit.address.func_name, round(hit.score, 5)) for hit in engine.keyword(terms("sort list value"), 10)]
    shaped = [f"{one} ~recursion ~raises=oserror" if "quick" in one else one for one in terms_of(SAMPLE)]
    with store.begin(name, [ENCODER], "f", fresh=True) as writer:
        writer.write(SAMPLE, shaped, {ENCODER.name: vectors(SAMPLE)})
        assert writer.publish().functions == plain.functions
    with closing(store.open(name)) as engine:
        after = [(hit.address.func_name, round(hit.score, 5)) for hit in engine.keyword(terms("sort list value"), 10)]
        assert after == before
        assert names(engine.keyword(["~recursion"], 10)) == ["Sorter.quick_sort"]
        both = names(engine.keyword([*terms("sort"), "~recursion"], 10))
        assert both == ["Sorter.quick_sort", "sort"]
        assert names(engine.keyword(terms("sort"), 10)) == ["sort", "Sorter.quick_sort"]


def test_a_word_of_a_whole_file_finds_the_unit_that_stands_for_it(store: Store, name: str) -> None:
    whole = [with_file(one, terms_of(SAMPLE)) if number == 0 else one for number, one in enumerate(terms_of(SAMPLE))]
    with store.begin(name, [ENCODER], "f", fresh=True) as writer:
        writer.write(SAMPLE, whole, {ENCODER.name: vectors(SAMPLE)})
        writer.publish()
    with closing(store.open(name)) as engine:
        assert names(engine.keyword([of_file(one) for one in terms("sort")], 10)) == [SAMPLE[0].func_name]
        assert names(engine.keyword(terms("sort"), 10)) == ["sort", "Sorter.quick_sort"]


def test_keyword_returns_no_more_than_asked_for_by_falling_scores(engine: Engine) -> None:
    assert len(engine.keyword(terms("def return value"), 2)) == 2
    scores = [hit.score for hit in engine.keyword(terms("sort list value"), 10)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0


def test_words_one_edit_away_are_counted_with_the_word(engine: Engine) -> None:
    assert engine.spellings("integr") == {"integr": 0, "integer": 1}
    assert engine.spellings("sort")["sort"] == 2
    assert engine.spellings("ort") == {"ort": 0}  # the first letter stays
    assert engine.spellings("walrusses") == {"walrusses": 0}


def test_nothing_is_found_when_nothing_is_asked_for(engine: Engine) -> None:
    for k in (0, -1):
        assert engine.keyword(terms("sort"), k) == []
        assert engine.knn(vectors(SAMPLE)[0], k) == []
    assert engine.keyword([], 10) == []
    assert engine.fuzzy("", 10) == []
    assert engine.fuzzy("?! …", 10) == []


def test_a_word_of_the_name_counts_more_than_one_of_the_docstring_or_the_code(store: Store, name: str) -> None:
    pair = [
        function("walrus_a", docstring="Feeds the otter.", code="def f(x):\n    return x\n"),
        function("otter_a", docstring="Feeds the walrus.", code="def f(x):\n    return x\n"),
    ]
    build(store, name, pair)
    engine = store.open(name)
    assert names(engine.keyword(terms("walrus"), 2)) == ["walrus_a", "otter_a"]
    assert names(engine.keyword(terms("otter"), 2)) == ["otter_a", "walrus_a"]


def test_a_question_equal_to_a_docstring_finds_nothing_through_the_code(store: Store, name: str) -> None:
    documented = [
        function(f"f{number}", docstring=f"Zebra {word} quagga.", code=f"def f{number}(x):\n    return x\n")
        for number, word in enumerate(["stripes", "hooves", "manes"])
    ]
    build(store, name, documented)
    engine = store.open(name)
    for one in documented:
        assert engine.keyword(terms(one.docstring), 1)[0].id == one.id
    build(store, name, [replace(one, docstring="") for one in documented])
    engine = store.open(name)
    for one in documented:
        assert engine.keyword(terms(one.docstring), 10) == []


def test_fuzzy_finds_a_one_letter_typo(engine: Engine) -> None:
    for typo in ("parse_jsn", "parse_jsom", "parsse_json", "aprse_json", "xarse_json"):
        assert names(engine.fuzzy(typo, 1)) == ["parse_json"], typo
    assert names(engine.fuzzy("intger", 1)) == ["int_to_string"]  # in a docstring
    assert names(engine.fuzzy("laods", 1)) == ["parse_json"]  # in code
    assert engine.fuzzy("qz", 10) == []  # two letters are not bent


def test_fuzzy_prefers_the_exact_word(store: Store, name: str) -> None:
    build(store, name, [function("load_dart"), function("load_data"), function("load_date")])
    engine = store.open(name)
    assert names(engine.fuzzy("load_data", 3))[0] == "load_data"


def test_words_as_written_are_neither_split_nor_stemmed(engine: Engine) -> None:
    assert names(engine.as_written("parse_json", 3))[0] == "parse_json"
    assert "int_to_string" not in names(engine.as_written("converting integers", 3))
    assert engine.as_written("parse_jsn", 3) == []
    assert names(engine.as_written("parse_jsn", 1, fuzziness=1)) == ["parse_json"]
    assert engine.as_written("?!", 3) == engine.as_written("", 3) == []
    assert engine.as_written("parse_json", 3, Filters(language="nosuch")) == []


def test_knn_finds_a_function_by_its_own_vector(engine: Engine) -> None:
    for one, vector in zip(SAMPLE, vectors(SAMPLE), strict=True):
        best = engine.knn(vector, 1)[0]
        assert best.id == one.id
        assert best.score == pytest.approx(1, abs=0.01)


def test_knn_scores_are_cosines(engine: Engine) -> None:
    rows = vectors(SAMPLE)
    query = rows[0] + rows[1]
    query /= np.linalg.norm(query)
    expected = dict(zip([one.id for one in SAMPLE], (rows @ query).tolist(), strict=True))
    hits = engine.knn(3 * query, 6)
    assert {hit.id: pytest.approx(hit.score, abs=0.01) for hit in hits} == expected
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_knn_refuses_a_vector_of_another_dimension_and_names_the_encoder(engine: Engine) -> None:
    with pytest.raises(EncoderMismatch, match="made-up"):
        engine.knn(np.ones(3, dtype=np.float32), 3)
    with pytest.raises(EncoderMismatch, match=r"made-up.*other"):
        engine.knn(vectors(SAMPLE)[0], 3, encoder="other")
    for nothing in (0.0, np.nan):
        assert engine.knn(np.full(ENCODER.dimension, nothing, dtype=np.float32), 3) == []


FILTERS = [
    Filters(language="javascript"),
    Filters(repo="bob/tools"),
    Filters(path="src/sort/"),
    Filters(path="src"),
    Filters(partition="train"),
    Filters(repo="ada/engine", path="src/n", language="python", partition="train"),
    Filters(repo="nobody/nothing"),
    Filters(kind="method"),
    Filters(kind="class, method"),
    Filters(kind="class,enum", repo="bob/tools"),
    Filters(kind="enum"),
    Filters(kind="no such kind"),
    Filters(path="src/.*"),
    Filters(language="javascript,python", repo="-bob/tools"),
    Filters(kind="-method,-class"),
    Filters(path="src/,lib/s", role="code"),
]


def _passes(text: str, value: str) -> bool:
    values = text.replace(" ", "").split(",")
    return f"-{value}" not in values and (text[:1] in ("", "-") or value in values)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_every_search_keeps_to_the_filters(engine: Engine, filters: Filters) -> None:
    passing = {
        one.id
        for one in SAMPLE
        if all(
            _passes(getattr(filters, field), getattr(one, field)) for field in ("language", "repo", "partition", "kind")
        )
        and one.path.startswith(tuple(filters.path.split(",")))
    }
    with_return = {one.id for one in SAMPLE}
    assert {hit.id for hit in engine.keyword(terms("def return value"), 10, filters)} == passing & with_return
    assert {hit.id for hit in engine.fuzzy("retrun", 10, filters)} == passing
    assert {hit.id for hit in engine.knn(vectors(SAMPLE)[0], 10, filters)} == passing
    expected_names = {one.id for one in SAMPLE[2:4]} & passing
    assert {hit.id for name in ("sort", "quick_sort") for hit in engine.named(name, 10, filters)} == expected_names
    assert {hit.id for hit in engine.locate([one.id for one in SAMPLE], filters)} == passing
    assert engine.count(filters) == len(passing)


PATHS = """src/app.py src/auth/app.py src/auth/test_app.py src/app_test.go tests/test_app.py docs/app.md README.md
examples/app.py vendor/x/app.go build/app.js web/app.min.js src/a,b.py src/[id]/page.tsx src/-x.py src/CartTest.java
CMakeLists.txt src/contest.py Tests/App.swift src/c++/app.cpp""".split()
TESTS = {"src/auth/test_app.py", "src/app_test.go", "tests/test_app.py", "src/CartTest.java", "Tests/App.swift"}
ASIDE = {*TESTS, "docs/app.md", "README.md", "examples/app.py", "vendor/x/app.go", "build/app.js", "web/app.min.js"}


@pytest.mark.parametrize(
    "filters, passing",
    [
        (Filters(role="test"), TESTS),
        (Filters(role="-test"), {*PATHS} - TESTS),
        (Filters(role="code"), {*PATHS} - ASIDE),
        (Filters(role="docs,vendored"), {"docs/app.md", "README.md", "vendor/x/app.go"}),
        (Filters(role="generated"), {"build/app.js", "web/app.min.js"}),
        (Filters(role="example"), {"examples/app.py"}),
        (Filters(role="nosuch"), set()),
        (Filters(file="app.py"), {"src/app.py", "src/auth/app.py", "examples/app.py"}),
        (Filters(file="auth/app.py"), {"src/auth/app.py"}),
        (Filters(file="*_test.go,README.*"), {"src/app_test.go", "README.md"}),
        (Filters(ext="md,.swift"), {"docs/app.md", "README.md", "Tests/App.swift"}),
        (Filters(ext="-py", path="src/a"), {"src/app_test.go"}),
        (Filters(path="src/**/test_*.py"), {"src/auth/test_app.py"}),
        (Filters(path="src/*.py"), {"src/app.py", "src/a,b.py", "src/-x.py", "src/contest.py"}),
        (Filters(path="*.go"), {"src/app_test.go", "vendor/x/app.go"}),
        (Filters(path="src/*/"), {"src/auth/app.py", "src/auth/test_app.py", "src/[id]/page.tsx", "src/c++/app.cpp"}),
        (Filters(path="docs/,src/auth/", role="-test"), {"docs/app.md", "src/auth/app.py"}),
        (Filters(path="src/,-src/a,-src/*/"), {"src/-x.py", "src/CartTest.java", "src/contest.py"}),
        (Filters(path=exactly("src/a,b.py") + "," + exactly("src/[id]/page.tsx")), {"src/a,b.py", "src/[id]/page.tsx"}),
        (Filters(path=f"/src/c++,{exactly('-x')},./build"), {"src/c++/app.cpp", "build/app.js"}),
        (Filters(path="\udcff,a?c"), set()),
    ],
)  # fmt: skip
def test_patterns_of_paths_pass_the_same_in_both_engines(
    paths_engine: Engine, filters: Filters, passing: set[str]
) -> None:
    engine = paths_engine
    ids = [unit.id for unit in engine.scan()]
    every = [
        engine.keyword(terms("def return value"), 50, filters),
        engine.keyword(terms("def return value"), 3, filters),
        engine.knn(vectors(SAMPLE)[0], 50, filters),
        engine.locate(ids, filters),
        engine.phrase("return", 50, filters),
    ]
    found = [{hit.address.path for hit in hits} for hits in every]
    assert [len(found.pop(1)), *found] == [min(3, len(passing)), *[passing] * 4]
    assert engine.count(filters) == len(passing)


@pytest.mark.parametrize("letter", ["a", "é", "日", "."])
def test_a_path_filter_may_be_as_long_as_the_api_takes(store: Store, name: str, letter: str) -> None:
    longest = 990 // len(letter.encode())
    paths = [f"{letter * (longest - shorter)}/x.py" for shorter in range(5)]
    long = [function(f"f{number}", path=path, line=number + 1) for number, path in enumerate(paths)]
    build(store, name, [*SAMPLE, *long])
    engine = store.open(name)
    for length, expected in ((1, 5), (longest // 2, 5), (longest - 1, 2), (longest, 1), (longest + 1, 0), (1_000, 0)):
        filters = Filters(path=letter * length)
        every = [
            engine.keyword(terms("def return value"), 20, filters),
            engine.fuzzy("retrun", 20, filters),
            [hit for one in long for hit in engine.named(one.func_name, 2, filters)],
            engine.knn(vectors(SAMPLE)[0], 20, filters),
        ]
        assert [len(hits) for hits in every] == [expected] * 4
        assert engine.count(filters) == expected


def test_filters_do_not_change_scores(engine: Engine) -> None:
    plain = {hit.id: hit.score for hit in engine.keyword(terms("sort"), 10)}
    narrowed = engine.keyword(terms("sort"), 10, Filters(repo="bob/tools", path="lib"))
    assert {hit.id: hit.score for hit in narrowed} == {BY_NAME["sort"].id: pytest.approx(plain[BY_NAME["sort"].id])}


def test_filtered_knn_returns_k_when_that_many_match(store: Store, name: str) -> None:
    many = [
        function(f"f{number}", repo="big/one" if number % 50 else "small/one", path=f"{number}.py", line=number + 1)
        for number in range(1_000)
    ]
    build(store, name, many)
    engine = store.open(name)
    assert len(engine.knn(vectors(many)[7], 20, Filters(repo="small/one"))) == 20
    assert len(engine.knn(vectors(many)[7], 100, Filters(repo="big/one"))) == 100


def test_hits_say_where_the_function_lives(engine: Engine) -> None:
    for hit in [*engine.keyword(terms("sort"), 10), *engine.knn(vectors(SAMPLE)[2], 3)]:
        assert hit.address == next(one for one in SAMPLE if one.id == hit.id).address


def test_named_finds_the_whole_and_the_last_name_with_case_kept(engine: Engine) -> None:
    assert names(engine.named("Sorter.quick_sort", 5)) == ["Sorter.quick_sort"]
    assert names(engine.named("quick_sort", 5)) == ["Sorter.quick_sort"]
    assert engine.named("QUICK_SORT", 5) == []
    assert names(engine.named("sort", 5, Filters(partition="test"))) == ["sort"]


def test_suggest_gives_the_most_common_first(store: Store, name: str) -> None:
    common = [function("get_all", path=f"{number}.py") for number in range(3)]
    build(store, name, [function("A.get_one"), *common, function("set_all")])
    engine = store.open(name)
    assert engine.suggest("get_", 5) == ["get_all", "get_one"]
    assert engine.suggest("get_", 1) == ["get_all"]
    assert engine.suggest("nothing", 5) == []
    assert engine.suggest("", 1) == ["get_all"]


def test_suggest_finds_names_whatever_the_case_and_those_in_the_prefixs_own_first(store: Store, name: str) -> None:
    common = [function("getJSON", path=f"{number}.py") for number in range(3)]
    build(store, name, [*common, function("getjson"), function("GetJsonOverHttpAgain"), function("Änderung")])
    engine = store.open(name)
    assert engine.suggest("getjson", 5) == ["getjson", "getJSON", "GetJsonOverHttpAgain"]
    assert engine.suggest("getJ", 5) == ["getJSON", "GetJsonOverHttpAgain", "getjson"]
    assert engine.suggest("getjs", 2) == ["getjson", "getJSON"]
    assert engine.suggest("GETJSONOVERHTTPA", 5) == ["GetJsonOverHttpAgain"]
    assert engine.suggest("getjsonoverhttpb", 5) == []
    assert engine.suggest("änd", 5) == engine.suggest("ÄND", 5) == ["Änderung"]


@pytest.mark.parametrize(
    "text", ["\0", "a" * 5_000, "é" * 600, "🐍 שלום", "NOT (x AND", "*:*", "\\", "'\"", "a b " * 1_000]
)
def test_odd_questions_are_answered(engine: Engine, text: str) -> None:
    for hits in (engine.keyword(terms(text), 5), engine.fuzzy(text, 5), engine.named(text, 5)):
        assert len(hits) <= 5
    assert engine.count(Filters(path=text, repo=text)) == 0
    assert isinstance(engine.suggest(text, 3), list)
