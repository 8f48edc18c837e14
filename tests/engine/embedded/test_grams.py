"""Signatures of n-grams, carried from one generation to the next."""

from pathlib import Path

import numpy as np
import pytest

from treeline.engine.embedded import scans

TEXTS = [f"def function_{number}(x): return {number * 7919}" for number in range(60)]


@pytest.mark.parametrize("size", scans.SIZES)
def test_n_grams_are_spread_over_the_bits(size: int) -> None:
    """As evenly as by chance: 2,000 n-grams that differ in few letters set 1,582 of 4,096 bits on average."""
    letters = np.random.default_rng(0).integers(ord("a"), ord("z") + 1, 2_000 + size - 1).astype(np.uint8)
    distinct = len({letters[at : at + size].tobytes() for at in range(2_000)})
    expected = scans.BITS * (1 - np.exp(-distinct / scans.BITS))
    assert len(np.unique(scans._hashes(letters, size))) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("gone", [[], [0], [59], [7, 8, 9], list(range(0, 60, 3))])
@pytest.mark.parametrize("block", [8, 13, 8_192])
def test_rows_that_stay_and_rows_that_come_have_the_slices_of_their_signatures(
    tmp_path: Path, gone: list[int], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "BLOCK", block)
    folders = {name: tmp_path / name for name in ("first", "base", "more", "updated")}
    for folder in folders.values():
        folder.mkdir()
    kept = np.array([row for row in range(60) if row not in gone])
    more = ["class Added: pass", "CONSTANT = 1"]
    scans.write_signatures(folders["first"], TEXTS)
    scans.merge_signatures(folders["base"], [folders["first"]], [np.arange(60)])
    scans.write_signatures(folders["more"], more)
    scans.merge_signatures(folders["updated"], [folders["base"], folders["more"]], [kept, np.arange(2)])
    rows = np.concatenate([scans.signatures(TEXTS)[kept], scans.signatures(more)])
    expected = np.packbits(np.unpackbits(rows, axis=1).T, axis=1)
    assert np.array_equal(np.load(folders["updated"] / scans.SLICES), expected)


def test_few_rows_remain_to_be_read_for_a_text_that_one_row_has(tmp_path: Path) -> None:
    """All rows would give the same answers, late."""
    texts = [f"def function_{number}(x): return {number * 7919 % 10_007:05d}" for number in range(2_000)]
    part = tmp_path / "part"
    part.mkdir()
    scans.write_signatures(part, texts)
    scans.merge_signatures(tmp_path, [part], [np.arange(2_000)])
    index = scans.Grams(tmp_path, 2_000)
    for number in (0, 999, 1_999):
        found = index.candidates([texts[number][-20:]])
        assert number in found
        assert len(found) < 20
    assert len(index.candidates(["de"])) == 2_000  # too short to have an n-gram
