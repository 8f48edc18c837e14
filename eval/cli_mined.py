"""`treeline eval mined`: questions from git history, one table a repository and the macro-average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.eval import mined
from treeline.eval.dataset import DataSet, Evaluation, Measured
from treeline.eval.finish import Output, finish, output_options
from treeline.eval.pools import POOLS, source_searcher
from treeline.eval.running import choice_options, chosen, loading, measure, patient
from treeline.eval.summary import summarise
from treeline.eval.systems import DEFAULT, DENSE, HYBRID, KEYWORD, Recipe
from treeline.search.settings import Settings

COMPARED = (
    KEYWORD,
    DENSE,
    HYBRID,
    Recipe("adaptive", "keyword and dense, weights by the kind of question", ("keyword", "dense"), "adaptive"),
    Recipe("+ graph", "the call graph beside them", ("keyword", "dense", "graph"), "adaptive"),
    Recipe("+ re-rank", "keyword and dense, re-ranked", ("keyword", "dense"), "adaptive", "default"),
    DEFAULT,
)


@click.command("mined")
@click.argument("repositories", nargs=-1, metavar="REPO…")
@click.option("--manifest", metavar="FILE", default="", help="A file with one repository a line.")
@click.option("--build", metavar="FILE", default="", help="Write the cases as JSONL and stop.")
@click.option("--cases", metavar="FILE", default="", help="Use cases that --build wrote.")
@click.option("--level", type=click.Choice(mined.LEVELS), default="file", show_default=True)
@click.option("--ks", default="1,5,10", show_default=True, metavar="K,K…", help="Cut-offs of recall and hit.")
@click.option("--most", default=200, show_default=True, type=click.IntRange(1), help="Newest cases a repository.")
@choice_options
@output_options
def command(
    repositories: Sequence[str],
    manifest: str,
    build: str,
    cases: str,
    level: str,
    ks: str,
    most: int,
    compare: bool,
    ablate: bool,
    output: Output,
) -> None:
    """Commit subjects ask, the files or functions they changed answer."""
    paths = [Path(repository) for repository in repositories] + (read_manifest(Path(manifest)) if manifest else [])
    if not paths:
        raise InputError("no repository given", "name one or more git checkouts, or a --manifest")
    cut_offs = parse_ks(ks)
    known = mined.read(Path(cases)) if cases else None
    by_path = {path: (known or mined.mine(path)) for path in paths}
    by_path = {
        path: [case for case in found if case.repository == path.resolve().name][:most]
        for path, found in by_path.items()
    }
    if build:
        written = [case for found in by_path.values() for case in found]
        mined.write(written, Path(build))
        output.console.print(f"{len(written)} cases written to {build}", soft_wrap=True)
        return
    recipes, baseline = chosen(compare, ablate, COMPARED)
    evaluations = [
        evaluate_repository(path, found, level, cut_offs, recipes, patient(POOLS, ""), output.console)
        for path, found in by_path.items()
        if usable(path, found, level, output.console)
    ]
    if not evaluations:
        raise InputError("no repository has a usable case", "use repositories with a longer history")
    finish(summarise(joined(evaluations), baseline, DEFAULT.name), output)


def usable(path: Path, cases: Sequence[mined.MinedCase], level: str, console: Console) -> bool:
    """Whether there is anything to ask; what is left out is said."""
    if any(case.answers(level) for case in cases):
        return True
    console.print(f"{path}: no case with an answer, left out", style="yellow")
    return False


def evaluate_repository(
    path: Path,
    cases: Sequence[mined.MinedCase],
    level: str,
    ks: Sequence[int],
    recipes: Sequence[Recipe],
    settings: Settings,
    console: Console,
) -> Evaluation:
    """Index one repository on its own and ask its history."""
    with loading(console) as progress:
        searcher = source_searcher(f"mined-{path.resolve().name}".lower(), str(path), settings, progress)
    try:
        indexed = {mined.key(address, level) for _, address in searcher.engine.addresses()}
        evaluation, _ = measure(mined.dataset(cases, indexed, level, ks), searcher, recipes, "", console)
    finally:
        searcher.close()
    return evaluation


def joined(evaluations: Sequence[Evaluation], whole: DataSet | None = None) -> Evaluation:
    """Several repositories as one evaluation, of the `whole` set; the groups keep them apart."""
    if whole is None:
        every = [case for evaluation in evaluations for case in evaluation.dataset.cases]
        first = evaluations[0].dataset
        counted = ("cases", "repositories", "cases without an indexed answer at this level")
        facts = dict(first.facts) | {name: sum(float(e.dataset.facts[name]) for e in evaluations) for name in counted}
        whole = replace(first, cases=every, facts=facts)
    systems = []
    for measured in evaluations[0].systems:
        parts = [evaluation.system(measured.system) for evaluation in evaluations]
        systems.append(
            Measured(
                measured.system,
                measured.about,
                {name: {k: v for part in parts for k, v in part.values[name].items()} for name in measured.values},
                {k: v for part in parts for k, v in part.milliseconds.items()},
                {stage: [ms for part in parts for ms in part.stages.get(stage, ())] for stage in measured.stages},
                {k: v for part in parts for k, v in part.shown.items()},
            )
        )
    return Evaluation(whole, systems)


def read_manifest(path: Path) -> list[Path]:
    """One repository a line, relative to the manifest; `#` begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    named = [line.split("#")[0].strip() for line in lines]
    return [path.parent / name for name in named if name]


def parse_ks(text: str) -> tuple[int, ...]:
    try:
        ks = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        ks = ()
    if not ks or ks[0] < 1 or ks[-1] > 100:
        raise InputError(f"--ks {text!r} is not a list of cut-offs from 1 to 100", "write it as 1,5,10")
    return ks
