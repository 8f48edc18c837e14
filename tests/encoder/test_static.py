"""The shipped encoder: meaning, speed of loading, and defined answers to bad input."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.encoder.functions import FUNCTIONS, function
from treeline.corpus.errors import EncoderMismatch, InputError
from treeline.encoder.deep import shipped_folder
from treeline.encoder.registry import load
from treeline.encoder.static import CONFIG, MODEL_FOLDER, TENSORS, StaticEncoder


@pytest.fixture(scope="module")
def encoder() -> StaticEncoder:
    return StaticEncoder.shipped()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("python parse comma separated values", "read_csv"),
        ("how to send an email in python", "send_mail"),
        ("order list of dicts", "sort_by_key"),
        ("checksum of file", "sha256"),
        ("exponential retry", "backoff"),
        ("change picture size", "resize"),
    ],
)
def test_a_question_finds_the_function_that_answers_it(encoder: StaticEncoder, question: str, answer: str) -> None:
    similarities = encoder.encode_functions(FUNCTIONS) @ encoder.encode_queries([question])[0]
    assert FUNCTIONS[int(similarities.argmax())].func_name == answer


def test_the_word_python_says_nothing(encoder: StaticEncoder) -> None:
    plain, dressed = encoder.encode_queries(["read csv file", "how to read csv file in python"])
    assert plain @ dressed > 0.9


def test_a_function_is_nearer_to_what_its_file_says_of_itself(encoder: StaticEncoder) -> None:
    near, other = FUNCTIONS[:2]
    question = encoder.encode_queries(["importance sampling"])[0]
    vectors = encoder.encode_functions([near, near, other], ["Draws by importance sampling.", "", ""])
    assert vectors[0] @ question > vectors[1] @ question + 0.05
    assert np.allclose(vectors[1:], encoder.encode_functions([near, other]), atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_vectors_are_unit_rows_of_the_stated_dimension(encoder: StaticEncoder) -> None:
    vectors = encoder.encode_functions(FUNCTIONS)
    assert vectors.shape == (len(FUNCTIONS), encoder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_one_by_one_is_the_same_as_all_at_once(encoder: StaticEncoder) -> None:
    single = np.vstack([encoder.encode_functions([function]) for function in FUNCTIONS])
    assert np.allclose(single, encoder.encode_functions(FUNCTIONS), atol=1e-5)


@pytest.mark.parametrize("text", ["", "   ", "!?"])
def test_a_question_without_a_word_is_a_zero_row(encoder: StaticEncoder, text: str) -> None:
    assert not encoder.encode_queries([text]).any()


@pytest.mark.parametrize("text", ["排序 列表", "zzqxv", "\ud800 lone", "x" * 100_000, "naïve café"])
def test_any_word_gives_a_vector(encoder: StaticEncoder, text: str) -> None:
    assert np.isclose(np.linalg.norm(encoder.encode_queries([text])), 1, atol=1e-5)


def test_ten_megabytes_of_code_are_read_only_so_far(encoder: StaticEncoder) -> None:
    start = "value = 1\n" * 20_000  # more than is read
    one, other = (function("huge", code=start + ending) for ending in ("", "send_email(socket)\n" * 500_000))
    begin = time.thread_time()
    vectors = encoder.encode_functions([one, other])
    assert time.thread_time() - begin < 5
    assert np.array_equal(vectors[0], vectors[1])


def test_nothing_in_nothing_out(encoder: StaticEncoder) -> None:
    assert encoder.encode_queries([]).shape == (0, encoder.dimension)
    assert encoder.encode_functions([]).shape == (0, encoder.dimension)


def test_the_shipped_models_are_small() -> None:
    assert sum(file.stat().st_size for file in MODEL_FOLDER.iterdir()) <= 16_000_000
    sizes = [file.stat().st_size for file in shipped_folder().glob("*.onnx")]
    assert len(sizes) == 2 and max(sizes) <= 18_000_000


def test_an_index_of_another_version_is_refused_by_name() -> None:
    with pytest.raises(EncoderMismatch, match=r"static:something-else.*ships"):
        load("static:something-else")


def test_a_missing_model_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lab\.train static"):
        StaticEncoder(tmp_path)


@pytest.mark.parametrize("broken", [TENSORS, CONFIG])
def test_a_corrupt_model_is_named(tmp_path: Path, broken: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL_FOLDER, folder)
    (folder / broken).write_bytes(b"not what it was")
    with pytest.raises(InputError, match="cannot be read"):
        StaticEncoder(folder)


def test_a_model_of_another_layout_says_what_it_lacks(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(MODEL_FOLDER, folder)
    config = json.loads((folder / CONFIG).read_text())
    del config["unknown"]
    (folder / CONFIG).write_text(json.dumps(config))
    with pytest.raises(InputError, match="has no 'unknown'"):
        load(str(folder))


def test_the_default_path_loads_no_torch() -> None:
    load_it = "from treeline.encoder.registry import load; load().encode_queries(['x'])"
    code = f"import sys; {load_it}; print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


def test_vectors_do_not_depend_on_what_was_encoded_before() -> None:
    """Rows of the table are widened when a text first needs them."""
    first, later = StaticEncoder(MODEL_FOLDER), StaticEncoder(MODEL_FOLDER)
    later.encode_functions([replace(FUNCTIONS[0], code="return parse(request, charset)"), *FUNCTIONS[:1]])
    assert 0 < later._is_wide.sum() < len(later._is_wide) / 10
    assert np.array_equal(first.encode_functions(FUNCTIONS), later.encode_functions(FUNCTIONS))
