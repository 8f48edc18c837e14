"""A grown corpus has other texts, real words, other repositories, and just as many functions as asked for."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks import scale
from benchmarks.plots import nice, scale_svg, short
from benchmarks.scale import COPY_SIZE, KEPT, GrownSource, shuffle_identifiers
from tests.made_up_source import MadeUpSource, made_up
from treeline.engine.embedded import EmbeddedStore
from treeline.eval.indexes import FIELDS
from treeline.ingest.pipeline import LoadOptions, load
from treeline.search.settings import Settings

POOL = ["alpha", "beta", "gamma_delta", "epsilon"]


def test_identifiers_change_consistently_and_keywords_stay() -> None:
    function = made_up(3)
    other = shuffle_identifiers(function, 1, POOL)
    assert other.code != function.code
    assert other.code.startswith("def ")
    assert "return" in other.code
    assert "return" in KEPT
    assert other.func_name in other.code
    assert other == shuffle_identifiers(function, 1, POOL)
    assert other.id != shuffle_identifiers(function, 2, POOL).id
    assert other.repo == f"{function.repo}-1" and other.repo in other.url
    assert other.address.lines == function.address.lines


def test_copies_add_up_and_a_share_takes_whole_chunks(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    source = MadeUpSource(1_000)
    options = LoadOptions(work=tmp_path / ".loading", encoders=("none",), workers=0)
    assert load(store, "grown", [GrownSource(source, 0)], options).total == 1_000
    assert load(store, "grown", [GrownSource(source, 1)], options).total == 2_000
    assert load(store, "grown", [GrownSource(source, 2, 0.4)], options).total == 2_400


def test_the_last_copy_is_cut_to_the_target() -> None:
    shares = [min(1.0, (1_000_000 - begun) / COPY_SIZE) for begun in range(0, 1_000_000, COPY_SIZE)]
    assert sum(shares) * COPY_SIZE == pytest.approx(1_000_000)


@pytest.mark.slow
def test_a_run_goes_on_from_the_index_that_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "COPY_SIZE", 3)
    records = tmp_path / "records.jsonl"
    rows = ({field: getattr(made_up(number), field) for field in FIELDS} for number in range(3))
    records.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = Settings(home=str(tmp_path / "home"))
    grow = partial(scale.run, settings=settings, data=str(records), rounds=1, tell=lambda _line: None)
    first = grow(3, leave=True)
    assert [step["functions"] for step in first["steps"]] == [3]
    assert scale.size(replace(settings, index=scale.INDEX)) == 3
    kept: list[int] = []
    second = grow(6, before=first["steps"], keep=lambda found: kept.append(len(found["steps"])))
    assert [step["functions"] for step in second["steps"]] == [3, 6] and kept == [2]
    assert second["steps"][0] == first["steps"][0]
    assert first["steps"][0]["while_loading"] is None
    assert second["steps"][1]["while_loading"]["failed"] == 0
    assert second["steps"][1]["loader_processor"] > 0
    assert [step["functions"] for step in grow(9, every=2)["steps"]] == [6, 9]
    assert scale.size(replace(settings, index=scale.INDEX)) == 0  # gone, as it was not to be left
    assert len(grow(3, before=second["steps"])["steps"]) == 1  # and so the figures are of nothing that is there


def test_the_picture_is_well_formed_and_shows_every_step() -> None:
    step = {"functions": 1, "rate": 900.0, "disk_mb": 10.0, "loader_mb": 500.0, "searcher_mb": 300.0}
    times = {"hybrid": {"p50": 4.0, "p95": 9.0}}
    steps = [{**step, "functions": size, "times": times} for size in (100_000, 500_000, 1_000_000)]
    root = ET.fromstring(scale_svg({"engine": "embedded", "steps": steps}))
    assert len(root.findall(".//{http://www.w3.org/2000/svg}circle")) == 3 * 6


@pytest.mark.parametrize(("most", "top"), [(0.3, 1), (1, 1), (3, 4), (9.5, 10), (420, 500), (1_000_000, 1_000_000)])
def test_axes_end_at_round_numbers(most: float, top: float) -> None:
    assert nice(most) == top
    assert short(250_000) == "250k"
