"""`quality=best`: the model's scores join the list, which is ranked again; the model is a real, tiny one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.encoder.functions import function
from tests.encoder.pair_model import WEIGHTS, write_model
from tests.search.small_index import NAME, shipped, small_store
from treeline.corpus.errors import ExtraMissing, InputError
from treeline.corpus.function import Function
from treeline.encoder.pairs import PairReader
from treeline.rerank import cross_encoder
from treeline.rerank.candidates import Candidate, Contribution
from treeline.search import reading
from treeline.search.answer import Answer
from treeline.search.executor import Executor
from treeline.search.query import Query
from treeline.search.reading import READING, read
from treeline.search.searcher import Searcher

ROOT = Path(__file__).parents[2]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PairReader:
    """A model that counts the question's first word and has the last say, in place of the shipped one."""
    made = PairReader(write_model(tmp_path / "model", weight=20.0))
    monkeypatch.setattr(reading, "reader_in", lambda _folder: made)
    return made


@pytest.fixture
def searcher(tmp_path: Path) -> Iterator[Searcher]:
    made = Searcher(small_store(tmp_path / "index").open(NAME), {shipped().name: shipped()})
    yield made
    made.close()


def names(searcher: Searcher, query: Query) -> list[str]:
    return [result.function.func_name for result in searcher.search(query).results]


class Bodies:
    """Functions by id, and which were fetched."""

    def __init__(self, codes: Sequence[str]) -> None:
        self.functions = [function(f"f{number}", code=code) for number, code in enumerate(codes)]
        self.fetched: list[str] = []

    def __call__(self, ids: Sequence[str]) -> list[Function]:
        self.fetched += ids
        return [one for one in self.functions if one.id in ids]

    def candidates(self, scores: Sequence[float]) -> list[Candidate]:
        listed = zip(self.functions, scores, strict=True)
        return [
            Candidate(one.id, one.address, score, (Contribution("keyword", place, 1.0, score),))
            for place, (one, score) in enumerate(listed, 1)
        ]


def test_what_the_model_prefers_rises_and_the_rest_keep_their_scores(tmp_path: Path) -> None:
    reader = PairReader(write_model(tmp_path, depth=3, weight=0.5))
    bodies = Bodies(["pass", "sort()", "sort(sort())", "sort(sort(sort()))", "pass"])
    fused = bodies.candidates([1.0, 0.9, 0.8, 0.45, 0.0])
    ids = [one.id for one in fused]
    found = read(fused, ids, "sort", bodies, reader)
    assert bodies.fetched == ids[:3]
    assert [one.id for one in found] == [ids[number] for number in (2, 1, 0, 3, 4)]
    assert [one.score for one in found] == pytest.approx([1.05, 0.9, 0.75, 0.45, 0.0])
    read_ones = [one.contributions[-1] for one in found[:3]]
    assert [(one.lane, one.rank, one.score) for one in read_ones] == [(READING, 1, 2), (READING, 2, 1), (READING, 3, 0)]
    assert all(sum(given.share for given in one.contributions) == pytest.approx(one.score) for one in found)
    assert [len(one.contributions) for one in found] == [2, 2, 2, 1, 1]


def test_those_that_were_ranked_first_are_read_not_those_with_the_best_scores(tmp_path: Path) -> None:
    bodies = Bodies(["sort()"] * 6)
    fused = bodies.candidates([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    ids = [one.id for one in fused]
    read(fused, ids[::-1], "sort", bodies, PairReader(write_model(tmp_path, depth=2)))
    assert bodies.fetched == ids[-2:]


def test_a_list_with_nothing_to_compare_stays(tmp_path: Path) -> None:
    reader = PairReader(write_model(tmp_path))
    bodies = Bodies(["sort()", "pass"])
    one = bodies.candidates([0.5, 0.4])
    assert read(one[:1], [one[0].id], "sort", bodies, reader) == one[:1]
    assert read([], [], "sort", bodies, reader) == []
    alike = read(one, [each.id for each in one], "???", bodies, reader)
    assert [each.score for each in alike] == [0.5, 0.4]


def test_the_best_quality_reads_and_says_so(searcher: Searcher, reader: PairReader) -> None:
    fast = names(searcher, Query("convert a path behind the address"))
    answer = searcher.search(Query("convert a path behind the address", quality="best"))
    best = [result.function.func_name for result in answer.results]
    assert best[0] == "int_to_string" != fast[0] and sorted(best) == sorted(fast)
    scores = reader.scores("convert a path behind the address", [one.function for one in answer.results])
    assert scores[0] == max(scores) > 0
    given = answer.results[0].candidate.contributions[-1]
    assert (given.lane, given.rank, given.score) == (READING, 1, scores[0])
    lanes = {one.lane for result in searcher.search(Query("string")).results for one in result.candidate.contributions}
    assert READING not in lanes


@pytest.mark.parametrize(
    ("question", "lane"),
    [("after ever longer pauses", "exact"), ("web/url.py", "path"), ("what calls parse_url", "graph")],
)
def test_what_must_lead_still_does(
    searcher: Searcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, lane: str
) -> None:
    against = PairReader(write_model(tmp_path / "model", weight=-20.0))  # what has the question's words falls
    monkeypatch.setattr(reading, "reader_in", lambda _folder: against)
    fast, best = (searcher.search(Query(question, quality=quality)) for quality in ("fast", "best"))

    def leading(answer: Answer) -> list[bool]:
        found = [{one.lane for one in result.candidate.contributions} for result in answer.results]
        return [lane in lanes for lanes in found]

    assert leading(fast) == leading(best) and leading(best)[0] and not leading(best)[-1]


def test_a_slow_reranker_runs_once_after_the_reading(
    searcher: Searcher, reader: PairReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Model:
        def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            asked.append(len(pairs))
            return [float("int_to_string" in text) for _, text in pairs]

    monkeypatch.setattr(cross_encoder, "load", lambda _model: Model())
    answer = searcher.search(Query("convert a path behind the address", quality="best", rerank="cross-encoder"))
    assert len(asked) == 1
    lanes = {given.lane for one in answer.results for given in one.candidate.contributions}
    assert READING in lanes and "cross-encoder score" in str(answer.results[0].candidate)


def test_filters_hold(searcher: Searcher, reader: PairReader) -> None:
    found = searcher.search(Query("convert a string path:web/", quality="best"))
    assert found.results and {one.function.path.partition("/")[0] for one in found.results} == {"web"}


def test_reading_leaves_the_thread_of_quick_searches_alone(
    searcher: Searcher, reader: PairReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Executor, "run_in_turn", None)
    assert names(searcher, Query("read a file", quality="best"))


def test_without_onnx_runtime_best_says_what_to_install_and_fast_goes_on(
    searcher: Searcher, reader: PairReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ExtraMissing, match="needs onnxruntime"):
        searcher.search(Query("read a file", quality="best"))
    assert names(searcher, Query("read a file"))


def test_a_model_that_fails_while_it_reads_leaves_the_fast_order_and_is_named(
    searcher: Searcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = PairReader(write_model(tmp_path / "model", weights=WEIGHTS[:2]))
    monkeypatch.setattr(reading, "reader_in", lambda _folder: failing)
    fast, best = (searcher.search(Query("read a file", quality=quality)) for quality in ("fast", "best"))
    assert [(one.function.id, one.candidate.score) for one in best.results] == [
        (one.function.id, one.candidate.score) for one in fast.results
    ]
    [left_out] = best.degraded
    assert left_out.lane == "quality best" and "the model of questions and functions failed" in left_out.reason


def test_an_unknown_quality_is_refused(searcher: Searcher) -> None:
    with pytest.raises(InputError, match="unknown quality 'finest'") as raised:
        searcher.search(Query("read a file", quality="finest"))
    assert raised.value.hint == "choose one of: fast, best"


def test_a_fast_search_imports_no_onnx_runtime(tmp_path: Path) -> None:
    small_store(tmp_path)
    program = (
        "import sys; from treeline.search.live import open_searcher; from treeline.search.settings import Settings\n"
        "from treeline.search.query import Query\n"
        f"searcher = open_searcher(Settings(home={str(tmp_path)!r}), {NAME!r}, once=True)\n"
        "assert searcher.search(Query('read a file')).results; searcher.close()\n"
        "print({'onnxruntime', 'treeline.encoder.pairs'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.strip() == "set()", done.stderr
