"""The cross-encoder: a real one, small and untrained, read from a folder by sentence-transformers itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, ranked
from tests.search.small_index import NAME, shipped, small_store
from treeline.corpus import hub
from treeline.corpus.errors import InputError
from treeline.rerank.candidates import Candidate, RerankContext
from treeline.rerank.cross_encoder import CrossEncoding, load
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.search.settings import Settings

pytestmark = pytest.mark.transformers
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] sort list parse json read file a the def return value".split()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A BERT of one layer that scores a pair of texts."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("cross-encoder")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(str(folder))
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    config.num_labels = 1
    config.initializer_range = 1.0
    transformers.BertForSequenceClassification(config).save_pretrained(str(folder))
    return str(folder)


def test_it_moves_the_top_by_the_models_scores_and_leaves_the_rest(model: str) -> None:
    """Functions that were found about equally well go by the model; one found far better stays above them."""
    texts = ["sort a list", "parse json", "read the file"]
    scores = load(model).predict([("sort list", text) for text in texts]).tolist()
    assert len(set(scores)) == 3
    best_first = sorted(range(3), key=lambda i: -scores[i])
    near = ranked([address("o/a", "f.py", f"f{i}") for i in range(4)])

    def found(fused: Sequence[float]) -> Sequence[Candidate]:
        candidates = [one._replace(score=score) for one, score in zip(near, fused, strict=True)]
        return CrossEncoding(model, depth=3)(candidates, RerankContext("sort list", texts=lambda ids: texts))

    even = found([0.9, 0.9, 0.9, 0.1])
    assert [candidate.id for candidate in even] == [*(f"id{i}" for i in best_first), "id3"]
    assert even[0].reason == f"cross-encoder score {max(scores):.3f}"
    far_ahead = [0.1, 0.1, 0.1, 0.0]
    far_ahead[best_first[-1]] = 0.9
    assert [candidate.id for candidate in found(far_ahead)] == [f"id{i}" for i in [best_first[-1], *best_first[:2], 3]]


def test_a_search_uses_the_model_and_the_depth_of_the_settings(model: str, tmp_path: Path) -> None:
    settings = Settings(cross_encoder=model, cross_encoder_depth=2)
    searcher = Searcher(small_store(tmp_path).open(NAME), {shipped().name: shipped()}, settings)
    found = searcher.search(Query("parse json", rerank="cross-encoder"))
    searcher.close()
    assert ["cross-encoder score" in result.candidate.reason for result in found.results[:3]] == [True, True, False]


def test_a_model_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can be loaded"):
        CrossEncoding(str(tmp_path))(
            ranked([address("o/a", "f.py", "f")]), RerankContext("q", texts=lambda ids: ["text"])
        )


def test_without_texts_it_says_so() -> None:
    with pytest.raises(InputError, match="text"):
        CrossEncoding()(ranked([address("o/a", "f.py", "f")]), CONTEXT)
    assert CrossEncoding()([], CONTEXT) == []


def test_a_hub_that_is_away_leaves_the_list_as_it_was_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(hub, "answers", lambda: False)
    settings = Settings(cross_encoder="nobody/has-this")
    searcher = Searcher(small_store(tmp_path).open(NAME), {shipped().name: shipped()}, settings)
    plain = searcher.search(Query("parse json", rerank="none"))
    found = searcher.search(Query("parse json", rerank="cross-encoder"))
    searcher.close()
    assert [one.function.id for one in found.results] == [one.function.id for one in plain.results]
    [left_out] = found.degraded
    assert left_out.lane == "rerank cross-encoder"
    assert "the model hub does not answer" in left_out.reason
