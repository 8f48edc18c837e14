"""`treeline eval repository`: questions about real repositories, in one index each or all in one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.engine.protocol import Hit
from treeline.eval.cli_mined import joined
from treeline.eval.dataset import Case, Evaluation, Ranked, System, evaluate
from treeline.eval.finish import Output, finish, output_options
from treeline.eval.pools import POOLS, sources_searcher
from treeline.eval.running import bar, choice_options, loading, patient
from treeline.eval.sets import repository
from treeline.eval.summary import summarise
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.folder import open_folder
from treeline.rerank.registry import FUSIONS
from treeline.rerank.registry import NAMES as RERANKERS
from treeline.search.live import LiveSearcher
from treeline.search.query import Query
from treeline.search.settings import Settings

PROJECT = Path(__file__).resolve().parents[1]
# The rooms that make an index: when their code changes, the cached indexes are made anew.
INDEX_CODE = ("corpus", "encoder", "engine", "graph", "ingest")
SLOW = frozenset({"cross-encoder"})  # needs a transformer for every question
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Variant:
    """A name and the switches of a search that differ from the default."""

    name: str
    about: str
    switches: dict[str, Any]


PLAIN = Variant(DEFAULT, "what a plain search does", {})
COMPARED = (
    Variant("keyword", "the keyword lane alone", {"mode": "keyword", "rerank": "none"}),
    Variant("dense", "the dense lane alone", {"mode": "dense", "rerank": "none"}),
    Variant("no re-ranker", "the default without its re-ranker", {"rerank": "none"}),
    PLAIN,
)


@click.command("repository")
@click.argument("questions", metavar="QUESTIONS_DIR", type=click.Path(path_type=Path))
@click.option("--checkouts", required=True, type=click.Path(path_type=Path), metavar="DIR", help="DIR/NAME each.")
@click.option("--only", default="", metavar="NAME,…", help="Only these repositories.")
@click.option("--together", is_flag=True, help="All repositories in one index.")
@click.option("--fresh", is_flag=True, help="Make the indexes anew.")
@choice_options
@output_options
def command(
    questions: Path,
    checkouts: Path,
    only: str,
    together: bool,
    fresh: bool,
    compare: bool,
    ablate: bool,
    output: Output,
) -> None:
    """Questions about real repositories, answered by files.

    QUESTIONS_DIR holds NAME.json for each repository of its repos.json. A question is {query, relevant, secondary,
    category}, or {query, relevant_files, relevant_symbols}.
    """
    names = [name.strip() for name in only.split(",") if name.strip()]
    asked = repository.read(questions, checkouts, names)
    variants = ablations() if ablate else COMPARED if compare else (PLAIN,)
    settings = patient(POOLS, "")
    if together:
        evaluation = _evaluate(asked, asked.repositories, "together", variants, settings, fresh, output.console)
    else:
        evaluation = joined(
            [
                _evaluate(part, [one], one.name, variants, settings, fresh, output.console)
                for one, part in repository.by_repository(asked).items()
            ],
            repository.dataset(asked),
        )
    finish(summarise(evaluation, DEFAULT if ablate else variants[0].name if compare else "", DEFAULT), output)


def ablations() -> list[Variant]:
    """The default first, which every other row is compared with: each switch, every fusion and every re-ranker."""
    return [
        PLAIN,
        *COMPARED[:-1],
        Variant("as typed", "without spelling corrections", {"as_typed": True}),
        Variant("with expansion", "pseudo-relevance feedback", {"expand": True}),
        Variant("with callees", "callees of the top results added", {"callees": True}),
        *(Variant(f"fusion: {name}", "not re-ranked", {"fusion": name, "rerank": "none"}) for name in FUSIONS),
        *(
            Variant(f"re-rank: {name}", about, {"rerank": name})
            for name, about in RERANKERS.items()
            if name not in SLOW | {"none", DEFAULT}
        ),
    ]


def _evaluate(
    asked: repository.Questions,
    repositories: Sequence[repository.Repository],
    name: str,
    variants: Sequence[Variant],
    settings: Settings,
    fresh: bool,
    console: Console,
) -> Evaluation:
    """Bring one index up to date and ask it its questions; repositories without any unit score nothing."""
    data = repository.dataset(asked, together=name == "together")
    options = ReadOptions()
    opened = [open_folder(str(one.root), options, repo=one.name) for one in repositories]
    index = f"repository-{name}".lower()
    with loading(console) as progress:
        try:
            searcher = sources_searcher(index, opened, settings, progress, fresh=fresh, version=code_version())
        except InputError as error:
            console.print(f"{name}: {error.message}", style="yellow")
            nothing = [System(one.name, one.about, lambda case, depth: Ranked([])) for one in variants]
            return evaluate(data, nothing)
    with closing(searcher), bar(console) as progress_bar:
        task = progress_bar.add_task(name, total=len(variants) * len(data.cases))
        systems = [_system(searcher, variant) for variant in variants]
        return evaluate(data, systems, lambda _: progress_bar.update(task, advance=1))


def _system(searcher: LiveSearcher, variant: Variant) -> System:
    def answer(case: Case, depth: int) -> Ranked:
        query = Query(case.text, k=depth, filters=case.filters, explain=False, feedback=False, **variant.switches)
        found = searcher.search(query)
        if found.degraded:
            raise InputError(
                f"the {found.degraded[0].lane} lane failed on {case.text!r}: {found.degraded[0].reason}",
                "an evaluation needs every lane; raise TREELINE_LANE_TIMEOUT or check the index",
            )
        hits = [Hit(one.function.id, one.candidate.score, one.function.address) for one in found.results]
        return Ranked(hits, found.timings["total"], found.timings)

    return System(variant.name, variant.about, answer)


def code_version() -> str:
    """A digest of the code that makes an index."""
    digest = blake2b(digest_size=8)
    for room in INDEX_CODE:
        for file in sorted((PROJECT / room).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
