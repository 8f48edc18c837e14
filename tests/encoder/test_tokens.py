"""Text becomes bags of tokens and of listed pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lab.training.data import bags
from treeline.encoder.static import Tokenizer, identifier_parts

VOCABULARY = ["read", "csv", "file", "http", "response", "parse", "##s", "f", "##i", "##l", "##e"]
PAIRS = np.array([(0, 1), (0, 2), (2, 0), (5, 3)], dtype=np.uint16)  # read csv, read file, file read, parse http


def test_identifiers_are_split_and_lowered() -> None:
    assert identifier_parts("parseHTTPResponse read_csv MAX2") == [
        "parse",
        "http",
        "response",
        "read",
        "csv",
        "max",
        "2",
    ]


def test_a_word_that_is_not_in_the_vocabulary_falls_to_its_longest_pieces() -> None:
    tokenizer = Tokenizer(VOCABULARY)
    assert [tokenizer.vocabulary[number] for number in tokenizer.ids("files fil", 10)] == [
        "file",
        "##s",
        "f",
        "##i",
        "##l",
    ]


def test_words_of_another_script_still_get_a_token_of_their_own() -> None:
    tokenizer = Tokenizer(VOCABULARY, unknown=1000)
    left, right, same = (tokenizer.ids(text, 5) for text in ("文件", "字典", "文件"))
    assert left == same != right
    assert len(left) == 1


def test_listed_pairs_know_the_order_of_words() -> None:
    tokenizer = Tokenizer(VOCABULARY, PAIRS)
    forward, backward = bags(tokenizer, ["read file", "file read"], 10)
    assert set(forward.indices) != set(backward.indices)
    assert len(set(forward.indices) & set(backward.indices)) == 2


def test_pairs_that_are_not_listed_say_nothing() -> None:
    tokenizer = Tokenizer(VOCABULARY, PAIRS)
    csv_file, read_csv = bags(tokenizer, ["csv file", "read csv"], 10)
    assert csv_file.indices.tolist() == [1, 2]
    assert read_csv.indices.tolist() == [0, 1, len(VOCABULARY)]


def test_neighbours_are_of_one_text() -> None:
    first, second = bags(Tokenizer(VOCABULARY, PAIRS), ["read", "file"], 10)
    assert (first.indices.tolist(), second.indices.tolist()) == ([0], [2])


@given(st.text(alphabet="readcsvfil _X文1", max_size=60), st.sampled_from([0, 7, 1_000]))
def test_one_text_alone_has_the_same_bag(text: str, unknown: int) -> None:
    tokenizer = Tokenizer(VOCABULARY, PAIRS, unknown)
    row, alone = bags(tokenizer, [text], 20), tokenizer.bag(text, 20)
    assert alone.ids.tolist() == row.indices.tolist()
    assert alone.counts.tolist() == row.data.tolist()


def test_repetition_is_dampened() -> None:
    rows = bags(Tokenizer(VOCABULARY), ["read", "read read read"], 5)
    assert np.allclose(rows.toarray()[:, 0], np.log1p([1, 3]))


@given(st.lists(st.text(max_size=200), max_size=8), st.integers(1, 50))
def test_any_text_gives_a_bag_of_its_own_row(texts: list[str], limit: int) -> None:
    tokenizer = Tokenizer(VOCABULARY, PAIRS, 16)
    rows = bags(tokenizer, texts, limit)
    assert rows.shape == (len(texts), tokenizer.size)
    assert np.all(np.isfinite(rows.data))
    assert rows.has_sorted_indices
