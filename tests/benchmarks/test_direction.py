"""Pairs of opposite functions: which names make one, and who is right."""

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from benchmarks import direction
from lab.training import opposites
from lab.training.opposites import pairs
from tests.search.small_index import parsed
from treeline.encoder.registry import load

FILES = {
    "a.py": """
def csv_to_json(rows):
    return json.dumps(list(csv.reader(rows)))

def json_to_csv(text):
    return csv.writer(json.loads(text))

def encode_url(text):
    return quote(text)

def decode_url(text):
    return unquote(text)

def is_empty(box):
    return not box

def is_not_empty(box):
    return bool(box)

def lonely(box):
    return box
"""
}


def test_opposites_are_found_by_name() -> None:
    functions, _ = parsed(FILES)
    names = [function.func_name for function in functions]
    found = {(names[pair.answer], names[pair.opposite], pair.kind) for pair in pairs(functions)}
    assert found == {
        ("csv_to_json", "json_to_csv", "arrow"),
        ("json_to_csv", "csv_to_json", "arrow"),
        ("encode_url", "decode_url", "verb"),
        ("decode_url", "encode_url", "verb"),
        ("is_empty", "is_not_empty", "negation"),
        ("is_not_empty", "is_empty", "negation"),
    }


def test_the_functions_of_the_pairs_and_some_more_of_their_repositories_are_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direction, "OTHERS", 2)
    more = {f"f{number}.py": f"def other_{number}():\n    return {number}\n" for number in range(6)}
    functions = [*parsed(FILES | more)[0], *parsed(more, "owner/else")[0]]
    chosen = pairs(functions)
    searched = direction.pool(chosen, functions)
    asked = {functions[number].id for pair in chosen for number in (pair.answer, pair.opposite)}
    ids = [function.id for function in searched]
    assert asked <= set(ids) and len(ids) == len(set(ids)) == len(asked) + 2
    assert {function.repo for function in searched} == {functions[0].repo}
    assert direction.pool(chosen, functions) == searched
    assert ids == [function.id for function in functions if function.id in set(ids)]


def test_right_answers_are_counted_by_kind_and_language() -> None:
    functions, _ = parsed(FILES)
    chosen = sorted(pairs(functions), key=lambda pair: pair.kind)
    rows = direction.summarise(chosen, functions, [True, False, True, True, True, True])
    half = 1.96 * (0.25 / 2) ** 0.5
    assert [(row["pairs"], row["count"], row["right"], row["margin"]) for row in rows] == [
        ("arrow", 2, 0.5, pytest.approx(half)),
        ("arrow, python", 2, 0.5, pytest.approx(half)),
        ("negation", 2, 1.0, 0.0),
        ("negation, python", 2, 1.0, 0.0),
        ("verb", 2, 1.0, 0.0),
        ("verb, python", 2, 1.0, 0.0),
    ]


def test_a_few_pairs_of_a_kind_are_enough_the_same_for_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opposites, "MOST", {"arrow": 1, "verb": 2, "negation": 0})
    functions = parsed(FILES)[0]
    found = pairs(functions, 3)
    assert sorted(pair.kind for pair in found) == ["arrow", "verb", "verb"]
    assert found == pairs(functions, 3)


def test_the_shipped_encoder_tells_encoding_from_decoding() -> None:
    functions, _ = parsed(FILES)
    verbs = [pair for pair in pairs(functions) if pair.kind == "verb"]
    encoder = load()
    assert encoder is not None
    assert direction.correct(verbs, functions, encoder) == [True, True]


def test_search_puts_every_function_above_its_opposite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(FILES["a.py"], encoding="utf-8")
    written = tmp_path / "direction.json"
    options = [str(tmp_path / "code"), "--search", "--json", str(written)]
    done = CliRunner().invoke(direction.command, options, catch_exceptions=False)
    assert done.exit_code == 0
    figures = {row["pairs"]: row["right"] for row in orjson.loads(written.read_bytes())["figures"]}
    assert (figures["arrow"], figures["verb"], figures["negation"]) == (1.0, 1.0, 1.0)
    vectors_alone = CliRunner().invoke(direction.command, [str(tmp_path / "code")], catch_exceptions=False)
    assert "arrow, python" in vectors_alone.output and "negation" in vectors_alone.output
