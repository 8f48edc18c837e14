"""The dense lane: the functions nearest in meaning, by cosine between the encoder's vectors."""

from __future__ import annotations

from treeline.encoder.protocol import Encoder
from treeline.engine.hits import scores_of
from treeline.engine.protocol import Engine, Filters
from treeline.rerank.ranked_list import RankedList

LANE = "dense"


def dense_lane(
    engine: Engine, encoder: Encoder, text: str, k: int, filters: Filters, *, index_name: str, lane: str = LANE
) -> RankedList:
    """The nearest `k`; nothing when the encoder knows no word of the question."""
    vector = encoder.encode_queries([text])[0]
    if not vector.any():
        return RankedList(lane, [])
    hits = engine.knn(vector, k, filters, index_name)
    if encoder.usual is None or not len(hits):
        return RankedList(lane, hits)
    return RankedList(lane, hits, above=float(scores_of(hits)[0]) - encoder.usual)
