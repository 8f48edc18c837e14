"""The paper's set-up over a real index: its search, its lists, its clusters, and the mean over seeds."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.encoder.functions import function
from treeline.corpus.analysis import analyse
from treeline.encoder.static import StaticEncoder
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit
from treeline.engine.protocol import NO_FILTERS, Engine, Filters
from treeline.eval.dataset import Case, DataSet, Metric, Ranking, System, evaluate
from treeline.eval.metrics import reciprocal_rank
from treeline.eval.sets import paper
from treeline.graph import tree as trees
from treeline.search.artifacts import obtain
from treeline.search.live import LiveSearcher

CASE = Case("q", "return the median of data", {})


def ids(system: System) -> list[str]:
    return [hit.id for hit in system.answer(CASE, 10).hits]


def by_name(searcher: LiveSearcher) -> dict[str, list[System]]:
    rows: dict[str, list[System]] = {}
    for system in paper.PaperSystems(searcher.engine).systems():
        rows.setdefault(system.name, []).append(system)
    return rows


def test_every_row_answers_with_ten_at_most_and_chance_has_several_seeds(searcher: LiveSearcher) -> None:
    rows = by_name(searcher)
    assert set(paper.REPORTED) - {paper.NBOW} <= set(rows)
    for name, systems in rows.items():
        assert len(systems) == (1 if name == "Elasticsearch" else paper.SEEDS), name
        for system in systems:
            assert 0 < len(ids(system)) <= paper.LIST, name


def test_only_the_top_ten_are_shuffled(searcher: LiveSearcher) -> None:
    rows = by_name(searcher)
    plain = ids(rows["Elasticsearch"][0])
    shuffled = [ids(system) for system in rows["Elasticsearch, randomised"]]
    assert all(sorted(order) == sorted(plain) for order in shuffled)
    assert len({tuple(order) for order in shuffled}) > 1


class Written:
    """An engine that notes what it is asked for, and finds one hit for each."""

    def __init__(self, engine: Engine) -> None:
        self.hits = list(engine.locate([id_ for id_, _ in engine.addresses()]))
        self.asked: list[tuple[str, int]] = []

    def as_written(self, text: str, k: int, filters: Filters, *, fuzziness: int = 0) -> Sequence[Hit]:
        self.asked.append((text, fuzziness))
        return [self.hits[len(self.asked)]]


def test_a_search_that_finds_little_is_relaxed_to_one_edit_and_then_to_chunks(searcher: LiveSearcher) -> None:
    engine = Written(searcher.engine)
    found = paper.retrieve(engine, "sort a list", NO_FILTERS)  # type: ignore[arg-type]
    assert engine.asked[:2] == [("sort a list", 0), ("sort a list", 1)]
    assert {text for text, _ in engine.asked[2:]} >= {"sort", "a", "list"}
    assert len(found) == len(engine.asked)


def test_each_function_has_its_place_in_both_trees(searcher: LiveSearcher) -> None:
    whole = paper.WholeTree.of(searcher.engine)
    stored = obtain(searcher.engine, "tree")
    assert stored is not None
    leaves = trees.load(stored).leaves  # classes of one name in one file are one node
    for which in paper.TREES:
        places = whole.places(which, list(leaves))
        assert len({tuple(place) for place in places.x.tolist()}) == len(set(leaves.values())), which
        assert (places.gap > 0).all() and (places.gap < 1).all()


def test_the_score_is_the_mean_over_the_seeds(searcher: LiveSearcher) -> None:
    hits = searcher.engine.keyword(["median"], 2)
    case = Case("q", "median", {hits[0].id: 1.0})
    data = DataSet(
        name="tiny",
        about="",
        cases=[case],
        metrics=[Metric("mrr", "MRR")],
        headline="mrr",
        measure=lambda case, found: {"mrr": reciprocal_rank([hit.id for hit in found], case.relevant)},
        depth=300,
    )
    first = System("row", "", lambda case, depth: Ranking([hits[0], hits[1]]))
    second = System("row", "", lambda case, depth: Ranking([hits[1], hits[0]]))
    merged = paper.mean_over_seeds(evaluate(data, [first, second]))
    assert [measured.values["mrr"]["q"] for measured in merged.systems] == [0.75]
    late = System("late", "", lambda case, depth: Ranking([*[hits[1]] * 10, hits[0]]))
    cut = evaluate(paper.lists_of_ten(data), [late])
    assert cut.systems[0].values["mrr"]["q"] == 0


@pytest.fixture
def farm(tmp_path: Path) -> Engine:
    """An index of documented functions, some of each partition."""
    functions = [
        function(
            f"feed_{animal}_{number}", f"Feed the {animal} number {number}.", f"def f(): {animal}.eat()", part, part
        )
        for part in ("train", "valid", "test")
        for animal in ("cat", "dog", "sheep")
        for number in range(8)
    ]
    functions = [replace(one, url=f"https://example.org/{one.func_name}/{one.repo}") for one in functions]
    store = EmbeddedStore(tmp_path / "home")
    with store.begin("farm", [], "f", fresh=True) as writer:
        writer.write(functions, [analyse(one) for one in functions], {})
        writer.publish()
    return store.open("farm")


@pytest.mark.transformers
def test_a_bag_of_words_ranks_by_its_vectors_and_the_language(farm: Engine, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    from lab.training.nbow import train_nbow

    train_nbow([one for one in farm.scan() if one.partition != "test"], tmp_path / "nbow")
    system = paper.NbowSystem(StaticEncoder(tmp_path / "nbow"), farm)
    ranked = system.answer(Case("q", "feed the dog", {}), 10).hits
    assert {hit.address.func_name.split("_")[1] for hit in ranked} == {"dog"}
    assert [hit.score for hit in ranked] == sorted((hit.score for hit in ranked), reverse=True)
    assert system.answer(Case("q", "feed the dog", {}, Filters(language="python")), 10).hits == ranked


@pytest.mark.parametrize("seed", range(5))
def test_k_means_is_as_tight_as_scikit_learns(seed: int) -> None:
    """Overlapping groups of uneven size: four clear-cut ones are found by nearly anything."""
    from sklearn.cluster import KMeans

    random = np.random.default_rng(seed)
    centres = random.normal(size=(9, 2)) * 2
    points = centres[random.choice(9, 120, p=np.arange(1, 10) / 45)] + random.normal(size=(120, 2))
    labels = paper.lloyd(points, 8, seed)
    spread = sum(((points[labels == one] - points[labels == one].mean(axis=0)) ** 2).sum() for one in set(labels))
    assert spread <= 1.1 * KMeans(8, n_init=10, random_state=0).fit(points).inertia_
