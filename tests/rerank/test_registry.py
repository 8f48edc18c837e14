"""What every re-ranker promises: the same candidates, annotated, whatever the list."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.trees import address
from tests.rerank.candidates import CONTEXT, LISTS, ranked
from treeline.corpus.errors import InputError
from treeline.rerank.candidates import Candidate, Contribution
from treeline.rerank.fusion import fusion
from treeline.rerank.methods import METHODS as CONSTRUCTORS
from treeline.rerank.methods import RerankOptions
from treeline.rerank.registry import DEFAULT, NAMES, reranker

METHODS = [name for name in NAMES if name != "cross-encoder"]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(METHODS), LISTS)
def test_every_method_keeps_every_candidate_and_its_score(name: str, candidates: list[Candidate]) -> None:
    found = reranker(name)(candidates, CONTEXT)
    assert sorted(candidate.id for candidate in found) == sorted(candidate.id for candidate in candidates)
    assert {c.id: (c.address, c.score) for c in found} == {c.id: (c.address, c.score) for c in candidates}
    places = {candidate.id: place for place, candidate in enumerate(candidates)}
    assert all(places[candidate.id] - candidate.moved == place for place, candidate in enumerate(found))


@pytest.mark.parametrize("name", METHODS)
def test_the_same_question_gives_the_same_order(name: str) -> None:
    random = np.random.default_rng(2)
    candidates = ranked(
        [address(f"o/r{random.integers(9)}", f"d{random.integers(3)}/f.py", f"f{i}") for i in range(80)]
    )
    once = reranker(name)(candidates, CONTEXT)
    assert once == reranker(name)(candidates, CONTEXT)


def test_an_unknown_name_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(InputError, match="'algorithm3'") as method:
        reranker("algorithm3")
    with pytest.raises(InputError, match="'rff'") as lists:
        fusion("rff")
    assert "algorithm1" in method.value.hint and "algorithm3" in method.value.message
    assert "rrf" in lists.value.hint and "rff" in lists.value.message


def test_default_stands_for_one_of_the_names() -> None:
    assert DEFAULT in NAMES
    assert reranker("default") == reranker(DEFAULT)


def test_none_leaves_the_list_as_it_is() -> None:
    candidates = ranked([address("o/r", "f.py", f"f{i}") for i in range(120)])
    found = reranker("none")(candidates, CONTEXT)
    assert [candidate.id for candidate in found] == [candidate.id for candidate in candidates]


def test_fewer_clusters_give_fewer_repositories() -> None:
    random = np.random.default_rng(3)
    candidates = ranked([address(f"o/r{random.integers(30)}", "d/f.py", f"f{i}") for i in range(100)])

    def repositories(clusters: int) -> int:
        found = reranker("algorithm1", RerankOptions(clusters=clusters))(candidates, CONTEXT)
        return len({candidate.address.repo for candidate in found[:clusters]})

    assert repositories(3) <= repositories(10) <= repositories(20)


def test_the_default_takes_milliseconds_for_a_hundred() -> None:
    random = np.random.default_rng(4)
    candidates = [
        candidate._replace(
            contributions=(Contribution("keyword", i + 1, 20 - i / 10, 0.01), Contribution("dense", i + 1, 0.5, 0.02)),
        )
        for i, candidate in enumerate(
            ranked(
                [
                    address(f"o/r{random.integers(40)}", f"src/d{random.integers(3)}/f{i % 9}.py", f"C.f{i}")
                    for i in range(100)
                ]
            )
        )
    ]
    method, context = reranker(), CONTEXT
    times = []
    for _ in range(30):
        start = time.thread_time()  # the time of this work alone, whatever else the machine does
        method(candidates, context)
        times.append(time.thread_time() - start)
    assert min(times) < 0.03  # one or two on a quiet core; what compares all with all in Python takes a hundred


WITHOUT_HEAVY = """
import sys
from tests.graph.trees import address
from tests.rerank.candidates import ranked
from treeline.rerank.candidates import RerankContext
from treeline.rerank.registry import NAMES, reranker

candidates = ranked([address(f"o/r{n % 7}", f"src/f{n % 5}.py", f"f{n}") for n in range(30)])
for name in NAMES.keys() - {"cross-encoder"}:
    assert len(reranker(name)(candidates, RerankContext("sort a list"))) == 30
print(sorted({"torch", "sklearn", "scipy", "geoopt", "sentence_transformers"} & sys.modules.keys()))
"""


def test_no_method_but_the_cross_encoder_waits_for_a_large_library() -> None:
    """The first request for one took 4 to 39 s in a worker, to import scikit-learn."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_has_a_constructor() -> None:
    assert NAMES.keys() == CONSTRUCTORS.keys()
