"""Rows of a generation that are carried to the next one, beside the same rows written at once."""

import random
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from treeline.engine.embedded import scans
from treeline.engine.embedded.columns import Row, Table
from treeline.engine.embedded.rows import RowsBuilder
from treeline.engine.protocol import EncoderSpec

ENCODERS = [EncoderSpec("static", 256)]
WORDS = ["get", "größe", "日本", "parse", "Session", "send", "x", ""]


def unit(number: int, seed: int) -> tuple[Row, str]:
    """A unit whose strings it shares with some others and not with the rest."""
    words = random.Random(seed)
    name = ".".join(words.choices(WORDS, k=words.randint(1, 3)))
    values = (
        f"repo{number % 2}",
        f"{name[:4]}/{number % 7}.py",
        name,
        "python",
        "",
        f"file:///{number % 7}",
        "#L1",
        "",
    )
    key = blake2b(f"{number}".encode(), digest_size=16).digest()
    return Row(0, key, number, values), f"def {name}(): return {seed * 7919}"


def vector(seed: int) -> NDArray[np.float16]:
    return np.random.default_rng(seed).standard_normal((1, 256)).astype(np.float16)


class Generations:
    """Generations in a folder, made one after the other."""

    def __init__(self, home: Path) -> None:
        self.home, self.count = home, 0
        self.units: dict[int, tuple[int, int]] = {}  # a unit's serial and seed

    def make(self, changes: dict[int, int], gone: Sequence[int] = ()) -> Path:
        """The next generation; `changes` are units with their new seeds."""
        before, self.count = self.home / f"{self.count}", self.count + 1
        folder = self.home / f"{self.count}"
        folder.mkdir()
        rows = RowsBuilder(folder, ENCODERS)
        if self.units:
            rows.start_from(before)
        for number in [*gone, *(changes.keys() & self.units.keys())]:
            rows.delete(unit(number, 0)[0].id.hex(), self.units.pop(number)[0])
        for number, seed in changes.items():
            self.units[number] = (rows.next_serial, seed)
            self._add(rows, rows.next_serial, number, seed)
        rows.flush()
        rows.merge(folder / "rows")
        info = {"encoders": [["static", 256]], "next_serial": rows.next_serial}
        (folder / "info.json").write_bytes(orjson.dumps(info))
        return folder / "rows"

    def at_once(self) -> Path:
        """The same rows, written to one part."""
        folder = self.home / f"{self.count}-at-once"
        folder.mkdir()
        rows = RowsBuilder(folder, ENCODERS)
        for number, (serial, seed) in sorted(self.units.items(), key=lambda one: one[1]):
            self._add(rows, serial, number, seed)
        rows.flush()
        rows.merge(folder / "rows")
        return folder / "rows"

    @staticmethod
    def _add(rows: RowsBuilder, serial: int, number: int, seed: int) -> None:
        row, text = unit(number, seed)
        rows.add(Row(serial, row.id, row.size, row.values), text)
        rows.add_vectors([vector(seed)])


def assert_same(rows: Path, at_once: Path) -> None:
    """Every column byte by byte; vectors and n-grams by what they answer."""
    big = (scans.SLICES, scans.LIVING, ".f16.npy", scans.DELTA)
    for path in at_once.iterdir():
        if not path.name.endswith(big):
            assert path.read_bytes() == (rows / path.name).read_bytes(), path.name
    count = len(Table(at_once))
    matrix, whole = scans.Matrix(rows, 0), scans.Matrix(at_once, 0)
    every = np.random.default_rng(0).permutation(count)
    assert np.array_equal(matrix.rows(every), whole.rows(every))
    for query in (vector(1)[0], vector(10_001)[0]):
        positions, scores = matrix.nearest(query, 9, None)
        expected_positions, expected_scores = whole.nearest(query, 9, None)
        assert np.array_equal(positions, expected_positions)
        assert np.array_equal(scores, expected_scores)
    for text in ("session.send", "parse", "79190", "x"):
        one, other = (scans.Grams(folder, count).candidates([text]) for folder in (rows, at_once))
        assert np.array_equal(one, other)


@pytest.mark.parametrize("share_from", [0, 20_000])
def test_rows_are_those_of_an_index_made_at_once_after_many_updates(
    tmp_path: Path, share_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "SHARE_FROM_ROWS", share_from)
    generations = Generations(tmp_path)
    generations.make({number: number for number in range(300)})
    choice = random.Random(1)
    for step in range(1, 9):
        gone = choice.sample(sorted(generations.units), 3 * (step % 3))
        changes = {
            number: 10_000 * step + number for number in choice.sample(range(300 + step), 4) if number not in gone
        }
        assert_same(generations.make(changes, gone), generations.at_once())


def test_a_small_update_shares_the_large_files_and_a_big_one_writes_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "SHARE_FROM_ROWS", 100)
    generations = Generations(tmp_path)
    first = generations.make({number: number for number in range(200)})
    small = generations.make({3: 1_000}, [7, 8])
    for name in (scans.SLICES, "vectors0.f16.npy"):
        assert (small / name).samefile(first / name)
    big = generations.make({number: 2_000 + number for number in range(50)})
    assert not (big / scans.LIVING).exists()
    assert not (big / scans.SLICES).samefile(first / scans.SLICES)
    assert_same(big, generations.at_once())
