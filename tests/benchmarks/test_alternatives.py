"""Many near-equal answers: which questions are made of an index, and what counts as another solution."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import alternatives
from tests.search.small_index import NAME, parsed, publish
from treeline.corpus.errors import InputError
from treeline.corpus.function import Address, Function
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit


def library() -> list[Function]:
    """Five repositories that each parse dates in two files, one of them a copy of another; and a name of one alone."""
    found: list[Function] = []
    for number in range(5):
        body = 0 if number == 4 else number
        files = {
            f"{file}.py": f'def parse_date(text):\n    """Parse a date out of text."""\n    return {body}{place}\n'
            for place, file in enumerate(("a", "b"))
        }
        files["c.py"] = f'def grow_tree_{number}(seed):\n    """Grow a tree of a seed."""\n    return seed\n'
        found += parsed(files, f"owner/r{number}")[0]
    return found


def test_a_name_that_many_repositories_have_for_the_same_thing_is_a_question() -> None:
    [found] = alternatives.alternatives(library())
    assert found.question == "parse date" and len(found.solutions) == 10


def test_a_repository_is_one_solution_and_a_copy_of_it_the_same() -> None:
    [found] = alternatives.alternatives(library())
    assert len(set(found.solutions.values())) == 4
    answers = [("1", "a", 7), ("2", "a", 8), ("3", "b", 9), ("4", "c", 7)]
    known = alternatives.solutions(answers)
    assert known["1"] == known["2"] == known["4"] != known["3"]


def test_a_docstring_about_something_else_is_no_answer() -> None:
    functions = library()
    other, _ = parsed({"d.py": 'def parse_date(x):\n    """Arrange an evening with somebody."""\n'}, "owner/r9")
    [found] = alternatives.alternatives([*functions, *other])
    assert other[0].id not in found.solutions


CODE = 'def parse_date(text):\n    """Parse a date out of text."""\n    return {}\n'


@pytest.mark.parametrize(
    ("name", "files", "is_question"),
    [
        *(("parse_date", files, True) for files in ((3, 3, 3, 1), (3, 3, 2, 2))),
        ("parse_date", (3, 3, 2, 1), False),  # nine answers
        *(("parse_date", files, False) for files in ((3, 3, 3), (3, 3, 3, 0))),  # three repositories
        *((name, (1,) * 12, False) for name in ("_parse_date", "test_date", "date")),  # private, a test, one word
    ],
)
def test_enough_answers_in_enough_repositories_make_a_question(
    name: str, files: tuple[int, ...], is_question: bool
) -> None:
    """Of repositories with so many files each."""
    code = {f"{file}.py": CODE.replace("parse_date", name).format(file) for file in range(3)}
    functions = [
        one
        for number, count in enumerate(files)
        for one in parsed(dict(list(code.items())[:count]), f"owner/r{number}")[0]
    ]
    assert bool(alternatives.alternatives(functions)) is is_question


def test_solutions_are_counted_among_the_first_ten() -> None:
    known = alternatives.Alternatives("parse date", {"a": 0, "b": 0, "c": 1, "d": 2})
    data = alternatives.dataset([known], 10, 1, "index x")
    (case,) = data.cases

    def measured(ids: list[str]) -> Mapping[str, float | None]:
        return data.measure(case, [Hit(id_, 1.0, Address(f"o/{id_}", "p", "f", "python", "u")) for id_ in ids])

    others = [f"x{number}" for number in range(20)]
    assert measured(["a", "b", "c", *others])["solutions_10"] == 2
    assert measured([*others[:9], "a", "c"])["solutions_10"] == 1
    assert measured(["x", "a"])["mrr"] == 0.5
    assert measured(["a", "b"])["repositories_10"] == 2
    facts = data.facts
    assert (facts["answers a question"], facts["solutions a question"], facts["names that qualify"]) == (4, 3, 1)


def test_a_sample_of_the_questions_is_asked() -> None:
    found = [alternatives.Alternatives(f"parse {number}", {str(number): 0}) for number in range(20)]
    cases = [alternatives.dataset(found, 5, seed, "x").cases for seed in (1, 1, 2)]
    assert [case.text for case in cases[0]] == [case.text for case in cases[1]] != [case.text for case in cases[2]]
    assert [case.id for case in cases[0]] == ["#1", "#2", "#3", "#4", "#5"]


def test_the_command_prints_solutions_against_the_fused_order(tmp_path: Path) -> None:
    publish(EmbeddedStore(tmp_path), library())
    done = CliRunner(env={"TREELINE_HOME": str(tmp_path)}).invoke(
        alternatives.command, ["--name", NAME], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert "distinct solutions@10" in done.output and "diversity 0" in done.output and "NDCG@10" in done.output
    assert "1 questions" in " ".join(done.output.split())
    with pytest.raises(InputError, match="no name in index x has 10 documented answers in 4 repositories"):
        alternatives.dataset([], 10, 1, "index x")
