"""A model that reads a question and a function together: a real ONNX file, small enough to check by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.encoder.functions import FUNCTIONS, function
from tests.encoder.pair_model import LIMITS, WEIGHTS, write_model
from treeline.corpus.errors import ExtraMissing, InputError
from treeline.encoder.pairs import PairReader
from treeline.encoder.static import StaticEncoder
from treeline.encoder.text import fields

TOKENIZER = StaticEncoder.shipped().tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("pairs"))


def test_the_model_gets_the_question_and_the_fields_of_each_function_cut_at_their_limits(folder: Path) -> None:
    long = function("sort_rows", "sort " * 40, "def sort_rows(rows):\n    return " + " + ".join(["sort"] * 200))
    units = [*FUNCTIONS, long]
    (word,) = TOKENIZER.ids("sort", 24)
    wanted = []
    for unit in units:
        texts = fields(unit)._asdict()
        counts = [TOKENIZER.ids(texts[name], LIMITS[name]).count(word) for name in list(LIMITS)[1:]]
        wanted.append(float(np.dot(counts, WEIGHTS[1:5])))
    found = PairReader(folder).scores("sort a list", units)
    assert found.tolist() == wanted
    assert wanted[-1] == max(wanted) >= 8 + 2 * 24 + 60


def test_a_score_is_the_same_alone_and_among_others(folder: Path) -> None:
    reader = PairReader(folder, threads=1)
    together = reader.scores("read", FUNCTIONS * 40)
    alone = [reader.scores("read", [one])[0] for one in FUNCTIONS]
    assert together.tolist() == alone * 40


def test_a_question_without_a_known_word_makes_no_difference(folder: Path) -> None:
    assert not PairReader(folder).scores("", FUNCTIONS).any()
    assert PairReader(folder).scores("sort", []).shape == (0,)


def test_without_onnx_runtime_one_sentence_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ExtraMissing, match="needs onnxruntime") as raised:
        PairReader(folder).scores("sort", FUNCTIONS)
    assert raised.value.hint == "pip install '.[deep]' in Treeline's checkout"


def test_a_folder_that_holds_no_such_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rerank\.json cannot be read"):
        PairReader(tmp_path)
    (tmp_path / "rerank.json").write_text("[1]")
    with pytest.raises(InputError, match="is no configuration"):
        PairReader(tmp_path)
    (tmp_path / "rerank.json").write_text(json.dumps({"version": "1"}))
    with pytest.raises(InputError, match="'weight'"):
        PairReader(tmp_path)
    with pytest.raises(InputError, match="add up to more than 192 tokens"):
        PairReader(write_model(tmp_path, limits=LIMITS | {"code": 150}))
    with pytest.raises(InputError, match="was trained on static:1, this Treeline ships"):
        PairReader(write_model(tmp_path, static="static:1"))
    with pytest.raises(InputError, match="must take ids, fields and give scores"):
        PairReader(write_model(tmp_path, output="vectors")).scores("sort", FUNCTIONS)
    (tmp_path / "rerank.onnx").write_bytes(b"none")
    with pytest.raises(InputError, match=r"rerank\.onnx cannot be read"):
        PairReader(tmp_path).scores("sort", FUNCTIONS)


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("json to csv", "json_to_csv", "csv_to_json"),
        ("convert csv to json", "csv_to_json", "json_to_csv"),
        ("encrypt with aes", "aes_encrypt", "aes_decrypt"),
        ("read a csv file", "read_csv", "send_mail"),
    ],
)
def test_the_shipped_model_reads_in_order(question: str, right: str, wrong: str) -> None:
    units = [function(name, code=f"def {name}(value):\n    return {name}.run(value)") for name in (right, wrong)]
    first, second = PairReader().scores(question, units)
    assert first > second
