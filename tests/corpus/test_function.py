"""The record: what goes into its id, and how it travels between processes."""

import pickle
from dataclasses import replace

from tests.engine.functions import SAMPLE
from treeline.corpus.function import KINDS


def test_a_record_travels_between_processes_whole() -> None:
    for kind in KINDS:
        sent = replace(SAMPLE[0], kind=kind)
        received = pickle.loads(pickle.dumps(sent))
        assert received == sent
        assert received.kind == received.address.kind == kind


def test_the_kind_is_no_part_of_the_id() -> None:
    assert replace(SAMPLE[0], kind="class").id == SAMPLE[0].id
