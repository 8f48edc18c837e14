"""The deep encoder: a transformer for functions, the static encoder for questions, one space for both."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.encoder.deep_model import LIMITS, expected, write_model
from tests.encoder.functions import FUNCTIONS, function
from treeline.corpus.errors import EncoderMismatch, InputError
from treeline.encoder import deep, registry
from treeline.encoder.deep import DeepEncoder
from treeline.encoder.protocol import add_to_functions, add_to_queries, strip_prior
from treeline.encoder.static import StaticEncoder
from treeline.encoder.text import fields
from treeline.service.cli import cli

STATIC = StaticEncoder.shipped()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def shipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny model as the shipped one."""
    monkeypatch.setattr("treeline.encoder.deep.shipped_folder", lambda: folder)
    return folder


def test_the_model_reads_name_place_docstring_and_code_in_this_order(folder: Path) -> None:
    long = function("parse", "word " * 200, "def parse():\n    return " + " + ".join(f"name{n}" for n in range(300)))
    units = [*FUNCTIONS, long]
    vectors = DeepEncoder(folder).encode_functions(units)
    static = strip_prior(STATIC.encode_functions(units))
    for unit, vector, without in zip(units, vectors, static, strict=True):
        texts = fields(unit)
        ids, numbers = [], []
        for number, field in enumerate(("name", "place", "docstring", "code"), 1):
            tokens = STATIC.tokenizer.ids(getattr(texts, field), LIMITS[field])
            ids += [1 + token for token in tokens]
            numbers += [number] * len(tokens)
        wanted = add_to_functions(expected(ids, numbers, without)[None], [unit])[0]
        assert np.allclose(vector, wanted, atol=1e-5), unit.func_name


def test_order_counts(folder: Path) -> None:
    one, other = function("json_to_csv"), function("csv_to_json", code="def json_to_csv(): pass")
    first, second = DeepEncoder(folder).encode_functions([one, other])
    assert first @ second < 0.999


def test_padding_and_batches_change_nothing(folder: Path) -> None:
    encoder = DeepEncoder(folder)
    units = [replace(one, code=one.code * n) for one in FUNCTIONS for n in (1, 5, 40, 2)]
    alone = np.concatenate([encoder.encode_functions([unit]) for unit in units])
    assert np.allclose(encoder.encode_functions(units), alone, atol=1e-5)
    assert encoder.encode_functions([]).shape == (0, 256)


def test_batches_hold_every_row_with_tokens_once_and_pad_little() -> None:
    lengths = np.random.default_rng(3).integers(0, 193, 1_000).tolist()
    batches = list(deep.batches(lengths))
    assert sorted(np.concatenate(batches).tolist()) == [row for row, length in enumerate(lengths) if length]
    padded = [len(rows) * max(lengths[row] for row in rows) for rows in batches]
    assert max(padded) <= deep.BATCH_TOKENS
    assert sum(padded) < 1.05 * sum(lengths)


def test_a_model_for_functions_alone_leaves_questions_to_the_static_encoder(folder: Path, tmp_path: Path) -> None:
    questions = ["sort a list of dicts", "", "读取"]
    encoder = DeepEncoder(folder)
    assert np.array_equal(encoder.encode_queries(questions), STATIC.encode_queries(questions))
    assert (encoder.dimension, encoder.usual) == (STATIC.dimension, STATIC.usual)
    assert DeepEncoder(write_model(tmp_path, usual=0.6)).usual == 0.6


def test_a_question_is_read_by_a_model_that_learnt_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path, questions=True)
    questions = ["json to csv", "csv to json", "", "读取"]
    static, found = STATIC.encode_queries(questions), DeepEncoder(folder).encode_queries(questions)
    ids = [1 + token for token in STATIC.tokenizer.ids(questions[0], 24)]
    moved = expected(ids, [5] * len(ids), strip_prior(static)[0])
    assert np.allclose(found[0], add_to_queries(moved), atol=1e-5)
    assert not np.allclose(found[0], found[1], atol=1e-3)
    assert np.allclose(found[2:], static[2:], atol=1e-6)
    long = DeepEncoder(folder).encode_queries([" ".join(["sort"] * 30), " ".join(["sort"] * 24)])
    assert np.allclose(long[0], long[1], atol=1e-3)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert np.array_equal(DeepEncoder(folder).encode_queries(questions), static)


def test_a_function_without_a_known_word_keeps_its_static_vector(folder: Path) -> None:
    unknown = replace(function("读取", code="读取"), repo="", path="")
    both = DeepEncoder(folder).encode_functions([unknown, FUNCTIONS[0]])
    assert np.allclose(both[0], STATIC.encode_functions([unknown])[0], atol=1e-6)


def test_the_shipped_one_is_loaded_by_name_and_version(shipped: Path) -> None:
    for name in ("deep", "deep:1"):
        encoder = registry.load(name)
        assert encoder is not None and encoder.name == "deep:1"
    with pytest.raises(EncoderMismatch, match="made with encoder 'deep:2', this Treeline ships 'deep:1'"):
        registry.check_shipped(["deep:2"])
    assert registry.full_name("deep") == "deep" and not registry.is_light("deep")


def test_a_missing_or_foreign_model_is_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match=r"deep\.json cannot be read"):
        DeepEncoder(tmp_path)
    write_model(tmp_path / "old", static="static:1")
    with pytest.raises(InputError, match="trained on static:1"):
        DeepEncoder(tmp_path / "old")
    write_model(tmp_path / "wide", limits=LIMITS | {"code": 500})
    with pytest.raises(InputError, match="more than 192 tokens"):
        DeepEncoder(tmp_path / "wide")
    broken = write_model(tmp_path / "broken")
    (broken / "deep.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match="cannot be read"):
        DeepEncoder(broken).encode_functions(FUNCTIONS)


def test_without_onnxruntime_a_question_is_answered_and_a_load_says_what_to_install(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path / "home"))
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "fruit.py").write_text("def sell_apples(count):\n    return count * PRICE\n")
    index = ["index", str(tmp_path / "shop"), "--encoder", str(folder), "--workers", "0"]
    assert CliRunner().invoke(cli, index).exit_code == 0
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    found = CliRunner().invoke(cli, ["search", "sell apples", "--name", "default", "--mode", "dense", "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["results"][0]["func_name"] == "sell_apples"
    (tmp_path / "shop" / "fruit.py").write_text("def sell_pears(count):\n    return count * PRICE\n")
    refused = CliRunner().invoke(cli, index).exception
    assert isinstance(refused, InputError)
    assert "onnxruntime" in refused.message and "[deep]" in refused.hint


def test_a_unit_is_read_once_for_all_indexes_and_again_where_its_path_differs(folder: Path, tmp_path: Path) -> None:
    moved = [replace(one, path="elsewhere/other.py") for one in FUNCTIONS]
    for units, new in ((FUNCTIONS, len(FUNCTIONS)), (FUNCTIONS, 0), ([*FUNCTIONS, *moved], len(moved))):
        encoder = registry.load(str(folder), tmp_path / "vectors.sqlite")
        assert encoder is not None
        asked: list[int] = []
        inner = encoder._encoder  # type: ignore[attr-defined]
        encode = inner.encode_functions
        inner.encode_functions = lambda some, asked=asked, encode=encode: asked.append(len(some)) or encode(some)
        vectors = encoder.encode_functions(units)
        assert sum(asked) == new
        assert np.allclose(vectors, DeepEncoder(folder).encode_functions(units), atol=2e-3)
        encoder.close()  # type: ignore[attr-defined]


def test_static_encoding_and_searching_import_no_onnxruntime(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "fruit.py").write_text("def sell_apples(count):\n    return count * PRICE\n")
    words = (
        "import sys; from click.testing import CliRunner; from treeline.service.cli import cli\n"
        f"for words in (['index', {str(tmp_path)!r}, '--workers', '0'], ['search', 'sell', '--name', 'default']):\n"
        "    assert CliRunner().invoke(cli, words).exit_code == 0\n"
        "from treeline.encoder.registry import load\n"
        f"load({str(folder)!r}).encode_queries(['a question'])\n"
        "assert not {'onnxruntime', 'onnx', 'torch'} & sys.modules.keys()"
    )
    environment = {"TREELINE_HOME": str(tmp_path / ".home"), "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", words], check=True, env=environment)
