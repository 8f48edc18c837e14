"""Rankings as files: the official `model_predictions.csv`, and TREC run and qrels files."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, Ranking, System
from treeline.eval.metrics import OFFICIAL_DEPTH

PREDICTION_COLUMNS = ("query", "language", "identifier", "url")


@dataclass(frozen=True, slots=True)
class Predictions:
    """A run from a file: (language, query) → addresses, best first, and the number of repeated rows."""

    addresses: Mapping[tuple[str, str], Sequence[Address]]
    duplicates: int

    def system(self, name: str) -> System:
        def answer(case: Case, depth: int) -> Ranking:
            ranking = self.addresses.get((case.filters.language, case.text), ())[:depth]
            return Ranking([Hit(address.url, 1.0 / rank, address) for rank, address in enumerate(ranking, start=1)])

        return System(name, "read from a file of predictions", answer)


def write_predictions(path: Path, run: Iterable[tuple[Case, Sequence[Hit]]]) -> int:
    """Write the official CSV, each URL once per query, at most 300; returns the number of rows."""
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(PREDICTION_COLUMNS)
        for case, hits in run:
            places = {hit.address.url: hit.address for hit in reversed(hits)}
            for url in dict.fromkeys(hit.address.url for hit in hits[:OFFICIAL_DEPTH]):
                writer.writerow((case.text, places[url].language, places[url].func_name, url))
                rows += 1
    return rows


def read_predictions(path: Path, queries: Collection[str]) -> Predictions:
    """Read the official CSV; refuses unknown queries and empty files."""
    addresses: dict[tuple[str, str], dict[str, Address]] = defaultdict(dict)
    duplicates = 0
    unknown: Counter[str] = Counter()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = set(PREDICTION_COLUMNS) - set(reader.fieldnames or ())
            if missing:
                raise InputError(
                    f"{path} has no column {', '.join(sorted(missing))}", f"it needs {','.join(PREDICTION_COLUMNS)}"
                )
            for row in reader:
                query, language, url = row["query"].strip(), row["language"].strip().lower(), row["url"].strip()
                if query not in queries:
                    unknown[query] += 1
                elif url in addresses[language, query]:
                    duplicates += 1
                else:
                    addresses[language, query][url] = Address(
                        repository_of(url), path_of(url), row["identifier"], language, url
                    )
    except FileNotFoundError:
        raise InputError(f"{path} is not there", "give a CSV of predictions") from None
    except (OSError, UnicodeDecodeError, csv.Error, AttributeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if unknown:
        raise InputError(f"{path} answers {len(unknown)} unknown queries, the first is {next(iter(unknown))!r}")
    if not any(addresses.values()):
        raise InputError(f"{path} has no predictions", "an empty run cannot be scored")
    return Predictions({key: list(places.values()) for key, places in addresses.items()}, duplicates)


def write_trec_run(path: Path, run: Iterable[tuple[Case, Sequence[Hit]]], tag: str) -> None:
    """`query-id Q0 document rank score tag`; scores fall with rank, so that every reader sorts the same way."""
    with path.open("w", encoding="utf-8") as file:
        for case, hits in run:
            keys = list(dict.fromkeys(hit.address.url or hit.id for hit in hits))
            for rank, key in enumerate(keys, start=1):
                file.write(f"{trec_id(case.id)} Q0 {key} {rank} {1.0 / rank:.6f} {tag}\n")


def write_trec_qrels(path: Path, cases: Iterable[Case]) -> None:
    """`query-id 0 document relevance`; mean relevance is rounded, because the format takes integers."""
    with path.open("w", encoding="utf-8") as file:
        for case in cases:
            for key, value in sorted(case.relevance.items()):
                file.write(f"{trec_id(case.id)} 0 {key} {round(value)}\n")


def standard_measures(run: Path, qrels: Path) -> dict[str, float]:
    """nDCG@10, RR and R@100 of a run by ir-measures, an independent check of our figures."""
    import ir_measures
    from ir_measures import RR, R, nDCG

    means = ir_measures.calc_aggregate(
        [nDCG @ 10, RR, R @ 100],
        ir_measures.read_trec_qrels(str(qrels)),  # type: ignore[no-untyped-call]
        ir_measures.read_trec_run(str(run)),  # type: ignore[no-untyped-call]
    )
    return {str(measure): float(value) for measure, value in means.items()}


def trec_id(case_id: str) -> str:
    """The id without spaces, which separate columns."""
    return "_".join(case_id.replace(":", "").replace("#", "").split())


def repository_of(url: str) -> str:
    """`owner/name` of a GitHub URL."""
    return "/".join(url.split("/")[3:5])


def path_of(url: str) -> str:
    """The path within the repository of a GitHub blob URL."""
    return "/".join(url.split("#")[0].split("/")[7:])
