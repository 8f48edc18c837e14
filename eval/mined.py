"""Mined cases as a data set: written to and read from JSONL, scored by file or by symbol."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.protocol import Hit
from treeline.eval import jsonl
from treeline.eval.dataset import Case, DataSet, Metric
from treeline.eval.metrics import hit, ndcg, recall, reciprocal_rank
from treeline.eval.mining import changes, file_at, grammar_of, question, touched
from treeline.ingest.parsers.outline import outline

LEVELS = ("file", "symbol")
KS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class MinedCase:
    """A commit's subject, the code files it changed and the functions in them, as far as they still exist."""

    repository: str
    commit: str
    query: str
    files: tuple[str, ...]
    symbols: tuple[str, ...]  # path::Class.method

    def answers(self, level: str) -> tuple[str, ...]:
        return self.files if level == "file" else self.symbols


def mine(repository: Path, limit: int = 5000) -> list[MinedCase]:
    """Every case of a repository's history whose answer is still there, the newest first, each question once."""
    if not (repository / ".git").exists() and not (repository / "HEAD").exists():
        raise InputError(f"{repository} is not a git repository", "give a checkout with its history")
    name = repository.resolve().name
    now: dict[str, dict[str, tuple[int, int]]] = {}
    found: dict[str, MinedCase] = {}
    for change in changes(repository, limit):
        query = question(change.subject)
        if not query or query.lower() in found:
            continue
        files: list[str] = []
        symbols: list[str] = []
        for path, hunks in change.lines.items():
            if path not in now:
                now[path] = functions_in(path, file_at(repository, "HEAD", path))
            if not now[path]:
                continue
            files.append(path)
            then = functions_in(path, file_at(repository, change.commit, path))
            names = touched(hunks, then)
            symbols.extend(f"{path}::{symbol}" for symbol in names if symbol in now[path])
        if files:
            found[query.lower()] = MinedCase(name, change.commit, query, tuple(files), tuple(symbols))
    return list(found.values())


def functions_in(path: str, source: bytes) -> dict[str, tuple[int, int]]:
    """The functions of a file and their lines; nothing for a language without a parser."""
    grammar = grammar_of(path)
    if grammar is None or not source:
        return {}
    return {found.name: (found.first_line, found.last_line) for found in outline(grammar, source).functions}


def write(cases: Iterable[MinedCase], path: Path) -> None:
    """One JSON object a line."""
    try:
        path.write_bytes(b"".join(orjson.dumps(asdict(case)) + b"\n" for case in cases))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def read(path: Path) -> list[MinedCase]:
    """The cases of a file that `write` made."""
    return jsonl.read(path, _case, "a mined case", "cases")


def _case(row: Any) -> MinedCase:
    names = {name: tuple(row[name]) for name in ("files", "symbols")}
    return MinedCase(str(row["repository"]), str(row["commit"]), str(row["query"]), **names)


def dataset(
    cases: Sequence[MinedCase], indexed: Collection[str], level: str = "file", ks: Sequence[int] = KS
) -> DataSet:
    """The cases with an answer at this level among the indexed keys (tests, say, are not), by repository."""
    if level not in LEVELS:
        raise InputError(f"unknown level {level!r}", f"choose one of {', '.join(LEVELS)}")
    kept = [
        Case(id=f"{case.repository}@{case.commit[:10]}", text=case.query, relevance=found, group=case.repository)
        for case in cases
        if (found := {answer: 1.0 for answer in case.answers(level) if answer in indexed})
    ]
    if not kept:
        raise InputError(f"no mined case has an indexed answer at the {level} level", "use a longer history")
    deepest = max(ks)
    metrics = [Metric("mrr", "MRR"), Metric(f"ndcg_{deepest}", f"nDCG@{deepest}")]
    metrics += [Metric(f"recall_{k}", f"recall@{k}") for k in ks] + [Metric(f"hit_{k}", f"hit@{k}") for k in ks]
    return DataSet(
        name="mined" if level == "file" else "mined-symbols",
        about=f"commit subjects against the {level}s they changed",
        cases=kept,
        metrics=metrics,
        headline="mrr",
        measure=_measure(level, ks),
        depth=100,
        facts={
            "level": level,
            "repositories": float(len({case.group for case in kept})),
            "cases": float(len(kept)),
            "cases without an indexed answer at this level": float(len(cases) - len(kept)),
        },
    )


def key(address: Address, level: str) -> str:
    """What counts as one answer: a file, or a function in it."""
    return address.path if level == "file" else f"{address.path}::{address.func_name}"


def _measure(level: str, ks: Sequence[int]) -> Callable[[Case, Sequence[Hit]], dict[str, float | None]]:
    def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
        # A file is as good as its best function: the first place that names it counts.
        ranked = list(dict.fromkeys(key(found.address, level) for found in hits))
        values: dict[str, float | None] = {
            "mrr": reciprocal_rank(ranked, case.relevant),
            f"ndcg_{max(ks)}": ndcg(ranked, case.relevance, max(ks)),
        }
        for k in ks:
            values[f"recall_{k}"] = recall(ranked, case.relevant, k)
            values[f"hit_{k}"] = hit(ranked, case.relevant, k)
        return values

    return measure
