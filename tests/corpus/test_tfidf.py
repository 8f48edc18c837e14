"""The TF-IDF matrix ranks like scikit-learn's own vectoriser, counts pairs of words, and knows no stranger."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.utils import murmurhash3_32

from treeline.corpus.tfidf import COLUMNS, build, columns, load

DOCUMENTS = [
    "read csv file line",
    "write csv file",
    "file read error csv",
    "sort list key",
    "list sort reverse key key",
    "parse url host",
]
IDS = [f"{number:032x}" for number in range(1, len(DOCUMENTS) + 1)]
LEAST = "akqlrggi"  # its hash is -2**31, which has no counterpart above zero in 32 bits
ROWS = list(zip(IDS, (text.split() for text in DOCUMENTS), strict=True))


def test_scores_are_those_of_the_reference() -> None:
    reference = TfidfVectorizer(analyzer="word", token_pattern=r"\S+", ngram_range=(1, 2), sublinear_tf=True)
    matrix = reference.fit_transform(DOCUMENTS)
    ours = load(build(ROWS))
    for question in ("read csv file", "sort list", "list sort reverse key key", "url"):
        expected = (matrix @ reference.transform([question]).T).toarray().ravel()
        found = dict(ours.search(question.split(), 10))
        assert found.keys() == {IDS[row] for row in np.flatnonzero(expected)}
        for row in np.flatnonzero(expected):
            # Halves are kept of the weights: three digits.
            assert abs(found[IDS[row]] - expected[row]) < 2e-3


def test_pairs_in_the_same_order_count_more() -> None:
    best, second, *_ = load(build(ROWS)).search(["sort", "list"], 5)
    assert (best[0], second[0]) == (IDS[3], IDS[4])
    assert best[1] > second[1]


def test_words_that_nobody_has_find_nothing() -> None:
    assert load(build(ROWS)).search(["zzyzx"], 5) == []
    assert load(build(ROWS)).search([], 5) == []
    assert load(build([])).search(["csv"], 5) == []


def test_no_more_than_asked_for_and_ties_in_order() -> None:
    same = [(f"{number:032x}", ["same", "words"]) for number in range(1, 20)]
    found = load(build(same)).search(["same"], 19)
    assert [id_ for id_, _ in found] == [id_ for id_, _ in same]
    assert len(load(build(same)).search(["same"], 5)) == 5


@given(st.lists(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=12), max_size=8))
@example([LEAST])
@settings(max_examples=200, deadline=None)
def test_a_question_is_hashed_as_scikit_learn_hashes_the_functions(terms: list[str]) -> None:
    hashing = HashingVectorizer(
        n_features=COLUMNS, ngram_range=(1, 2), token_pattern=r"\S+", lowercase=False, norm=None, alternate_sign=False
    )
    counts = hashing.transform([" ".join(terms)]).tocoo()
    assert columns(terms) == dict(zip(counts.col.tolist(), counts.data.tolist(), strict=True))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
@example(LEAST)
@settings(max_examples=500, deadline=None)
def test_a_column_is_scikit_learns_hash_without_its_sign(term: str) -> None:
    """Stored matrices were written with it."""
    assert list(columns([term])) == [abs(murmurhash3_32(term.encode(), seed=0)) % COLUMNS]


def test_columns_of_stored_matrices_stay_where_they_are() -> None:
    assert list(columns(["read", "csv", "café"])) == [1963999, 1953850, 1838856, 1744191, 2009486]


def test_half_a_surrogate_pair_is_refused_and_crashes_nothing() -> None:
    with pytest.raises(UnicodeEncodeError):
        columns(["\ud800"])
