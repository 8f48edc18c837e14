"""What every engine must give back: records, vectors, counts, artifacts. One suite, both engines."""

from collections import Counter
from functools import partial

import numpy as np
import pytest

from tests.engine.functions import ENCODER, OTHER_ENCODER, SAMPLE, build, function, terms_of, vectors, write
from treeline.corpus.analysis import terms
from treeline.corpus.errors import InputError
from treeline.engine.patterns import exactly
from treeline.engine.protocol import Engine, Filters, Store


def test_fetch_gives_whole_records_in_the_order_asked(engine: Engine) -> None:
    wanted = [SAMPLE[4], SAMPLE[0], SAMPLE[2]]
    assert engine.fetch([one.id for one in wanted]) == wanted


def test_fetch_leaves_out_what_is_not_there(engine: Engine) -> None:
    assert engine.fetch(["0" * 32, SAMPLE[1].id, "no id at all", ""]) == [SAMPLE[1]]
    assert engine.fetch([]) == []


def test_code_that_differs_from_the_original_is_kept_apart(store: Store, name: str) -> None:
    from dataclasses import replace

    stripped = replace(SAMPLE[0], original_string='def parse_json(text):\n    """Doc."""\n    return loads(text)\n')
    build(store, name, [stripped])
    engine = store.open(name)
    assert engine.fetch([stripped.id]) == [stripped]


def test_vectors_come_back_by_id_with_zeros_for_unknown_ids(engine: Engine) -> None:
    rows = engine.vectors([SAMPLE[2].id, "0" * 32, SAMPLE[0].id])
    expected = vectors(SAMPLE)
    assert rows.shape == (3, ENCODER.dimension)
    np.testing.assert_allclose(rows[0], expected[2], atol=0.01)
    np.testing.assert_allclose(rows[2], expected[0], atol=0.01)
    assert not rows[1].any()
    assert engine.vectors([]).shape == (0, ENCODER.dimension)


def test_locate_keeps_the_order(engine: Engine) -> None:
    ids = [SAMPLE[3].id, "0" * 32, SAMPLE[0].id]
    assert [hit.id for hit in engine.locate(ids)] == [ids[0], ids[2]]


def test_everything_is_counted(engine: Engine) -> None:
    assert engine.count() == engine.info.functions == len(SAMPLE)
    facets = engine.facets()
    for field in ("language", "repo", "partition", "kind"):
        assert facets[field] == Counter(getattr(one, field) for one in SAMPLE)


def test_addresses_and_scan_go_through_everything_in_one_order(engine: Engine) -> None:
    assert list(engine.addresses()) == [(one.id, one.address) for one in SAMPLE]
    assert list(engine.scan()) == list(SAMPLE)


def test_addresses_may_be_those_of_one_file(engine: Engine) -> None:
    path = SAMPLE[-1].path
    expected = [(one.id, one.address) for one in SAMPLE if one.path == path]
    assert list(engine.addresses(Filters(path=exactly(path)))) == expected
    assert len(expected) < len(SAMPLE)


def test_scanning_goes_on_over_many_pages(store: Store, name: str) -> None:
    many = [function(f"f{number}", path=f"{number % 7}.py", line=number + 1) for number in range(2_345)]
    build(store, name, many)
    engine = store.open(name)
    assert [id for id, _ in engine.addresses()] == [one.id for one in many]
    assert [one.id for one in engine.scan()] == [one.id for one in many]
    assert len(engine.fetch([one.id for one in many])) == len(many)


def test_info_says_what_the_index_is_made_of(engine: Engine, name: str) -> None:
    info = engine.info
    assert (info.name, info.generation, info.encoders) == (name, "000001", (ENCODER,))
    assert info.engine in {"embedded", "elasticsearch"}
    assert info.created


def test_artifacts_come_back_whatever_their_size(store: Store, name: str) -> None:
    large = np.random.default_rng(1).bytes(3_500_000)
    with store.begin(name, [ENCODER], "f") as writer:
        write(writer, SAMPLE)
        writer.put_artifact("tree", b"small")
        writer.put_artifact("tree", large)
        writer.put_artifact("empty", b"")
        writer.publish()
    engine = store.open(name)
    for artifact in (engine.artifact, partial(store.artifact, name)):
        assert artifact("tree") == large
        assert artifact("empty") == b""
        assert artifact("nothing") is None
    for start, length in ((0, 10), (1_048_570, 12), (2_000_000, 1_500_000), (3_499_990, 100)):
        assert engine.artifact_part("tree", start, length) == large[start : start + length]
    assert engine.artifact_part("nothing", 0, 1) is None
    assert engine.count() == len(SAMPLE)


def test_a_shorter_artifact_replaces_a_longer_one(store: Store, name: str) -> None:
    with store.begin(name, [ENCODER], "f") as writer:
        write(writer, SAMPLE)
        writer.put_artifact("tree", b"x" * 2_500_000)
        writer.publish()
    with store.begin(name, [ENCODER], "g") as writer:
        writer.put_artifact("tree", b"y")
        writer.publish()
    engine = store.open(name)
    assert engine.artifact("tree") == b"y"


def test_an_index_may_have_several_encoders(store: Store, name: str) -> None:
    with store.begin(name, [ENCODER, OTHER_ENCODER], "f") as writer:
        writer.write(
            SAMPLE,
            terms_of(SAMPLE),
            {ENCODER.name: vectors(SAMPLE), OTHER_ENCODER.name: vectors(SAMPLE, OTHER_ENCODER.dimension)},
        )
        info = writer.publish()
    assert info.encoders == (ENCODER, OTHER_ENCODER)
    engine = store.open(name)
    assert engine.knn(vectors(SAMPLE, 8)[3], 1, encoder="other")[0].id == SAMPLE[3].id
    assert engine.knn(vectors(SAMPLE)[3], 1)[0].id == SAMPLE[3].id


def test_an_encoder_can_be_added_later_and_the_others_stay(store: Store, name: str) -> None:
    build(store, name)
    with store.begin(name, [OTHER_ENCODER, ENCODER], "g") as writer:
        writer.write(
            SAMPLE[:2], terms_of(SAMPLE[:2]), {"other": vectors(SAMPLE[:2], 8), "made-up": vectors(SAMPLE[:2])}
        )
        writer.publish()
    engine = store.open(name)
    assert engine.info.encoders == (OTHER_ENCODER, ENCODER)
    assert {hit.id for hit in engine.knn(vectors(SAMPLE, 8)[0], 10)} == {SAMPLE[0].id, SAMPLE[1].id}
    assert engine.knn(vectors(SAMPLE)[5], 1, encoder="made-up")[0].id == SAMPLE[5].id


def test_an_index_without_an_encoder_is_searched_by_keyword(store: Store, name: str) -> None:
    with store.begin(name, [], "f") as writer:
        writer.write(SAMPLE, terms_of(SAMPLE), {})
        writer.publish()
    engine = store.open(name)
    assert engine.info.encoders == ()
    assert engine.keyword(terms("parse json"), 1)[0].id == SAMPLE[0].id
    with pytest.raises(InputError, match="no vectors"):
        engine.knn(vectors(SAMPLE)[0], 3)


def test_a_function_without_a_vector_is_found_by_keyword_and_never_by_knn(store: Store, name: str) -> None:
    rows = vectors(SAMPLE)
    rows[0] = 0
    with store.begin(name, [ENCODER], "f") as writer:
        writer.write(SAMPLE, terms_of(SAMPLE), {ENCODER.name: rows})
        writer.publish()
    engine = store.open(name)
    assert engine.keyword(terms("parse json"), 1)[0].id == SAMPLE[0].id
    found = {hit.id for hit in engine.knn(rows[1], 10)}
    assert found == {one.id for one in SAMPLE[1:]}
    assert not engine.vectors([SAMPLE[0].id]).any()


def test_what_cannot_be_written_is_reported_one_by_one_and_the_rest_goes_in(store: Store, name: str) -> None:
    broken = function("half", docstring="a lone surrogate: \ud800")
    with store.begin(name, [ENCODER], "f") as writer:
        assert write(writer, [SAMPLE[0], broken, SAMPLE[1]]) == 2
        assert [id for id, _ in writer.rejected] == [broken.id]
        assert "Unicode" in writer.rejected[0][1]
        assert writer.publish().functions == 2
    engine = store.open(name)
    assert engine.vectors([SAMPLE[1].id]) == pytest.approx(vectors(SAMPLE[:2])[1:], abs=0.01)


def test_odd_texts_go_in_and_come_back(store: Store, name: str) -> None:
    odd = [
        function("nul", docstring="a\0b", code="x = '\0'"),
        function("emoji", docstring="🐍" * 50, path="src/日本語/😀.py"),
        function("rtl", docstring="שלום עולם"),
        function("", path="", repo="r", docstring=""),
        function("long_word", code="x" * 100_000),
        function("long_text", code="def f(): pass\n" * 20_000),
    ]
    with store.begin(name, [ENCODER], "f") as writer:
        write(writer, odd)
        assert writer.rejected == []
        writer.publish()
    engine = store.open(name)
    assert engine.fetch([one.id for one in odd]) == odd
    assert engine.count(Filters(path="src/日本")) == 1
