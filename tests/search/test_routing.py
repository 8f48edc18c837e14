"""Questions go where they are answered: identifiers, structure, concepts and mixtures are told apart."""

import pytest

from treeline.search.plan import route
from treeline.search.structure import EVERYTHING, IMPACT_DEPTH, INHERITS


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("parse_url", "parse_url"),
        ("parseUrl", "parseUrl"),
        ("HttpServer", "HttpServer"),
        ("urllib.parse.quote", "urllib.parse.quote"),
        ("Foo::bar", "Foo.bar"),
        ("String#upcase", "String.upcase"),
        ("request->send", "request.send"),
        ("__init__", "__init__"),
        ("_private", "_private"),
        ("MAX_SIZE", "MAX_SIZE"),
        ("main()", "main"),
        ('"parse"', "parse"),
        ("`run`", "run"),
        ("where is parse_url defined?", "parse_url"),
        ("show me the function `run`", "run"),
    ],
)
def test_an_identifier_is_known_by_its_shape_or_quotes(text: str, symbol: str) -> None:
    found = route(text)
    assert (found.kind, found.symbols) == ("identifier", (symbol,))
    assert found.lanes() == ("keyword", "graph")


@pytest.mark.parametrize(
    "text",
    [
        "convert int to string",
        "how to read a csv file in python",
        "implementation of binary search",
        "function that retries with exponential backoff",
        "what's the fastest way to don't repeat",
        "connect to MySQL from JavaScript",
        "uses of adversity",
        "sort list of dictionaries by key",
        "calculate the impact of a collision",
        "parents of a node in a binary tree",
        "😀 to text",
        "",
    ],
)
def test_a_concept_goes_to_dense_and_keyword(text: str) -> None:
    found = route(text)
    assert found.kind == "conceptual"
    assert found.lanes() == ("keyword", "dense")


@pytest.mark.parametrize("word", ["quicksort", "Flask", "öffnen"])
def test_one_word_may_be_a_name_and_may_be_a_concept(word: str) -> None:
    found = route(word)
    assert (found.kind, found.symbols) == ("mixed", (word,))
    assert found.lanes() == ("keyword", "dense", "graph")


def test_ways_of_writing_are_words_not_symbols() -> None:
    assert route("snake_case to camelCase in python").kind == "conceptual"


@pytest.mark.parametrize(
    "text",
    ["make parse_url accept relative links", "retry HTTPAdapter requests with backoff", "parse_url to join_url"],
)
def test_an_identifier_among_other_words_is_a_mixture(text: str) -> None:
    found = route(text)
    assert found.kind == "mixed"
    assert found.symbols
    assert found.lanes() == ("keyword", "dense", "graph")


@pytest.mark.parametrize(
    ("text", "symbol", "relations", "direction", "depth"),
    [
        ("what calls parse_url", "parse_url", ("calls",), "in", 1),
        ("What calls `parse_url`?", "parse_url", ("calls",), "in", 1),
        ("which functions call parse_url()", "parse_url", ("calls",), "in", 1),
        ("callers of parse_url", "parse_url", ("calls",), "in", 1),
        ("where is parse_url called?", "parse_url", ("calls",), "in", 1),
        ("what does parse_url call?", "parse_url", ("calls",), "out", 1),
        ("functions called by Session.send", "Session.send", ("calls",), "out", 1),
        ("who implements Engine", "Engine", INHERITS, "in", 1),
        ("what implements Engine", "Engine", INHERITS, "in", 1),
        ("implementations of Engine", "Engine", INHERITS, "in", 1),
        ("subclasses of BaseAdapter", "BaseAdapter", INHERITS, "in", 1),
        ("what extends Widget", "Widget", INHERITS, "in", 1),
        ("classes that inherit from Widget", "Widget", INHERITS, "in", 1),
        ("base classes of HTTPAdapter", "HTTPAdapter", INHERITS, "out", 1),
        ("what does HTTPAdapter extend", "HTTPAdapter", INHERITS, "out", 1),
        ("what changes if I touch parse_url", "parse_url", EVERYTHING, "in", IMPACT_DEPTH),
        ("what breaks when I rename the method Session.send?", "Session.send", EVERYTHING, "in", IMPACT_DEPTH),
        ("what depends on parse_url", "parse_url", EVERYTHING, "in", IMPACT_DEPTH),
        ("who uses parse_url", "parse_url", EVERYTHING, "in", 1),
        ("usages of parse_url", "parse_url", EVERYTHING, "in", 1),
        ("what uses parse_url", "parse_url", EVERYTHING, "in", 1),
        ("find usages of parse_url", "parse_url", EVERYTHING, "in", 1),
        ("find all references to the function parse_url", "parse_url", EVERYTHING, "in", 1),
        ("find references parse_url", "parse_url", EVERYTHING, "in", 1),
        ("where do we use parse_url?", "parse_url", EVERYTHING, "in", 1),
        ("everything that calls parse_url", "parse_url", ("calls",), "in", 1),
        ("show me everything calling parse_url", "parse_url", ("calls",), "in", 1),
        ("who is calling parse_url", "parse_url", ("calls",), "in", 1),
        ("where do we call parse_url", "parse_url", ("calls",), "in", 1),
        ("list all callers of parse_url", "parse_url", ("calls",), "in", 1),
        ("callers of callers of parse_url", "parse_url", ("calls",), "in", 2),
        ("callers of callers of callers of parse_url", "parse_url", ("calls",), "in", 3),
        ("callers of parse_url depth 3", "parse_url", ("calls",), "in", 3),
        ("what calls parse_url, up to 2 levels", "parse_url", ("calls",), "in", 2),
        ("what calls parse_url (depth 4)?", "parse_url", ("calls",), "in", 4),
        ("what does parse_url call within 2 steps", "parse_url", ("calls",), "out", 2),
        ("callers of parse_url depth 900", "parse_url", ("calls",), "in", IMPACT_DEPTH),
        ("indirect callers of parse_url", "parse_url", ("calls",), "in", IMPACT_DEPTH),
        ("tests of parse_url", "parse_url", EVERYTHING, "in", 1),
        ("show me the unit tests for parse_url", "parse_url", EVERYTHING, "in", 1),
        ("which tests cover parse_url?", "parse_url", EVERYTHING, "in", 1),
        ("how is parse_url tested?", "parse_url", EVERYTHING, "in", 1),
        ("callees of callees of parse_url", "parse_url", ("calls",), "out", 2),
    ],
)
def test_a_structural_question_names_its_edges(
    text: str, symbol: str, relations: tuple[str, ...], direction: str, depth: int
) -> None:
    found = route(text)
    assert (found.kind, found.symbols) == ("structural", (symbol,))
    assert (found.relations, found.direction, found.depth) == (relations, direction, depth)
    assert {"keyword", "graph"} <= set(found.lanes())


@pytest.mark.parametrize(
    "text",
    [
        "where is Session defined?",
        "where's the class Session declared",
        "definition of Session",
        "go to definition of Session",
        "show me the source code of Session",
        "class Session",
    ],
)
def test_a_question_for_a_definition_is_its_name(text: str) -> None:
    found = route(text)
    assert (found.kind, found.symbols, found.relations) == ("identifier", ("Session",), ())


@pytest.mark.parametrize("text", ["where is the timeout defined", "where is authentication implemented"])
def test_a_definition_of_an_ordinary_word_may_be_a_question_in_words(text: str) -> None:
    assert route(text).kind == "mixed" and "dense" in route(text).lanes()


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("how are cookies signed", True),
        ("Where does the request go", True),
        ("fix the order of cookies", False),
        ("cookie signing", False),
        ("whatever is signed", False),
    ],
)
def test_a_question_begins_with_a_word_that_asks(text: str, *, is_question: bool) -> None:
    assert route(text).is_question == is_question


def test_a_question_for_tests_asks_for_nothing_else() -> None:
    assert route("tests for Session").tests and route("what tests Session").tests
    assert not route("what uses Session").tests
    assert route("tests for parsing dates").kind != "structural"


@pytest.mark.parametrize("text", ["everything about calls", "find the largest number in 3 steps", "callers of a phone"])
def test_prose_that_begins_like_one_is_no_structural_question(text: str) -> None:
    assert route(text).kind != "structural"


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("what calls valid?", "valid?"),
        ("what calls save!", "save!"),
        ("who calls Record#save!?", "Record.save!"),
        ("where is valid? called?", "valid?"),
        ("what does save! call", "save!"),
        ("tests of valid?", "valid?"),
        ("what uses valid?", "valid?"),
        ("callers of `valid?` depth 2", "valid?"),
    ],
)
def test_a_mark_belongs_to_a_name_that_is_defined_with_it(text: str, symbol: str) -> None:
    found = route(text, {"valid?", "save!", "Record#save!"}.__contains__)
    assert (found.kind, found.symbols) == ("structural", (symbol,))


@pytest.mark.parametrize(
    "text", ["what calls valid?", "what calls valid!", "where is valid called?", "who calls valid?!"]
)
def test_a_mark_is_the_questions_own_if_no_name_has_it(text: str) -> None:
    assert route(text).symbols == route(text, {"valid"}.__contains__).symbols == ("valid",)


def test_a_definition_may_have_a_mark() -> None:
    for text in ("where is valid? defined?", "definition of valid?"):
        found = route(text, {"valid?"}.__contains__)
        assert (found.kind, found.symbols) == ("identifier", ("valid?",))


@pytest.mark.parametrize("text", ["what uses node", "where is node used?", "tests for node", "find references to node"])
def test_an_ordinary_word_is_a_name_if_it_is_defined(text: str) -> None:
    assert route(text).kind != "structural"
    found = route(text, {"node"}.__contains__)
    assert (found.kind, found.symbols, found.relations) == ("structural", ("node",), EVERYTHING)
    assert "dense" in found.lanes()


@pytest.mark.parametrize(
    "text",
    [
        "children of node",
        "parents of node",
        "implementation of search",
        "what uses it",
        "where is this used",
        "tests for search in a tree",
        "search the users of a group",
    ],
)
def test_a_defined_word_in_other_questions_stays_a_word(text: str) -> None:
    assert route(text, {"node", "search", "it", "this", "group", "tree"}.__contains__).kind != "structural"


def test_a_structural_question_about_an_ordinary_word_keeps_the_dense_lane() -> None:
    assert route("what calls parse").lanes() == ("keyword", "dense", "graph", "text_calls")
    assert route("what calls parse_url").lanes() == ("keyword", "graph", "text_calls")
    assert route("what does parse_url call").lanes() == ("keyword", "graph")


def test_a_long_question_is_routed_quickly() -> None:
    assert route("what calls " + "a." * 500_000).kind in {"structural", "identifier", "conceptual", "mixed"}


def test_products_in_a_sentence_are_words() -> None:
    assert route("connect to MySQL with parse_url").symbols == ("parse_url",)
