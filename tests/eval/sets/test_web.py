"""The web questions: well formed, answered, and split in two halves that do not overlap."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import orjson
import pytest

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.sets import web

SHARED = Path(__file__).parents[4] / "shared" / "codesearchnet"


def test_there_are_about_two_hundred_and_no_question_twice() -> None:
    questions = web.read()
    assert len(questions) >= 200
    assert len({question.query.lower() for question in questions}) == len(questions)
    halves = Counter(question.split for question in questions)
    assert set(halves) == {"dev", "test"}
    assert min(halves.values()) > 0.4 * len(questions)


def test_only_questions_and_addresses_are_stored() -> None:
    for line in web.QUERIES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert set(row) == {"query", "split", "answers"}
        assert row["answers"]
        for answer in row["answers"]:
            assert set(answer) == {"repo", "path", "func_name", "url"}
            assert f"/{answer['repo']}/blob/" in answer["url"]


def test_none_is_one_of_the_99() -> None:
    if not SHARED.is_dir():
        pytest.skip("the CodeSearchNet data is not beside the checkout")
    official = {line.strip().lower() for line in (SHARED / "queries.csv").read_text().splitlines()[1:]}
    assert not official & {question.query.lower() for question in web.read()}


@pytest.mark.shared
def test_every_answer_is_in_the_test_or_valid_partition() -> None:
    if not SHARED.is_dir():
        pytest.skip("the CodeSearchNet data is not beside the checkout")
    known = {
        orjson.loads(line)["url"]  # only the addresses: to parse 34,000 functions takes a minute
        for partition in ("test", "valid")
        for shard in sorted(SHARED.glob(f"*/final/jsonl/{partition}/*.jsonl.gz"))
        for line in gzip.decompress(shard.read_bytes()).splitlines()
    }
    assert {url for question in web.read() for url in question.urls} <= known


def test_a_mistyped_question_differs_in_one_word_and_is_the_same_every_time() -> None:
    questions = web.read()
    slipped = web.misspell(questions)
    assert slipped == web.misspell(questions)
    assert [one.urls for one in slipped] == [one.urls for one in questions]
    changed = [
        sum(word != other for word, other in zip(one.query.split(), slip.query.split(), strict=True))
        for one, slip in zip(questions, slipped, strict=True)
    ]
    assert set(changed) <= {0, 1}
    assert sum(changed) > 0.95 * len(questions)  # a doubled letter or a swap may give the same word


def test_questions_without_an_answer_in_the_index_are_counted() -> None:
    questions = [web.WebQuestion("a", "dev", ("u",)), web.WebQuestion("b", "dev", ("v", "w"))]
    data = web.dataset(questions, "dev", {"v"}.__contains__, "tiny")
    assert [(case.id, case.text) for case in data.cases] == [("#2", "b")]
    assert data.cases[0].relevant == {"v"}
    assert data.facts["questions without an answer in the index"] == 1


def test_answers_score_by_their_ranks_up_to_the_tenth() -> None:
    data = web.dataset([web.WebQuestion("a", "dev", ("u", "v"))], "dev", {"u", "v"}.__contains__, "tiny")

    def measured(*urls: str) -> Mapping[str, float | None]:
        hits = [Hit(url, 1.0, Address(f"o/{url}", "p", "f", "python", url)) for url in urls]
        return data.measure(data.cases[0], hits)

    others = [f"x{number}" for number in range(20)]
    assert measured("u", "v", "x") == {
        "mrr": 1.0,
        "ndcg_10": 1.0,
        "recall_10": 1.0,
        "hit_1": 1.0,
        "hit_10": 1.0,
        "repositories_10": 3,
    }
    second = measured("x", "u", *others[:8], "v")
    assert (second["mrr"], second["recall_10"], second["hit_1"], second["hit_10"]) == (0.5, 0.5, 0.0, 1.0)
    late = measured(*others[:10], "u")
    assert late["mrr"] == pytest.approx(1 / 11)
    assert (late["recall_10"], late["hit_10"], late["ndcg_10"]) == (0.0, 0.0, 0.0)
    assert late["repositories_10"] == 10


def test_an_index_without_any_answer_is_one_line() -> None:
    with pytest.raises(InputError, match="none of the 1 questions"):
        web.dataset([web.WebQuestion("a", "dev", ("u",))], "dev", lambda url: False, "tiny")


@pytest.mark.parametrize(("text", "message"), [("{}\n", "line 1"), ("x", "line 1"), ("", "has no questions")])
def test_a_broken_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        web.read(tmp_path / "q.jsonl")


def test_written_questions_are_web_questions_of_the_dev_half() -> None:
    written = web.read(web.QUERIES.with_name("written_queries.jsonl"))
    assert len(written) > 1_000
    assert {question.split for question in written} == {"dev"}
    assert all(len(question.urls) == 1 for question in written)
    assert not {question.query for question in written} & {question.query for question in web.read()}


def test_a_mistyped_question_differs_in_one_word() -> None:
    for seed in range(50):
        words = web.mistype("read the spreadsheet", Random(seed)).split()
        assert words[:2] == ["read", "the"]
        assert abs(len(words[2]) - len("spreadsheet")) <= 1
    assert web.mistype("a b c", Random(0)) == "a b c"
