"""Bad input is reported with file and line, the rest goes in; `strict` stops at the first."""

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.ingest.loading import NAME, functions, loaded, names, project, record, records_file
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore

GOOD = [json.dumps(record(f"good_{n}")).encode() for n in range(3)]
BROKEN = {
    "not JSON": b'{"repo": "some/repo", ',
    "a missing field": json.dumps({k: v for k, v in record("bad").items() if k != "repo"}).encode(),
    "wrong UTF-8": json.dumps(record("bad")).encode().replace(b"return 1", b"return \xff\xfe"),
    "not an object": b"[1, 2, 3]",
    "10 MB": json.dumps(record("bad", "x = '" + "y" * 10_000_000 + "'")).encode(),
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_line_is_named_and_the_rest_goes_in(tmp_path: Path, line: bytes) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(b"\n".join([GOOD[0], GOOD[1], line, GOOD[2], b""]))
    summary = loaded(tmp_path / "home", source)
    assert names(tmp_path / "home") == ["good_0", "good_1", "good_2"]
    assert (summary.read, summary.indexed, summary.rejected) == (4, 3, 1)
    rejects = [json.loads(row) for row in Path(summary.rejects_file).read_text().splitlines()]
    assert [(Path(row["file"]).name, row["line"]) for row in rejects] == [("records.jsonl", 3)]
    assert rejects[0]["reason"]


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN.keys())
def test_strict_stops_at_the_first_and_the_index_stays_as_it_was(tmp_path: Path, line: bytes) -> None:
    home, source = tmp_path / "home", tmp_path / "records.jsonl"
    source.write_bytes(GOOD[0] + b"\n")
    loaded(home, source)
    source.write_bytes(b"\n".join([GOOD[0], line, GOOD[1], b""]))
    with pytest.raises(InputError, match=r"records.jsonl:2: "):
        loaded(home, source, strict=True)
    assert names(home) == ["good_0"]


@pytest.mark.parametrize("line", ["3000000000", "9" * 23, "9" * 5_000, "1-L3000000000"])
def test_a_number_that_no_line_has_in_a_url_is_no_line(tmp_path: Path, line: str) -> None:
    address = f"https://example.org/f.py#L{line}"
    source = records_file(tmp_path / "records.jsonl", [record("odd", url=address), record("good")])
    assert loaded(tmp_path / "home", source).indexed == 2
    odd, good = sorted(functions(tmp_path / "home").values(), key=lambda one: one.func_name, reverse=True)
    assert (odd.url, odd.address.lines, good.address.lines) == (address, None, (1, 2))


def test_a_truncated_gzip_gives_what_it_has(tmp_path: Path) -> None:
    whole = gzip.compress(b"\n".join(json.dumps(record(f"f{n}", f"return {n * 7919}")).encode() for n in range(5_000)))
    source = tmp_path / "cut.jsonl.gz"
    source.write_bytes(whole[: len(whole) // 2])
    summary = loaded(tmp_path / "home", source)
    assert 1_000 < summary.indexed < 5_000
    assert summary.rejected >= 1
    assert any("cut.jsonl.gz" in row for row in Path(summary.rejects_file).read_text().splitlines())


def test_what_was_rejected_is_told_again_while_the_file_stays_broken(tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(GOOD[0] + b"\n{broken\n")
    loaded(tmp_path / "home", source)
    again = loaded(tmp_path / "home", source)
    assert (again.read, again.unchanged, again.rejected, again.published) == (2, 1, 1, False)
    with pytest.raises(InputError):
        loaded(tmp_path / "home", source, strict=True)


def test_a_corrected_file_goes_in_whole_and_the_rejects_file_goes(tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(GOOD[0] + b"\n{broken\n")
    rejects = Path(loaded(tmp_path / "home", source).rejects_file)
    source.write_bytes(GOOD[0] + b"\n" + GOOD[1] + b"\n")
    summary = loaded(tmp_path / "home", source)
    assert (summary.indexed, summary.unchanged, summary.rejected) == (1, 1, 0)
    assert not rejects.exists()


def test_files_whose_names_are_no_text_are_told_apart_and_a_name_that_repeats_is_told(tmp_path: Path) -> None:
    source = tmp_path / "odd"
    project(source, {"\\xff.py": "def a(): return 1\n"})
    for number in (b"\xfe", b"\xff"):
        (source / os.fsdecode(number + b".py")).write_text(f"def f{number[0]}(): return 1\n", encoding="utf-8")
    for _ in range(2):
        summary = loaded(tmp_path / "home", source)
        assert summary.reasons == {"another one of the source has the same name": 1}
        assert json.loads(Path(summary.rejects_file).read_text())["file"] == "\\xff.py (2)"
    assert names(tmp_path / "home") == ["a", "f254"]


def test_what_the_engine_refuses_is_counted_as_rejected(tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    surrogate = json.dumps(record("bad", "return '\ud800'")).encode()  # valid JSON, but no Unicode text
    source.write_bytes(b"\n".join([GOOD[0], surrogate, GOOD[1], b""]))
    summary = loaded(tmp_path / "home", source)
    assert (summary.read, summary.indexed, summary.rejected, summary.total) == (3, 2, 1, 2)
    assert loaded(tmp_path / "home", source).total == 2


def test_a_name_that_no_index_can_have_is_bad_input(tmp_path: Path) -> None:
    from treeline.ingest.pipeline import LoadOptions, load
    from treeline.ingest.sources import open_source

    source = tmp_path / "records.jsonl"
    source.write_bytes(GOOD[0] + b"\n")
    with pytest.raises(InputError, match="name of an index"):
        load(EmbeddedStore(tmp_path), "../escape", [open_source(str(source))], LoadOptions(work=tmp_path / "work"))
    assert NAME not in EmbeddedStore(tmp_path).names()
