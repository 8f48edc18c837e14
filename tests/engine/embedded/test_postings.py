"""Terms in lists: the scores are those of a full-text engine, whatever was merged, deleted or filtered."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tantivy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treeline.engine.embedded import building_postings
from treeline.engine.embedded.postings import NO_TERM, Lists, Postings

WORDS = ("json", "parse", "file", "retry", "url", "größe", "解析")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join), min_size=1, max_size=40)


def by_tantivy(texts: Sequence[str], terms: Sequence[str]) -> dict[int, float]:
    """What another engine's BM25 says of each text that has one of the terms."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", fast=True)
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    schema = builder.build()
    index = tantivy.Index(schema)
    writer = index.writer(15_000_000, 1)
    for number, text in enumerate(texts):
        document = tantivy.Document()
        document.add_unsigned("number", number)
        document.add_text("text", text or NO_TERM)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    query = tantivy.Query.boolean_query(
        [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", term, "freq")) for term in terms]
    )
    found = searcher.search(query, len(texts), count=False).hits
    numbers = searcher.fast_field_values("number", [address for _, address in found])
    return {int(number or 0): score for number, (score, _) in zip(numbers, found, strict=True)}


def merged(folder: Path, parts: Sequence[Sequence[str]], kept: Sequence[Sequence[int]]) -> Postings:
    lists = []
    for number, texts in enumerate(parts):
        part = folder / f"part-{number}"
        part.mkdir(parents=True)
        building_postings.write_part(part, texts)
        lists.append(Lists(part))
    target = folder / "rows"
    target.mkdir()
    building_postings.merge_parts(target, lists, [np.array(rows, dtype=np.int64) for rows in kept])
    return Postings(target)


def scores(postings: Postings, terms: Sequence[str], k: int = 1_000) -> dict[int, float]:
    positions, found = postings.nearest(terms, k)
    return dict(zip(positions.tolist(), found.tolist(), strict=True))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), parts=st.lists(TEXTS, min_size=1, max_size=3), chunk=st.sampled_from([1, 7, 4_000_000]))
def test_the_scores_are_those_of_a_full_text_engine_over_what_lives(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    data: st.DataObject,
    parts: list[list[str]],
    chunk: int,
) -> None:
    monkeypatch.setattr(building_postings, "CHUNK", chunk)
    kept = [sorted(data.draw(st.sets(st.integers(0, len(texts) - 1)))) for texts in parts]
    living = [texts[row] for texts, rows in zip(parts, kept, strict=True) for row in rows]
    postings = merged(tmp_path_factory.mktemp("postings"), parts, kept)
    for terms in (["json"], ["json", "parse", "größe"], ["file", "file", "nowhere"]):
        expected = by_tantivy(living, terms) if living else {}
        assert scores(postings, terms) == pytest.approx(expected, rel=1e-5)


def test_long_texts_are_told_apart_as_in_lucene(tmp_path: Path) -> None:
    texts = [" ".join(["json"] + ["file"] * length) for length in (0, 1, 30, 39, 40, 41, 47, 48, 100, 999, 20_000)]
    assert scores(merged(tmp_path, [texts], [range(len(texts))]), ["json"]) == pytest.approx(
        by_tantivy(texts, ["json"])
    )


def test_what_was_merged_can_be_merged_again(tmp_path: Path) -> None:
    first = ["json parse", "json file", "retry", ""]
    merged(tmp_path / "one", [first], [range(4)])
    again = tmp_path / "again"
    (again / "new").mkdir(parents=True)
    (again / "rows").mkdir()
    building_postings.write_part(again / "new", ["json url"])
    lists = [Lists(tmp_path / "one" / "rows"), Lists(again / "new")]
    building_postings.merge_parts(again / "rows", lists, [np.array([0, 3]), np.array([0])])
    assert list(Lists(again / "rows").terms) == [NO_TERM, "json", "parse", "url"]  # nobody has "file" or "retry" now
    found = scores(Postings(again / "rows"), ["json", "retry"])
    assert found == pytest.approx(by_tantivy(["json parse", "", "json url"], ["json", "retry"]))


@pytest.mark.parametrize("k", [1, 2, 5, 64, 299, 5_000])
def test_the_best_come_first_and_equals_in_their_order(tmp_path: Path, k: int) -> None:
    texts = [" ".join(["json"] * (number % 5) + ["file"]) for number in range(2_000)]
    postings = merged(tmp_path, [texts], [range(len(texts))])
    every = scores(postings, ["json", "file"], len(texts))
    positions, _ = postings.nearest(["json", "file"], k)
    assert positions.tolist() == sorted(every, key=lambda row: (-every[row], row))[:k]


def test_only_rows_that_pass_are_found(tmp_path: Path) -> None:
    postings = merged(tmp_path, [["json", "json file", "file"]], [range(3)])
    positions, found = postings.nearest(["json"], 10, np.array([False, True, True]))
    assert positions.tolist() == [1]
    assert found.tolist() == [scores(postings, ["json"])[1]]
    assert len(postings.nearest(["json"], 10, np.zeros(3, dtype=np.bool_))[0]) == 0


@pytest.mark.parametrize(("terms", "k"), [([], 5), (["nowhere"], 5), (["json"], 0)])
def test_nothing_is_found_where_nothing_is_asked_for(tmp_path: Path, terms: list[str], k: int) -> None:
    positions, found = merged(tmp_path, [["json"]], [range(1)]).nearest(terms, k)
    assert len(positions) == len(found) == 0


def test_threads_do_not_add_to_each_others_sums(tmp_path: Path) -> None:
    texts = [" ".join(WORDS[number % 7 :]) for number in range(3_000)]
    postings = merged(tmp_path, [texts], [range(len(texts))])
    alone = {word: scores(postings, [word]) for word in WORDS}
    with ThreadPoolExecutor(8) as threads:
        for word, found in threads.map(lambda word: (word, scores(postings, [word])), WORDS * 100):
            assert found == alone[word]
