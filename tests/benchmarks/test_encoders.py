"""Encoders side by side: the pool, what is asked of it, and the command with the shipped encoder."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import encoders
from benchmarks.plots import encoders_svg
from tests.made_up_source import made_up

FUNCTIONS = [made_up(number) for number in range(60)]
URLS = frozenset(function.url for function in FUNCTIONS)


def test_the_pool_has_every_known_function_and_is_the_same_in_any_order() -> None:
    known = frozenset(function.url for function in FUNCTIONS[50:])
    pool = encoders.pool_of(FUNCTIONS, known, 20)
    assert len(pool) == 20
    assert known <= {function.url for function in pool}
    assert pool == encoders.pool_of(list(reversed(FUNCTIONS)), known, 20)


def test_only_questions_with_an_answer_in_the_pool_are_asked() -> None:
    here = FUNCTIONS[0].url
    judgements = {"parse json": {here: 3.0, "elsewhere": 2.0}, "lost": {"elsewhere": 3.0}, "wrong": {here: 0.0}}
    within, over_all = encoders.judged(["parse json", "lost", "wrong", "unjudged"], judgements, URLS)
    assert list(within.texts) == list(over_all.texts) == ["parse json"]
    assert within.relevance == [{here: 3.0}]
    assert within.measure(["other", here], {here: 3.0}) == 1.0
    assert over_all.measure(["other", here], {here: 3.0}) == pytest.approx(0.6309, abs=1e-4)
    assert list(encoders.from_the_web([("a", ["elsewhere"]), ("b", [here])], URLS).texts) == ["b"]


def test_the_shipped_encoder_finds_what_is_asked_for_by_name_and_says_how_long_it_took() -> None:
    asked = encoders.QuestionSet(
        "names", ["parse json 0"], [{FUNCTIONS[0].url: 1.0}], lambda ranked, known: float(ranked[0] in known)
    )
    found = encoders.measure("static", FUNCTIONS, [asked, encoders.from_docstrings(FUNCTIONS)])
    assert found.quality["names"].mean == 1.0
    assert 0 < found.quality["docstrings"].mean <= 1
    assert found.functions_a_second > 100 and found.question_ms > 0 and found.load_seconds > 0


def test_the_command_writes_a_table_numbers_and_a_picture(tmp_path: Path) -> None:
    folder = tmp_path / "python" / "final" / "jsonl" / "test"
    folder.mkdir(parents=True)
    with gzip.open(folder / "python_test_0.jsonl.gz", "wt") as shard:
        for function in FUNCTIONS:
            row = {name: getattr(function, name) for name in ("repo", "path", "func_name", "original_string", "code")}
            row |= {name: getattr(function, name) for name in ("language", "docstring", "sha", "partition", "url")}
            shard.write(json.dumps(row | {"code_tokens": [], "docstring_tokens": []}) + "\n")
    (tmp_path / "queries.csv").write_text("query\nparse json\n")
    (tmp_path / "annotationStore.csv").write_text(
        f"Language,Query,GitHubUrl,Relevance,Notes\nPython,parse json,{FUNCTIONS[0].url},3,\n"
    )
    files = ["--json", str(tmp_path / "out.json"), "--svg", str(tmp_path / "out.svg")]
    done = CliRunner().invoke(encoders.command, ["--data", str(tmp_path), "--pool", "50", *files])
    assert done.exit_code == 0, (done.output, done.exception)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["functions"] == 50
    assert [row["encoder"] for row in found["encoders"]] == ["static"]
    assert found["encoders"][0]["quality"]["99 within"]["mean"] == 1.0
    assert "static" in done.output
    assert (tmp_path / "out.svg").read_text().startswith("<svg")


def test_the_picture_has_every_encoder_and_no_markup_of_its_name() -> None:
    quality = {"web": {"mean": 0.5}}
    rows = [
        {"encoder": "static", "functions_a_second": 5000.0, "quality": quality},
        {"encoder": "models/<b>", "functions_a_second": 40.0, "quality": {"web": {"mean": 0.4}}},
        {"encoder": "onnx:models/<b>", "functions_a_second": 80.0, "quality": {"web": {"mean": 0.3}}},
    ]
    drawn = encoders_svg({"questions": {"web": 3}, "encoders": rows})
    assert drawn.count("<circle") == 3
    assert ">&lt;b&gt; 0.400<" in drawn and ">&lt;b&gt;, int8 0.300<" in drawn
    assert ">static 0.500<" in drawn and "&lt;b&gt;" in drawn and "<b>" not in drawn
