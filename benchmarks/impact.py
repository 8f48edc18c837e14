"""Commits with one of their files hidden: `treeline impact` has to name it, from what the others changed.

Each commit is indexed as it is, but for the hidden file, which is as it was before; the history ends before the commit.
"""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import click

from treeline.corpus.counting import counted
from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.encoder.protocol import NO_ENCODER
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Evaluation, Metric, Ranking, System, join
from treeline.eval.harness import Output, evaluation_settings, finish, loading, measure_systems, output_options
from treeline.eval.indexes import ENGINE, eval_settings, sources_searcher
from treeline.eval.report.document import summarise
from treeline.eval.sets.issues import check_out
from treeline.eval.sets.repository import code_version
from treeline.graph.git import run_git
from treeline.graph.history import Change, Commit, History, add, create
from treeline.ingest.history import read_diff, read_log
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.folder import open_folder
from treeline.search.impact import EVIDENCE, FileChange, dependents_of, evidence_for, parse_diff, rank_files, units_of
from treeline.search.searcher import Searcher
from treeline.search.settings import Settings

DEPTH = 10
MOST_FILES = 20  # of a commit; a larger one is a sweep
DEFAULT, COUNT = "default", "co-changes"
Log = Sequence[tuple[Commit, list[Change]]]


@dataclass(frozen=True, slots=True)
class Hiding:
    """A commit of several files, and the one to find. It was there before, and is not renamed."""

    commit: Commit
    path: str


def choose(log: Log, most: int) -> dict[str, Hiding]:
    """The last commits that changed at least two files and one that was there before, by hash."""
    hidings = {}
    for commit, changes in reversed(log):
        before = sorted(change.path for change in changes if change.status == "M")
        if before and 2 <= len(changes) <= MOST_FILES and all(change.status in "AMD" for change in changes):
            number = int.from_bytes(blake2b(commit.hash.encode(), digest_size=8).digest())
            hidings[commit.hash] = Hiding(commit, before[number % len(before)])
        if len(hidings) == most:
            break
    return hidings


@click.command
@click.argument("repositories", nargs=-1, required=True, metavar="REPOSITORY…", type=click.Path(path_type=Path))
@click.option("--commits", default=200, show_default=True, metavar="N", help="The last commits of each repository.")
@click.option("--ablate", is_flag=True, help="Also leave out one kind of evidence at a time.")
@output_options
def command(repositories: tuple[Path, ...], commits: int, ablate: bool, output: Output) -> None:
    """Commits with one file hidden, found from the others. REPOSITORY is a folder of git, bare or not."""
    settings = replace(evaluation_settings(ENGINE, ""), encoder=NO_ENCODER)  # nothing is found by meaning here
    evaluations = [
        one for repository in repositories for one in _evaluate(repository, commits, settings, ablate, output)
    ]
    if not evaluations:
        raise InputError("no commit changed several files", "name a repository with a history")
    whole = dataset([case for one in evaluations for case in one.dataset.cases])
    finish(summarise(join(evaluations, whole), DEFAULT, DEFAULT), output)


def dataset(cases: Sequence[Case]) -> DataSet:
    return DataSet(
        name="impact",
        about="commits with one file hidden, found from the others",
        cases=cases,
        metrics=[Metric("hit_10", "hidden file@10"), Metric("reciprocal_rank", "MRR")],
        headline="hit_10",
        measure=measure,
        depth=DEPTH,
        macro=True,
    )


def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
    rank = next((rank for rank, hit in enumerate(hits, 1) if hit.address.path in case.relevance), 0)
    return {"hit_10": float(rank > 0), "reciprocal_rank": 1 / rank if rank else 0.0}


def _evaluate(repository: Path, most: int, settings: Settings, ablate: bool, output: Output) -> Iterator[Evaluation]:
    git = next((folder for folder in (repository / ".git", repository) if (folder / "HEAD").is_file()), None)
    if git is None:
        raise InputError(f"{repository} is no git repository")
    repo = (repository.parent if repository.name == "repo" else repository).resolve().name
    log = list(read_log(git, "", run_git(git, "rev-parse", "HEAD").decode().strip()))
    hidings = choose(log, most)
    home = eval_settings(settings).home_path
    home.mkdir(parents=True, exist_ok=True)
    gaps = 0
    for hiding, history in _replay(log, hidings, repo, home / f"impact-{repo}.sqlite"):
        try:
            folder, diff = _prepare(git, hiding, home / "impact" / repo)
        except (InputError, subprocess.CalledProcessError):
            gaps += 1
            continue
        with loading(output.console) as progress:
            source = open_folder(str(folder), ReadOptions(include_tests=True), repo=repo)
            index = f"impact-{repo.replace('+', '-')}".lower()
            searcher = sources_searcher(index, [source], settings, progress, version=code_version(), lazy=True)
        changes = [change for change in diff if change.path != hiding.path]
        with closing(searcher), searcher.searcher() as current:
            rankings = dict(_rankings(current, history, changes, repo, ablate))
        case = Case(hiding.commit.hash[:12], hiding.commit.subject, {hiding.path: 1.0}, group=repo)
        systems = [System(name, name, _constant(paths)) for name, paths in rankings.items()]
        yield measure_systems(dataset([case]), systems, output.console)
    if gaps:
        output.console.print(f"{repo}: {counted(gaps, 'commit')} left out, of which git lacks a file")


def _prepare(git: Path, hiding: Hiding, folder: Path) -> tuple[Path, list[FileChange]]:
    """The commit checked out, but for the hidden file, and what it changed."""
    check_out(git, hiding.commit.hash, folder)
    diff = parse_diff(read_diff(folder, f"{hiding.commit.hash}^..{hiding.commit.hash}"))
    old = run_git(folder, "cat-file", "blob", f"{hiding.commit.hash}^:{hiding.path}")
    (folder / hiding.path).write_bytes(old)
    return folder, diff


def _replay(log: Log, hidings: Mapping[str, Hiding], repo: str, file: Path) -> Iterator[tuple[Hiding, History]]:
    """Each commit to find a file of, with the history before it."""
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        create(database)
        commits = iter(log)
        start = next((number for number, (commit, _) in enumerate(log) if commit.hash in hidings), 0)
        add(database, repo, islice(commits, start))
        for commit, changes in commits:
            if commit.hash in hidings:
                with closing(History(file)) as history:
                    yield hidings[commit.hash], history
            add(database, repo, [(commit, changes)])
    file.unlink()


def _rankings(
    searcher: Searcher, history: History, changes: Sequence[FileChange], repo: str, ablate: bool
) -> Iterator[tuple[str, list[str]]]:
    """The files by each system: all evidence, the number of common commits alone, without one kind."""
    definitions = units_of(searcher, changes, repo)
    shares = evidence_for(searcher.engine, history, changes, list(dependents_of(searcher.relatives, definitions)), repo)
    yield DEFAULT, [path for path, _ in rank_files(shares)]
    counts = history.changed_with(repo, [change.path for change in changes])
    yield COUNT, sorted(counts, key=lambda path: (-counts[path].commits, path))
    for kind in EVIDENCE if ablate else ():
        rest = {name: one for name, one in EVIDENCE.items() if name != kind}
        yield f"without {kind}", [path for path, _ in rank_files(shares, rest)]


def _constant(paths: Sequence[str]) -> Callable[[Case, int], Ranking]:
    def answer(case: Case, depth: int) -> Ranking:
        return Ranking([Hit(path, 0.0, Address(case.group, path, "", "", "", "file")) for path in paths[:depth]])

    return answer


if __name__ == "__main__":
    from treeline.service.cli import main

    main(command)
