"""A language model that learns what is asked for functions and writes questions; one that learns to find them."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from lab import train, write_questions
from tests.lab.training.test_static import shop
from treeline.corpus import hub
from treeline.corpus.errors import InputError, TreelineError
from treeline.corpus.function import Function
from treeline.encoder.registry import load

pytestmark = [pytest.mark.transformers, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    return shop(partition="train")


@pytest.fixture(scope="module")
def asked(functions: list[Function]) -> dict[str, str]:
    """What is asked for each of them, by its address."""
    return {one.url: "how do i {} one {}".format(*one.func_name.split("_")) for one in functions}


@pytest.fixture(scope="module")
def decoder(functions: list[Function], asked: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small language model that knows nothing yet, in the form of Qwen2.5."""
    from tokenizers import Tokenizer
    from tokenizers.decoders import ByteLevel as Text
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import BpeTrainer
    from torch import manual_seed
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = ByteLevel(add_prefix_space=False), Text()
    trainer = BpeTrainer(vocab_size=600, special_tokens=["<end>"], initial_alphabet=ByteLevel.alphabet())
    tokenizer.train_from_iterator([*asked.values(), *(one.code + one.docstring for one in functions)], trainer)
    folder = tmp_path_factory.mktemp("decoder")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")  # type: ignore[no-untyped-call]
    fast.save_pretrained(folder)
    manual_seed(0)
    config = Qwen2Config(  # type: ignore[no-untyped-call]
        vocab_size=tokenizer.get_vocab_size(), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, eos_token_id=0, bos_token_id=0, tie_word_embeddings=True,
    )  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return str(folder)


@pytest.fixture(scope="module")
def source(functions: list[Function], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("shop") / "shop.jsonl"
    file.write_text("".join(json.dumps(asdict(one)) + "\n" for one in functions), encoding="utf-8")
    return file


def known(asked: dict[str, str], file: Path) -> Path:
    lines = [json.dumps({"query": question, "url": url}) for url, question in asked.items()]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_questions_are_written_as_they_were_learnt(decoder: str, source: Path, tmp_path: Path) -> None:
    by_verb = {one.url: f"how do i {one.func_name.split('_')[0]} it" for one in shop(partition="train")}
    never = tmp_path / "never.txt"
    never.write_text("i sell\n", encoding="utf-8")
    out = tmp_path / "written.jsonl.gz"
    silent = [decoder, str(source), "--out", str(out), "--device", "cpu"]
    refused = CliRunner().invoke(write_questions.command, silent).exception
    assert isinstance(refused, InputError) and "no question has its answer" in refused.message
    order = [decoder, str(source), "--out", str(out), "--device", "cpu", "--never", str(never)]
    order += ["--answered", str(known(by_verb, tmp_path / "asked.jsonl")), "--each", "2"]
    said = CliRunner().invoke(write_questions.command, [*order, "--epochs", "90", "--batch", "11", "--rate", "3e-3"])
    assert said.exception is None, said.output
    written = [json.loads(line) for line in gzip.decompress(out.read_bytes()).decode().splitlines()]
    right = [one for one in written if one["query"] == by_verb[one["url"]]]
    assert len(right) > 0.8 * len(written)
    assert len({one["url"] for one in right}) > 30
    assert len({(one["query"], one["url"]) for one in written}) == len(written)  # none twice
    assert not any("sell" in one["query"] for one in written)


def test_what_does_not_find_its_function_is_left_out(
    functions: list[Function], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab.training import writer

    monkeypatch.setattr(writer, "FOUND", 3)
    right = ("sell the violin of a shop", next(n for n, one in enumerate(functions) if one.func_name == "sell_violin"))
    wrong = ("sell the violin of a shop", next(n for n, one in enumerate(functions) if one.func_name == "sort_river"))
    assert writer.round_trip([right, wrong], functions) == [right]


def test_a_model_that_writes_learns_to_find(
    decoder: str, source: Path, functions: list[Function], asked: dict[str, str], tmp_path: Path
) -> None:
    """Its vector is that of a token after each text, also when it is loaded again as an encoder."""
    taught = tmp_path / "taught"
    order = ["teacher", decoder, str(source), "--out", str(taught), "--device", "cpu"]
    order += ["--answered", str(known(asked, tmp_path / "asked.jsonl"))]
    said = CliRunner().invoke(train.command, [*order, "--epochs", "40", "--batch", "33", "--rate", "3e-3"])
    assert said.exception is None, said.output
    encoder = load(str(taught))
    assert encoder is not None
    found = encoder.encode_queries(list(asked.values())) @ encoder.encode_functions(functions).T
    assert np.mean(found.argmax(axis=1) == np.arange(len(functions))) > 0.7
    pooling = json.loads((taught / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    assert "lasttoken" in json.dumps(pooling)
    tokenizer = json.loads((taught / "tokenizer.json").read_text(encoding="utf-8"))
    assert tokenizer["post_processor"]["type"] == "TemplateProcessing"


@pytest.mark.parametrize("command", [write_questions.command, train.teacher])
def test_a_model_that_is_not_there_is_one_line(
    command: click.Command, source: Path, asked: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "answers", lambda: False)
    order = ["nobody/has-it", str(source), "--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(command, [*order, "--answered", str(known(asked, tmp_path / "asked.jsonl"))]).exception
    assert isinstance(refused, TreelineError)
    assert "nobody/has-it" in refused.message


@pytest.mark.parametrize("command", [write_questions.command, train.teacher])
def test_a_single_repository_is_refused_in_one_line(command: click.Command, tmp_path: Path) -> None:
    """It would be held out as a whole, with nothing left to learn from."""
    (tmp_path / "alone.py").write_text("def sort_rivers(rivers):\n    return sorted(rivers)\n")
    order = ["some/model", str(tmp_path), "--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(command, order).exception
    assert isinstance(refused, InputError)
    assert "0 functions are too few to learn from" in refused.message
