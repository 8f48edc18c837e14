"""A neural bag of words learns from docstrings which code answers them, and is read back as an encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.encoder.functions import function
from treeline.corpus.errors import InputError
from treeline.encoder.protocol import strip_prior
from treeline.encoder.static import StaticEncoder

pytest.importorskip("torch", reason="training needs torch")
pytestmark = pytest.mark.transformers
# What is asked for and what the code says share no word: only learning brings them together.
SPOKEN = {"feline": "cat", "canine": "dog", "equine": "horse", "rodent": "mouse", "ovine": "sheep", "avian": "eagle"}


def animals(repo: str) -> list:  # type: ignore[type-arg]
    return [
        function(f"f{n}_{repo}", f"Feed the {asked} animal number {n}.", f"def f{n}(): return {said}.eat()", repo)
        for asked, said in SPOKEN.items()
        for n in range(8)
    ]


def test_it_learns_words_that_the_code_does_not_have(tmp_path: Path) -> None:
    from lab.training.nbow import NbowOptions, train_nbow

    functions = [one for number in range(11) for one in animals(f"repo{number}")]
    told: list[str] = []
    scores = train_nbow(functions, tmp_path / "nbow", NbowOptions(dimension=32, batch=48, epochs=25), told.append)
    assert "48 held out" not in told[0] and "96 held out" in told[0]  # whole repositories
    assert 0 < scores["sentences"] <= 1
    encoder = StaticEncoder(tmp_path / "nbow")
    codes = [function("g", "", f"def g(): return {said}.eat()") for said in SPOKEN.values()]
    asked = strip_prior(encoder.encode_queries([f"the {word} animal" for word in SPOKEN]))
    nearest = (asked @ strip_prior(encoder.encode_functions(codes)).T).argmax(axis=1)
    # By chance one of six; which word stays unlearnt depends on the processor's arithmetic.
    assert sum(nearest == range(len(SPOKEN))) >= 4


def test_only_the_code_is_read(tmp_path: Path) -> None:
    from lab.training.nbow import NbowOptions, train_nbow

    train_nbow([*animals("one"), *animals("two")], tmp_path / "nbow", NbowOptions(dimension=8, epochs=1))
    encoder = StaticEncoder(tmp_path / "nbow")
    plain = function("g", "", "def g(): return cat.eat()")
    documented = function("cat_feeder", "Feed the canine animal.", "def g(): return cat.eat()")
    made = strip_prior(encoder.encode_functions([plain, documented]))
    assert made[0] == pytest.approx(made[1])


def test_functions_without_docstrings_teach_nothing(tmp_path: Path) -> None:
    from lab.training.nbow import train_nbow

    with pytest.raises(InputError, match="no docstrings"):
        train_nbow([function("f"), function("g", repo="other")], tmp_path / "nbow")
    assert not (tmp_path / "nbow").exists()
