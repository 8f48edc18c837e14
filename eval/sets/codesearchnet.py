"""CodeSearchNet's 99 questions (Husain et al. 2019): the official files and scores, and the paper's table repeated."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from treeline.corpus.errors import InputError, require_extra
from treeline.encoder.static import StaticEncoder
from treeline.engine.hits import Hit
from treeline.engine.protocol import Filters
from treeline.eval.dataset import Case, DataSet, Metric, System, evaluate
from treeline.eval.harness import (
    Output,
    choice_options,
    compare_variants,
    evaluation_settings,
    finish,
    measure_systems,
    output_options,
    summarise_index,
)
from treeline.eval.metrics import OFFICIAL_DEPTH, count_distinct, ndcg, official_ndcg, reciprocal_rank
from treeline.eval.report.document import Document, summarise
from treeline.eval.sets import runs
from treeline.eval.systems import DEFAULT, LaneCache
from treeline.ingest.download import fetch_queries
from treeline.ingest.source import ReadOptions
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.settings import Settings
from treeline.service.cli.options import index_options

QUERIES = "queries.csv"
ANNOTATIONS = "annotationStore.csv"
CHECKOUT_DATA = Path(__file__).resolve().parents[3] / "shared" / "codesearchnet"  # where a checkout may have them

METRICS = (
    Metric("ndcg_within", "NDCG within", detail=True),
    Metric("ndcg_all", "NDCG all", detail=True),
    Metric("ndcg_within_covered", "NDCG within, covered"),
    Metric("ndcg_all_covered", "NDCG all, covered"),
    Metric("ndcg_within_covered_list_10", "within, covered, list of 10", detail=True),
    Metric("ndcg_all_covered_list_10", "all, covered, list of 10"),
    Metric("ndcg_10_covered", "NDCG@10, covered", detail=True),
    Metric("mrr_covered", "MRR, covered"),
    Metric("repositories_10", "repositories among ten", share=False),
)

# language → query → URL → mean relevance over the annotators
Judgements = Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Judged URLs in the index, and queries with a relevant one there."""

    judged: int
    present: int
    queries: int
    with_answer: int


def data_folder(path: str = "") -> Path:
    """The folder with the functions and the official files: `given`, else the one beside the checkout."""
    if path:
        return Path(path)
    if CHECKOUT_DATA.is_dir():
        return CHECKOUT_DATA
    raise InputError(
        "no CodeSearchNet data", f"give --data a folder with {QUERIES} and {ANNOTATIONS}, or put it at {CHECKOUT_DATA}"
    )


def annotation_folder(path: str, settings: Settings) -> Path:
    """The folder with the two official files: `given`, `TREELINE_EVAL_DATA`, beside the checkout, or downloaded now."""
    if path or settings.eval_data:
        return Path(path or settings.eval_data).expanduser()
    if CHECKOUT_DATA.is_dir():
        return CHECKOUT_DATA
    return fetch_queries(ReadOptions(cache=settings.cache_path, download_base=settings.codesearchnet))


def read_queries(path: Path) -> list[str]:
    """The questions of the official `queries.csv`, in its order."""
    rows = list(_rows(path, ("query",)))
    queries = [row["query"].strip() for row in rows if row["query"].strip()]
    if not queries:
        raise InputError(f"{path} has no queries", "it should be the official queries.csv, one query a line")
    return list(dict.fromkeys(queries))


def read_judgements(path: Path) -> Judgements:
    """The official `annotationStore.csv`: the mean relevance of each URL, by language and query."""
    votes: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for number, row in enumerate(_rows(path, ("Language", "Query", "GitHubUrl", "Relevance")), start=2):
        try:
            vote = float(row["Relevance"])
        except (TypeError, ValueError):
            raise InputError(f"{path}, record {number}: relevance {row['Relevance']!r} is not a number") from None
        votes[row["Language"].strip().lower(), row["Query"].strip(), row["GitHubUrl"].strip()].append(vote)
    if not votes:
        raise InputError(f"{path} has no annotations")
    means: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for (language, query, url), values in votes.items():
        means[language][query][url] = sum(values) / len(values)
    return means


def dataset(
    queries: Sequence[str], judgements: Judgements, languages: Collection[str], is_indexed: Callable[[str], bool]
) -> DataSet:
    """One case per query and language with judgements; `indexed` says whether a URL is in the index."""
    unknown = sorted({query for language in languages for query in judgements.get(language, {})} - set(queries))
    if unknown:
        raise InputError(
            f"{len(unknown)} annotated queries are not in the query file, the first is {unknown[0]!r}",
            "give the queries.csv and annotationStore.csv of the same release",
        )
    cases, in_index, facts = [], {}, {}
    for language in sorted(languages):
        by_query = judgements.get(language, {})
        if not by_query:
            continue
        for number, query in enumerate(queries, start=1):
            relevance = by_query.get(query, {})
            if not relevance:
                continue
            case = Case(f"{language} #{number}", query, relevance, Filters(language=language), language)
            cases.append(case)
            in_index[case.id] = {url: value for url, value in relevance.items() if is_indexed(url)}
        coverage = coverage_of(by_query, is_indexed)
        facts[f"{language}: judged URLs"] = float(coverage.judged)
        facts[f"{language}: judged URLs in the index"] = float(coverage.present)
        facts[f"{language}: queries"] = float(coverage.queries)
        facts[f"{language}: queries with a relevant URL in the index"] = float(coverage.with_answer)
    if not cases:
        raise InputError(f"no annotated query is in {', '.join(sorted(languages)) or 'any language of the index'}")
    if not any(in_index.values()):
        raise InputError(
            "no judged URL is in this index", "index CodeSearchNet first: treeline index codesearchnet:DIR"
        )
    return DataSet(
        name="codesearchnet",
        about="CodeSearchNet's 99 questions with the official human relevance judgements",
        cases=cases,
        metrics=METRICS,
        headline="ndcg_all_covered",
        measure=lambda case, hits: measure(case, in_index[case.id], hits),
        depth=OFFICIAL_DEPTH,
        facts=facts,
        notes=(
            "Covered counts only judged URLs that are in the index; all counts every result, within only the judged.",
        ),
    )


def measure(case: Case, in_index: Mapping[str, float], hits: Sequence[Hit]) -> dict[str, float | None]:
    """Every measure of one answer; official ones over all judged URLs, covered ones over those in the index."""
    urls = [hit.address.url for hit in hits]
    relevant = {url for url, value in in_index.items() if value > 0}
    return {
        "ndcg_within": official_ndcg(urls, case.relevance, within=True),
        "ndcg_all": official_ndcg(urls, case.relevance, within=False),
        "ndcg_within_covered": official_ndcg(urls, in_index, within=True),
        "ndcg_all_covered": official_ndcg(urls, in_index, within=False),
        "ndcg_within_covered_list_10": official_ndcg(urls, in_index, within=True, depth=10),
        "ndcg_all_covered_list_10": official_ndcg(urls, in_index, within=False, depth=10),
        "ndcg_10_covered": ndcg(urls, in_index, 10, gain="exponential"),
        "mrr_covered": reciprocal_rank(urls, relevant) if relevant else None,
        "repositories_10": count_distinct([hit.address.repo for hit in hits]),
    }


def coverage_of(by_query: Mapping[str, Mapping[str, float]], is_indexed: Callable[[str], bool]) -> Coverage:
    present = {
        query: {url: value for url, value in urls.items() if is_indexed(url)} for query, urls in by_query.items()
    }
    return Coverage(
        judged=sum(map(len, by_query.values())),
        present=sum(map(len, present.values())),
        queries=len(by_query),
        with_answer=sum(any(value > 0 for value in urls.values()) for urls in present.values()),
    )


def _rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = set(columns) - set(reader.fieldnames or ())
            if missing:
                raise InputError(f"{path} has no column {', '.join(sorted(missing))}", "is it the official file?")
            yield from reader
    except FileNotFoundError:
        raise InputError(f"{path} is not there", "give --data a folder with the official files") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


@click.command("codesearchnet")
@index_options
@click.option(
    "--data", metavar="DIR", default="", help="Folder with queries.csv and annotationStore.csv; default: downloaded."
)
@click.option("--score", metavar="FILE", default="", help="Score an official predictions CSV instead of an index.")
@click.option("--paper", "repeat_paper", is_flag=True, help="Repeat the paper's table, in its set-up and in ours.")
@click.option(
    "--nbow",
    metavar="FOLDER",
    default="",
    help="For --paper: a model of `python -m lab.train nbow`; without it, its row is left out.",
)
@click.option("--predictions", metavar="FILE", default="", help="Write the default's model_predictions.csv.")
@click.option("--trec", metavar="DIR", default="", help="Write TREC run and qrels files there.")
@choice_options
@output_options
def command(
    engine: str | None,
    name: str,
    data: str,
    score: str,
    repeat_paper: bool,
    nbow: str,
    predictions: str,
    trec: str,
    compare: bool,
    ablate: bool,
    output: Output,
) -> None:
    """CodeSearchNet's 99 questions, with the official NDCG."""
    if trec:
        require_extra("eval")
    settings = evaluation_settings(engine, name)
    folder = annotation_folder(data, settings)
    queries = read_queries(folder / QUERIES)
    judgements = read_judgements(folder / ANNOTATIONS)
    if score:
        score_file(Path(score), queries, judgements, output)
        return
    with closing(open_searcher(settings)) as searcher:
        languages = searcher.engine.facets()["language"]
        urls = {address.url for _, address in searcher.engine.addresses()}
        cases = dataset(queries, judgements, set(languages), urls.__contains__)
        if repeat_paper:
            document = _paper(cases, searcher, nbow, output.console)
        else:
            document = compare_variants(cases, searcher, compare, ablate, output.console)
        write_runs(cases, LaneCache(searcher).system(DEFAULT), predictions, trec, output.console)
    finish(document, output)


def _paper(cases: DataSet, searcher: LiveSearcher, nbow: str, console: Console) -> Document:
    """The paper's table."""
    from treeline.eval.sets import paper

    words = StaticEncoder(Path(nbow).expanduser()) if nbow else None
    systems = paper.systems(searcher, searcher.engine, words)
    evaluation = paper.mean_over_seeds(measure_systems(paper.lists_of_ten(cases), systems, console))
    return paper.with_table(summarise_index(evaluation, searcher.info, "Elasticsearch"))


def write_runs(dataset: DataSet, system: System, predictions: str, trec: str, console: Console) -> None:
    """Write the official predictions and TREC files of one system."""
    if not predictions and not trec:
        return
    run = [(case, system.answer(case, dataset.depth).hits) for case in dataset.cases]
    try:
        if predictions:
            runs.write_predictions(Path(predictions), run)
        if trec:
            Path(trec).mkdir(parents=True, exist_ok=True)
            ranking, qrels = (Path(trec) / f"{dataset.name}.{kind}" for kind in ("run", "qrels"))
            runs.write_trec_run(ranking, run, "treeline")
            runs.write_trec_qrels(qrels, dataset.cases)
            measures = runs.standard_measures(ranking, qrels)
            console.print(
                f"ir-measures on {trec}: {', '.join(f'{name} {value:.3f}' for name, value in measures.items())}"
            )
    except OSError as error:
        raise InputError(f"{error.filename} cannot be written: {error.strerror}") from None


def score_file(path: Path, queries: list[str], judgements: Judgements, output: Output) -> None:
    """Score a predictions file; without an index every judged URL counts as covered."""
    predictions = runs.read_predictions(path, queries)
    languages = {language for language, _ in predictions.addresses}
    data = dataset(queries, judgements, languages, lambda url: True)
    if predictions.duplicates:
        output.console.print(f"{predictions.duplicates} repeated URLs were counted once", style="yellow")
    document = summarise(evaluate(data, [predictions.system(path.name)]), baseline="")
    finish({**document, "dataset": "codesearchnet-file"}, output)
