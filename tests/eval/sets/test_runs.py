"""Rankings survive their files, and standard tools read what we write."""

import csv
from pathlib import Path

import ir_measures
import pytest
from ir_measures import nDCG

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.engine.protocol import Filters
from treeline.eval.dataset import Case
from treeline.eval.metrics import ndcg
from treeline.eval.sets import runs

URL = "https://github.com/o/r/blob/c/src/{}.py#L1-L2"
CASE = Case("python: sort a list", "sort a list", {URL.format("a"): 3.0, URL.format("b"): 1.0}, Filters("python"))
HITS = [Hit(name, 1.0, Address("o/r", "p", f"f_{name}", "python", URL.format(name))) for name in "xbabz"]


def test_predictions_are_read_back_as_written_each_url_once(tmp_path: Path) -> None:
    path = tmp_path / "model_predictions.csv"
    assert runs.write_predictions(path, [(CASE, HITS)]) == 4
    with path.open(newline="") as file:
        assert next(csv.reader(file)) == ["query", "language", "identifier", "url"]
    found = runs.read_predictions(path, {"sort a list"})
    places = found.addresses["python", "sort a list"]
    assert [place.url for place in places] == [URL.format(name) for name in "xbaz"]
    assert (places[0].repo, places[0].path, places[0].func_name) == ("o/r", "src/x.py", "f_x")
    assert [hit.id for hit in found.system("run").answer(CASE, 2).hits] == [URL.format("x"), URL.format("b")]


def test_repeated_urls_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"query,language,identifier,url\nq,python,f,{URL}\nq,python,f,{URL}\n")
    assert runs.read_predictions(path, {"q"}).duplicates == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query,language,identifier,url\n", "has no predictions"),
        ("query,url\n", r"p\.csv has no column identifier, language \(it needs "),
        ("query,language,identifier,url\nwhat is this,python,f,u\n", "1 unknown queries, the first is 'what is this'"),
        ("query,language,identifier,url\nq\n", "cannot be read"),
        ("", "has no column"),
    ],
)
def test_a_bad_run_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        runs.read_predictions(path, {"q"})


def test_trec_files_give_the_same_ndcg_in_the_reference_tool(tmp_path: Path) -> None:
    runs.write_trec_run(tmp_path / "run.txt", [(CASE, HITS)], "treeline")
    runs.write_trec_qrels(tmp_path / "qrels.txt", [CASE])
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels.txt")))  # type: ignore[no-untyped-call]
    run = list(ir_measures.read_trec_run(str(tmp_path / "run.txt")))  # type: ignore[no-untyped-call]
    ours = ndcg([hit.address.url for hit in HITS], CASE.relevance, 10)
    assert ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10] == pytest.approx(ours)
    assert runs.standard_measures(tmp_path / "run.txt", tmp_path / "qrels.txt")["nDCG@10"] == pytest.approx(ours)
