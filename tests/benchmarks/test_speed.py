"""The benchmark measures what it says."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import speed
from benchmarks.speed import Line, Times, command, exact_neighbours, recall, timed, tree
from treeline.search.live import LiveSearcher


def test_times_are_percentiles_after_a_warm_up() -> None:
    asked: list[str] = []
    times = timed(asked.append, ["a", "b"], rounds=3)
    assert (len(asked), times.count) == (8, 6)
    assert Times.of([1.0, 2.0, 3.0]).p50 == 2.0


def test_exact_neighbours_are_the_true_ones(searcher: LiveSearcher) -> None:
    engine = searcher.engine
    ids = [id_ for id_, _ in engine.addresses()]
    queries = engine.vectors(ids[:2])
    scores = queries @ engine.vectors(ids).T
    expected = [{ids[column] for column in np.argsort(-row)[:100]} for row in scores]
    assert recall(exact_neighbours(engine, queries), expected) > 0.99
    assert recall([{"a", "b"}, {"c"}], [{"a", "x"}, {"c"}]) == pytest.approx(0.75)


def test_trees_are_made_of_what_the_keyword_lane_finds(searcher: LiveSearcher) -> None:
    asked = ["Wrapping TEXTS", "zzzzzz"]  # words that are found by their stems, and one that is not there
    found = tree(searcher.engine, asked)
    assert found["nodes"] > 0 and found["query-local tree embedded, p50 ms"] > 0
    assert tree(searcher.engine, asked[1:])["query-local tree embedded, p50 ms"] == 0


def test_a_goal_is_met_or_missed() -> None:
    assert Line("x", 2.0, "ms", 3.0).met
    assert not Line("x", 0.9, "", 0.95, less_is_better=False).met
    assert Line("x", 1.0, "ms").met is None


def test_the_whole_benchmark_runs_on_a_small_index(
    searcher: LiveSearcher, home: Path, small_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(home / ".eval"))
    monkeypatch.setattr(speed, "COLD_STARTS", 1)
    arguments = ["--name", searcher.info.name, "--source", str(small_source), "--rounds", "1"]
    result = CliRunner().invoke(command, [*arguments, "--json", str(tmp_path / "bench.json")])
    assert result.exit_code == 0, result.output
    assert all(len(line) <= 80 for line in result.output.splitlines() if not line.startswith("written"))
    assert sum(line.startswith("search, ") for line in result.output.splitlines()) >= 10  # whole lines, none broken
    names = {line["name"] for line in json.loads((tmp_path / "bench.json").read_text())["lines"]}
    for part in ("index, end to end", "index, peak memory", "BM25, top 100, p50", "kNN, recall@100 against exact"):
        assert part in names
    for part in ("search, total, p95", "search, rerank, p50", "tree, nodes", "cold start of treeline search, p50"):
        assert part in names
