"""Questions that many functions answer about equally well: how many different solutions does the first page show?

Functions with the same name in several repositories and mostly the same words in their docstrings do the same thing.
The words of the name are the question. All answers of one repository are one solution, and so are copies of the same
code. A page of ten variants from one repository has the same NDCG@10 as ten solutions, but fewer solutions.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import click

from treeline.corpus.analysis import terms
from treeline.corpus.errors import InputError
from treeline.corpus.function import Function
from treeline.encoder.static import identifier_parts
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Metric
from treeline.eval.harness import Output, evaluation_settings, finish, output_options, run, summarise_index
from treeline.eval.metrics import count_distinct, ndcg, reciprocal_rank
from treeline.eval.systems import DEFAULT, Variant
from treeline.search.live import open_searcher
from treeline.service.cli import main
from treeline.service.cli.options import index_options

FIRST = 10
LEAST_ANSWERS = 10  # enough to fill a page
LEAST_REPOSITORIES = 4
LEAST_WORDS = 2  # per name: `run` or `main` says too little
COMMON = 0.5  # a docstring word in this share of the answers describes what they all do
SHARED = 0.5  # the share of those words that an answer's docstring must have
METRICS = (
    Metric("solutions_10", "distinct solutions@10", share=False),
    Metric("ndcg_10", "NDCG@10"),
    Metric("mrr", "MRR"),
    Metric("repositories_10", "repositories@10", share=False),
)
FUSED = Variant("diversity 0", "the fused order")


class Alternatives(NamedTuple):
    """A question, and the solution that each answer (by id) belongs to."""

    question: str
    solutions: Mapping[str, int]


def alternatives(functions: Iterable[Function]) -> list[Alternatives]:
    """The names that enough repositories use for the same thing, in alphabetical order."""
    by_name: dict[tuple[str, ...], list[tuple[str, str, int, frozenset[str]]]] = defaultdict(list)
    for one in functions:
        name = one.func_name.rpartition(".")[2]
        words = tuple(identifier_parts(name))
        if len(words) >= LEAST_WORDS and not name.startswith("_") and not name.startswith("test"):
            said = frozenset(terms(one.docstring.partition("\n\n")[0]))
            if said:
                by_name[words].append((one.id, one.repo, hash("".join(one.code.split())), said))
    results = []
    for words, group in sorted(by_name.items()):
        if len(group) < LEAST_ANSWERS or len({repo for _, repo, _, _ in group}) < LEAST_REPOSITORIES:
            continue
        counts = Counter(word for *_, said in group for word in said)
        common = frozenset(word for word, count in counts.items() if count >= COMMON * len(group))
        same = [one for one in group if common and len(common & one[3]) >= SHARED * len(common)]
        repos = {repo for _, repo, _, _ in same}
        if len(same) >= LEAST_ANSWERS and len(repos) >= LEAST_REPOSITORIES:
            results.append(Alternatives(" ".join(words), solutions([(id_, repo, code) for id_, repo, code, _ in same])))
    return results


def solutions(answers: Sequence[tuple[str, str, int]]) -> dict[str, int]:
    """The solution of each answer (id, repository, code): one per repository, and the same for copies."""
    of_repo: dict[str, int] = {}
    of_code: dict[int, int] = {}
    results = {}
    for id_, repo, code in answers:
        solution = of_repo.setdefault(repo, of_code.get(code, len(of_repo)))
        results[id_] = of_code.setdefault(code, solution)
    return results


def dataset(found: Sequence[Alternatives], count: int, seed: int, pool: str) -> DataSet:
    """A sample of the questions."""
    if not found:
        raise InputError(
            f"no name in {pool} has {LEAST_ANSWERS} documented answers in {LEAST_REPOSITORIES} repositories",
            "use a larger collection, such as CodeSearchNet",
        )
    sample = random.Random(seed).sample(found, min(count, len(found)))
    cases = [
        Case(f"#{number}", one.question, dict.fromkeys(one.solutions, 1.0)) for number, one in enumerate(sample, 1)
    ]
    by_id = {case.id: one.solutions for case, one in zip(cases, sample, strict=True)}
    return DataSet(
        name="alternatives",
        about="questions that functions of several repositories answer",
        cases=cases,
        metrics=METRICS,
        headline="solutions_10",
        measure=measure(by_id),
        depth=100,
        facts={
            "pool": pool,
            "answers a question": sum(len(one.solutions) for one in sample) / len(sample),
            "solutions a question": sum(len(set(one.solutions.values())) for one in sample) / len(sample),
            "names that qualify": float(len(found)),
            "seed": float(seed),
        },
    )


def measure(by_id: Mapping[str, Mapping[str, int]]) -> Callable[[Case, Sequence[Hit]], dict[str, float | None]]:
    def scores(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
        ids = [hit.id for hit in hits]
        known = by_id[case.id]
        return {
            "solutions_10": float(len({known[id_] for id_ in ids[:FIRST] if id_ in known})),
            "ndcg_10": ndcg(ids, case.relevance, FIRST),
            "mrr": reciprocal_rank(ids, case.relevant),
            "repositories_10": count_distinct([hit.address.repo for hit in hits]),
        }

    return scores


@click.command
@index_options
@click.option("--count", default=200, show_default=True, type=click.IntRange(1), help="How many questions.")
@click.option("--seed", default=1, show_default=True, help="Which of them.")
@output_options
def command(engine: str | None, name: str, count: int, seed: int, output: Output) -> None:
    """Questions with many near-equal answers: distinct solutions among the first ten, against the fused order."""
    searcher = open_searcher(evaluation_settings(engine, name))
    try:
        data = dataset(alternatives(searcher.engine.scan()), count, seed, f"index {searcher.info.name}")
        evaluation = run(data, searcher, (FUSED, DEFAULT), output.console)
        document = summarise_index(evaluation, searcher.info, FUSED.name)
    finally:
        searcher.close()
    finish(document, output)


if __name__ == "__main__":
    main(command)
