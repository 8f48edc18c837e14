"""Each rule of the default ranking decides a ranking, and can be left out by name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.rerank.candidates import unit, units
from treeline.corpus.errors import InputError
from treeline.graph.history import Commit, Vote
from treeline.rerank.candidates import Candidate, RerankContext
from treeline.rerank.registry import reranker
from treeline.rerank.rules import DIVISORS, INSIDE, RULE_NAMES, RULES

FAR = ("far.py", "Far", "class", 0.0)


def functions(*rows: tuple[str, str, float]) -> list[Candidate]:
    """Units of an index of functions alone: repository, name, score."""
    return [unit(number, "a.py", name, "function", score, repo) for number, (repo, name, score) in enumerate(rows)]


def section(path: str, score: float) -> Candidate:
    one = unit(9, path, "Links", "section", score)
    return one._replace(address=one.address._replace(language="markdown"))


# The rule, a query, candidates in fused order, and the names in the order that the rule brings about.
CASES: tuple[tuple[str, str, Sequence[Candidate], list[str]], ...] = (
    (
        "definitions",
        "Router",
        units(("u.py", "route", "class", 1.0), ("d.py", "Router", "class", 0.3), FAR),
        ["Router"],
    ),
    (
        "re-exports",
        "FromRequest",
        units(("j.rs", "from_request", "method", 1.0), ("mod.rs", "mod.rs", "file", 0.2), ("z.rs", "z", "class", 0.0)),
        ["mod.rs"],
    ),
    (
        "support",
        "a way to send it",
        units(
            ("one.py", "One", "class", 1.0),
            *(("many.py", f"f{number}", "function", 0.9 - number / 100) for number in range(4)),
            FAR,
        ),
        ["f0"],
    ),
    (
        "whole-file",
        "a way to send it",
        units(("a.py", "f", "class", 1.0), ("wide.py", "g", "class", 0.85), FAR),
        ["g"],
    ),
    (
        "file-name",
        "load a session again",
        units(("a.py", "f", "class", 1.0), ("session.py", "g", "class", 0.7), FAR),
        ["g"],
    ),
    (
        "folder-name",
        "routing of a request again",
        units(("core/a.py", "f", "class", 1.0), ("routing/b.py", "g", "class", 0.8), FAR),
        ["g"],
    ),
    (
        "facade",
        "a way to send it",
        units(
            ("c.rb", "c", "class", 1.0),
            ("multipart.rb", "f", "class", 0.95),
            ("multipart/b.rb", "g", "class", 0.9),
            ("d.rb", "z", "class", 0.0),
        ),
        ["f"],
    ),
    (
        "home",
        "how does Blueprint inherit it",
        [
            unit(0, "a.py", "f", "function", 1.0, "o/click"),
            unit(1, "b.py", "Blueprint", "class", 0.6, "o/flask"),
            unit(2, "c.py", "z", "class", 0.0, "o/flask"),
        ],
        ["Blueprint"],
    ),
    (
        "length",
        "a way to send it",
        [
            *units(("a.py", "f", "class", 1.0), ("b.py", "g", "class", 0.95)),
            unit(2000, "b.py", "end", "class", 0.0),
        ],
        ["g"],
    ),
    ("tests", "a way to send it", units(("tests/a.py", "f", "class", 1.0), ("b.py", "g", "class", 0.7), FAR), ["g"]),
    (
        "constants",
        "what happens when no route matches",
        [
            unit(9, "a.py", "T_route", "constant", 1.0, lines=1),
            *units(("b.py", "dispatch", "function", 0.95), FAR),
        ],
        ["dispatch"],
    ),
    ("changelogs", "a way to send it", [section("CHANGES.md", 1.0), *units(("b.py", "g", "class", 0.3), FAR)], ["g"]),
    ("documents", "a way to send it", [section("guide.md", 1.0), *units(("b.py", "g", "class", 0.85), FAR)], ["g"]),
    (
        "index-files",
        "a way to send it",
        units(("p/__init__.py", "f", "class", 1.0), ("b.py", "g", "class", 0.9), FAR),
        ["g"],
    ),
    (
        "old-versions",
        "a way to send it",
        units(("v3/a.py", "f", "class", 1.0), ("v4/b.py", "g", "class", 0.7), FAR),
        ["g"],
    ),
    (
        "direction",
        "int to string",
        functions(("a", "string_to_int", 1.0), ("b", "int_to_string", 0.9), ("c", "z", 0.0)),
        ["int_to_string"],
    ),
    (
        "negation",
        "is it empty",
        functions(("a", "is_not_empty", 1.0), ("b", "is_empty", 0.9), ("c", "z", 0.0)),
        ["is_empty"],
    ),
    (
        "language",
        "read a file in go",
        [
            one._replace(address=one.address._replace(language=language))
            for one, language in zip(
                functions(("a", "f", 1.0), ("b", "g", 0.7), ("c", "z", 0.0)), ("python", "go", "go"), strict=True
            )
        ],
        ["g"],
    ),
    (
        "spread-repositories",
        "a way to send it",
        functions(
            ("a", "f0", 1.0), ("a", "f1", 0.99), *((f"r{n}", "g", 0.95 - n / 100) for n in range(12)), ("c", "z", 0.0)
        ),
        ["f0", "g"],
    ),
    (
        "history",
        "a way to send it again",
        units(("a.py", "A", "class", 1.0), ("changed.py", "B", "class", 0.9), FAR),
        ["B", "A"],
    ),
    (
        "spread-files",
        "a way to send it again",
        units(("a.py", "A", "class", 1.0), ("a.py", "B", "class", 0.9), ("b.py", "g", "class", 0.8), FAR),
        ["A", "g"],
    ),
    (
        "broad-questions",
        "how are they sent",
        units(("a.py", "A", "class", 1.0), ("a.py", "B", "class", 0.9), ("b.py", "g", "class", 0.55), FAR),
        ["A", "g"],
    ),
    (
        "spread-classes",
        "a way to send it",
        functions(("a", "A.f", 1.0), ("a", "A.g", 0.9), ("a", "A.k", 0.8), ("a", "B.h", 0.75), ("a", "z", 0.0)),
        ["A.f", "A.g", "B.h"],
    ),
    (
        "members",
        "Session",
        units(
            ("s.py", "Session", "class", 1.0),
            *((f"m{number}.py", f"Session.f{number}", "method", 0.9 - number / 100) for number in range(5)),
            ("c.py", "connect", "function", 0.3),
            ("x.py", "y", "function", 0.0),
        ),
        ["Session", "Session.f0", "Session.f1", "Session.f2", "connect"],
    ),
    (
        "wholes",
        "a way to send it again",
        units(("a.py", "A", "class", 1.0), ("a.py", "A.f", "method", 0.8), ("b.py", "g", "function", 0.1), FAR),
        ["A.f", "A"],
    ),
    (
        "unit-length",
        "a way to send it again",
        [
            *units(("a.py", "short", "function", 1.0), ("b.py", "g", "function", 0.1), FAR),
            unit(3, "a.py", "long", "function", 0.9, lines=30),
        ],
        ["long", "short"],
    ),
)


COMMIT = Commit("3a1c2f9" + 33 * "0", 0, "Ada", "Send it again")


def ranking(query: str, rows: Sequence[Candidate], rule: str = "") -> Sequence[Candidate]:
    context = RerankContext(
        query,
        texts=lambda ids: ["pub use core::FromRequest;"] * len(ids),
        changes={("o/r", "changed.py"): Vote(1.0, COMMIT)},
        files={("o/r", "wide.py"): 7.0},
    )
    return reranker(f"tree without {rule}" if rule else "tree")(rows, context)


def order(query: str, rows: Sequence[Candidate], rule: str = "") -> list[str]:
    return [one.address.func_name for one in ranking(query, rows, rule)]


@pytest.mark.parametrize(("rule", "query", "rows", "expected"), CASES, ids=[case[0] for case in CASES])
def test_a_rule_decides_and_can_be_left_out(
    rule: str, query: str, rows: Sequence[Candidate], expected: list[str]
) -> None:
    assert order(query, rows)[: len(expected)] == expected
    assert order(query, rows, rule)[: len(expected)] != expected


def test_the_words_of_a_file_weigh_more_in_a_longer_query() -> None:
    rows = units(("a.py", "f", "class", 1.0), ("wide.py", "g", "class", 0.6), FAR)
    assert order("a way to send it", rows)[0] == "f"
    assert order("a way to send it again to all who have not got it", rows)[0] == "g"


def test_every_rule_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(RULE_NAMES)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_explanation_names_the_rules_that_decided(case: tuple[str, str, Sequence[Candidate], list[str]]) -> None:
    name, query, rows, _ = case
    reasons = " ".join(one.reason for one in ranking(query, rows))
    shown = [
        rule.name for rule in RULES if (rule.reason and rule.reason in reasons) or (rule.loss and rule.loss in reasons)
    ]
    shared = "unit of its file goes first" if name in [rule.name for rule in INSIDE] else "results from elsewhere"
    assert name in shown or (shared in reasons and name not in [rule.name for rule in RULES])


def test_every_rule_that_adds_to_a_score_has_a_reason() -> None:
    assert all(rule.reason or rule.loss for rule in RULES)
    assert not any(rule.reason for rule in (*DIVISORS, *INSIDE))  # each table shares one


def test_an_unknown_rule_is_an_error_that_lists_the_rules() -> None:
    with pytest.raises(InputError, match="no rule 'luck'") as error:
        reranker("tree without luck")
    assert "file-name" in error.value.hint
    with pytest.raises(InputError, match="no rule 'length'"):
        reranker("none without length")
