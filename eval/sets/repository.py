"""Questions about real repositories, answered by files, spans of lines or functions.

The layout and the score are those of semble's public benchmark (MinishLab/semble, `benchmarks/`). The first ten results
count. A target takes the rank of the first result in its file (overlapping its lines, if it has any). Two targets at
one rank count once. The ideal ranking has all targets, both `relevant` and `secondary`, at the top. By function, only
targets with lines or a symbol count, and the first ten functions of the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib.util import find_spec
from math import log2
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.corpus.function import FUNCTION_KINDS, Address
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Evaluation, Metric, Ranking, System, evaluate, join
from treeline.eval.harness import (
    Output,
    choice_options,
    evaluation_settings,
    finish,
    loading,
    measure_systems,
    output_options,
)
from treeline.eval.indexes import ENGINE, eval_settings, sources_searcher
from treeline.eval.report.document import summarise
from treeline.eval.systems import SLOW, require_all_lanes
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.folder import Folder, open_folder
from treeline.rerank.registry import FUSIONS
from treeline.rerank.registry import NAMES as RERANKERS
from treeline.rerank.rules import RULE_NAMES
from treeline.search.live import LiveSearcher
from treeline.search.query import Query
from treeline.search.settings import Settings
from treeline.service.quick import quick_searcher

DEPTH = 10
FUNCTION_DEPTH = 100  # results among which the first ten functions are
LEVELS = ("file", "function")
NOT_INDEXED = "targets of which the index has nothing"
REPOSITORIES = "repos.json"


@dataclass(frozen=True, slots=True)
class Repository:
    """A checkout, and the folder in it that is indexed."""

    name: str
    language: str
    checkout: Path
    inner: str = ""

    @property
    def root(self) -> Path:
        return self.checkout / self.inner

    def full_path(self, path: str) -> str:
        """The path from the checkout's top; an index of an inner folder may start there."""
        whole = not self.inner or (self.checkout / path).is_file()
        return path if whole else f"{self.inner}/{path}"


@dataclass(frozen=True, slots=True)
class Target:
    """A file, a span of its lines, or a symbol that answers a question; the path starts at the checkout."""

    path: str
    lines: tuple[int, int] | None = None
    symbol: str = ""

    def __str__(self) -> str:
        lines = f"#L{self.lines[0]}-L{self.lines[1]}" if self.lines else ""
        return f"{self.path}{lines}{'::' if self.symbol else ''}{self.symbol}"

    def matches(self, path: str, address: Address) -> bool:
        """Whether a result answers; a result without lines stands for its whole file."""
        if self.path and path != self.path:
            return False
        if self.symbol and not f".{address.func_name}".endswith(f".{self.symbol}"):
            return False
        span = address.lines
        return self.lines is None or span is None or (span[0] <= self.lines[1] and self.lines[0] <= span[1])


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one repository, and its targets."""

    repository: Repository
    number: int
    text: str
    targets: tuple[Target, ...]
    category: str

    @property
    def id(self) -> str:
        return f"{self.repository.name}#{self.number}"


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions that have a target in the checkouts, and counts of what was left out."""

    rows: Sequence[Question]
    missing_targets: int = 0
    unanswerable: int = 0

    @property
    def repositories(self) -> list[Repository]:
        return list(dict.fromkeys(question.repository for question in self.rows))


def read(folder: Path, checkouts: Path, only: Sequence[str] = ()) -> Questions:
    """Read NAME.json for each repository of repos.json; without that file, for each NAME.json."""
    repositories = {one.name: one for one in _repositories(folder, checkouts)}
    unknown = [name for name in only if name not in repositories]
    if unknown:
        raise InputError(f"no repository {unknown[0]!r} in {folder}", f"choose from {', '.join(repositories)}")
    rows: list[Question] = []
    missing = unanswerable = 0
    for name in only or repositories:
        repository = repositories[name]
        if not repository.root.is_dir():
            raise InputError(
                f"{repository.root} is not a folder", f"check {name} out there, or name others with --only"
            )
        for number, row in enumerate(_rows(folder / f"{name}.json"), start=1):
            question = _question(repository, number, row, folder / f"{name}.json")
            in_checkout = [_locate(repository, target) for target in question.targets]
            there = tuple(target for target in in_checkout if target is not None)
            missing += len(question.targets) - len(there)
            if there:
                rows.append(Question(repository, number, question.text, there, question.category))
            else:
                unanswerable += 1
    if not rows:
        raise InputError(f"no question of {folder} has an answer in {checkouts}", "check the repositories out there")
    return Questions(rows, missing, unanswerable)


def _locate(repository: Repository, target: Target) -> Target | None:
    """The target with its path from the checkout's top (some start at the indexed folder); None if it is gone."""
    if not target.path:
        return target
    for path in (target.path, f"{repository.inner}/{target.path}"):
        if (repository.checkout / path).is_file():
            return replace(target, path=path)
    return None


def _repositories(folder: Path, checkouts: Path) -> Iterator[Repository]:
    listing = folder / REPOSITORIES
    if not listing.is_file():
        for file in sorted(folder.glob("*.json*")):
            yield Repository(file.name.split(".json")[0], "", checkouts / file.name.split(".json")[0])
        return
    for row in _rows(listing):
        try:
            name, inner = str(row["name"]), str(row.get("benchmark_root") or "").strip("/.")
            yield Repository(name, str(row.get("language", "")), checkouts / name, inner)
        except (KeyError, TypeError, AttributeError):
            raise InputError(f"{listing}: not a repository: {row!r}", "each needs a name") from None


def _rows(path: Path) -> list[Any]:
    """The rows of a JSON list, or of one JSON object a line."""
    path = path if path.exists() else path.with_suffix(".jsonl")
    try:
        content = path.read_bytes()
        rows = orjson.loads(content) if content.lstrip()[:1] == b"[" else list(map(orjson.loads, content.splitlines()))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    return list(rows)


def _question(repository: Repository, number: int, row: Any, path: Path) -> Question:
    """A row in semble's format, or in the common one: `{"query", "relevant_files", "relevant_symbols"}`."""
    try:
        text = str(row["query"])
        rows = [*row.get("relevant", ()), *row.get("secondary", ())]
        targets = [_target(one) for one in rows]
        symbols = [_symbol(str(one)) for one in row.get("relevant_symbols", ())]
        in_files = {one.path for one in symbols}
        targets += [Target(file) for file in map(str, row.get("relevant_files", ())) if file not in in_files]
        category = str(row.get("category") or infer_category(text))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}, question {number}: not a question ({error!r})") from None
    return Question(repository, number, text, tuple(dict.fromkeys([*targets, *symbols])), category)


def _target(row: Any) -> Target:
    if isinstance(row, str):
        return Target(row)
    first, last = row.get("start_line"), row.get("end_line")
    return Target(str(row["path"]), (int(first), int(last)) if first is not None and last is not None else None)


def _symbol(text: str) -> Target:
    """`path::Class.method`, or a bare name, wherever it is defined."""
    path, mark, symbol = text.rpartition("::")
    return Target(path if mark else "", symbol=symbol)


def infer_category(text: str) -> str:
    """One word is a symbol, `how …` is architecture, anything else semantic."""
    if " " not in text.strip():
        return "symbol"
    return "architecture" if text.lower().startswith("how ") else "semantic"


def at_level(questions: Questions, level: str) -> Questions:
    """The questions with the targets that count at this level: by function, those with lines or a symbol."""
    if level == "file":
        return questions
    own = [replace(one, targets=tuple(t for t in one.targets if t.lines or t.symbol)) for one in questions.rows]
    rows = [one for one in own if one.targets]
    if not rows:
        raise InputError("no question has lines or a symbol as its answer", "measure by file")
    return replace(questions, rows=rows)


def dataset(questions: Questions, *, together: bool = False, level: str = "file") -> DataSet:
    """The questions as a data set, grouped by repository; `together` if one index holds all repositories."""
    by_id = {question.id: question for question in questions.rows}
    cases = [
        Case(
            id=question.id,
            text=question.text,
            relevance={str(target): 1.0 for target in question.targets},
            group=question.repository.name,
            tags={"language": question.repository.language, "category": question.category},
        )
        for question in questions.rows
    ]
    metrics = [
        Metric("ndcg_10", "NDCG@10"),
        Metric("hit_1", "hit@1"),
        Metric("recall_10", "recall@10"),
        Metric("files_10", "distinct files@10", share=False),
    ]
    if level == "function":
        metrics[1:1] = [Metric("mrr", "MRR"), Metric("file_ndcg_10", "by file")]
    if together:
        metrics.append(Metric("repository_1", "right repository first"))
    return DataSet(
        name="repository" + ("-functions" if level == "function" else "") + ("-together" if together else ""),
        about=f"questions about repositories, by {level}" + (", all in one index" if together else ", one index each"),
        cases=cases,
        metrics=metrics,
        headline="ndcg_10",
        measure=_measure(by_id, together) if level == "file" else _measure_functions(by_id, together),
        depth=DEPTH if level == "file" else FUNCTION_DEPTH,
        facts={
            "repositories": float(len(questions.repositories)),
            "targets not in their checkout": float(questions.missing_targets),
            "questions without a target there, left out": float(questions.unanswerable),
        },
        notes=("the macro-average is the mean over repositories: the figure to compare with published ones",),
        macro=True,
    )


def _measure(
    questions: Mapping[str, Question], together: bool
) -> Callable[[Case, Sequence[Hit]], dict[str, float | None]]:
    def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
        question = questions[case.id]
        repository = question.repository
        first = [hit.address for hit in hits[:DEPTH]]
        own = [address.repo == repository.name or not together for address in first]
        paths = [repository.full_path(address.path) for address in first]
        ranks = [
            next((rank for rank, at in enumerate(first) if own[rank] and target.matches(paths[rank], at)), None)
            for target in question.targets
        ]
        hit_ranks = {rank for rank in ranks if rank is not None}
        ideal = sum(1 / log2(rank + 2) for rank in range(min(DEPTH, len(question.targets))))
        values: dict[str, float | None] = {
            "ndcg_10": sum(1 / log2(rank + 2) for rank in hit_ranks) / ideal,
            "hit_1": float(0 in hit_ranks),
            "recall_10": sum(rank is not None for rank in ranks) / len(ranks),
            "files_10": float(len({(address.repo, address.path) for address in first})),
        }
        if together:
            values["repository_1"] = float(bool(own) and own[0])
        return values

    return measure


def _measure_functions(
    questions: Mapping[str, Question], together: bool
) -> Callable[[Case, Sequence[Hit]], dict[str, float | None]]:
    by_target = _measure(questions, together)
    files = {
        id_: replace(one, targets=tuple(dict.fromkeys(Target(target.path) for target in one.targets if target.path)))
        for id_, one in questions.items()
    }
    by_file = _measure(files, together)

    def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
        functions = [hit for hit in hits if hit.address.kind in FUNCTION_KINDS]
        values = by_target(case, functions)
        values["mrr"] = next(
            (1 / rank for rank in range(1, len(functions) + 1) if by_target(case, functions[rank - 1 : rank])["hit_1"]),
            0.0,
        )
        values["file_ndcg_10"] = by_file(case, hits)["ndcg_10"] if files[case.id].targets else None
        return values

    return measure


def with_losses(data: DataSet, questions: Questions, indexed: Collection[tuple[str, str]]) -> DataSet:
    """The data set with the targets that no search can find, because the index has nothing of their files."""
    full_paths = {
        one.name: {one.full_path(path) for repo, path in indexed if repo == one.name} for one in questions.repositories
    }
    losses = [
        f"not in the index: {question.repository.name} {target.path}"
        for question in questions.rows
        for target in question.targets
        if target.path and target.path not in full_paths[question.repository.name]
    ]
    return replace(
        data, facts={**data.facts, NOT_INDEXED: float(len(losses))}, notes=(*data.notes, *dict.fromkeys(losses))
    )


def by_repository(questions: Questions) -> Mapping[Repository, Questions]:
    """The questions of each repository."""
    groups: dict[Repository, list[Question]] = defaultdict(list)
    for question in questions.rows:
        groups[question.repository].append(question)
    return {repository: Questions(rows) for repository, rows in groups.items()}


PROJECT = Path(__file__).resolve().parents[2]
# The rooms that build an index; when their code changes, cached indexes are rebuilt.
INDEX_CODE = ("corpus", "encoder", "engine", "graph", "ingest")


@dataclass(frozen=True, slots=True)
class Variant:
    """A name and the switches that differ from the default search."""

    name: str
    about: str
    switches: dict[str, Any]


PLAIN = Variant("default", "what a plain search does", {})
BEST = Variant("best", "the first results read with the question", {"quality": "best"})
COMPARISON = (
    Variant("keyword", "the keyword lane alone", {"mode": "keyword", "rerank": "none"}),
    Variant("dense", "the dense lane alone", {"mode": "dense", "rerank": "none"}),
    Variant("no re-ranker", "the default without its re-ranker", {"rerank": "none"}),
    PLAIN,
)


@click.command("repository")
@click.argument("questions", metavar="QUESTIONS_DIR", type=click.Path(path_type=Path))
@click.option(
    "--checkouts", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The repositories are DIR/NAME."
)
@click.option("--only", default="", metavar="NAME,…", help="Only these repositories.")
@click.option("--level", type=click.Choice(LEVELS), default="file", show_default=True, help="What is to be found.")
@click.option("--together", is_flag=True, help="All repositories in one index.")
@click.option("--fresh", is_flag=True, help="Rebuild the indexes.")
@click.option(
    "--quick", default=0, type=click.IntRange(0), metavar="FILES", help="Also ask a quick look at so many files."
)
@choice_options
@output_options
def command(
    questions: Path,
    checkouts: Path,
    only: str,
    level: str,
    together: bool,
    fresh: bool,
    quick: int,
    compare: bool,
    ablate: bool,
    output: Output,
) -> None:
    """Questions about real repositories, answered by files or functions.

    QUESTIONS_DIR holds NAME.json for each repository of its repos.json. A question is {query, relevant, secondary,
    category}, or {query, relevant_files, relevant_symbols}.
    """
    names = [name.strip() for name in only.split(",") if name.strip()]
    of_set = at_level(read(questions, checkouts, names), level)
    variants = ablations() if ablate else COMPARISON if compare else (PLAIN,)
    settings = evaluation_settings(ENGINE, "")
    if together and quick:
        raise InputError("--together and --quick cannot be combined", "a quick look is at one repository")
    if together:
        data = dataset(of_set, together=True, level=level)
        evaluation = _evaluate(of_set, data, of_set.repositories, "together", variants, settings, fresh, output.console)
    else:
        parts = [
            _evaluate(
                part, dataset(part, level=level), [one], one.name, variants, settings, fresh, output.console, quick
            )
            for one, part in by_repository(of_set).items()
        ]
        whole = dataset(of_set, level=level)
        losses = sum(float(part.dataset.facts[NOT_INDEXED]) for part in parts)
        notes = [note for part in parts for note in part.dataset.notes if note not in whole.notes]
        facts = {**whole.facts, NOT_INDEXED: losses}
        evaluation = join(parts, replace(whole, facts=facts, notes=(*whole.notes, *notes)))
    baseline = PLAIN.name if ablate or quick else variants[0].name if compare else ""
    finish(summarise(evaluation, baseline, PLAIN.name), output)


def ablations() -> list[Variant]:
    """The default, then each switch, fusion and re-ranker."""
    return [
        PLAIN,
        *([BEST] if find_spec("onnxruntime") is not None else ()),
        *COMPARISON[:-1],
        Variant("as typed", "without spelling corrections", {"as_typed": True}),
        Variant("with expansion", "pseudo-relevance feedback", {"expand": True}),
        *(Variant(f"fusion: {name}", "not re-ranked", {"fusion": name, "rerank": "none"}) for name in FUSIONS),
        *(
            Variant(f"re-rank: {name}", about, {"rerank": name})
            for name, about in RERANKERS.items()
            if name not in SLOW | {"none", PLAIN.name}
        ),
        *(
            Variant(f"without {rule}", "the default without this rule", {"rerank": f"tree without {rule}"})
            for rule in RULE_NAMES
        ),
    ]


def _evaluate(
    questions: Questions,
    data: DataSet,
    repositories: Sequence[Repository],
    name: str,
    variants: Sequence[Variant],
    settings: Settings,
    fresh: bool,
    console: Console,
    quick: int = 0,
) -> Evaluation:
    """Update one index and ask its questions; a repository without any unit scores zero."""
    options = ReadOptions()
    sources = [open_folder(str(one.root), options, repo=one.name) for one in repositories]
    index = f"repository-{name}".lower()
    with loading(console) as progress:
        try:
            searcher = sources_searcher(index, sources, settings, progress, fresh=fresh, version=code_version())
        except InputError as error:
            console.print(f"{name}: {error.message}", style="yellow")
            data = with_losses(data, questions, ())
            nothing = [System(one.name, one.about, lambda case, depth: Ranking([])) for one in variants]
            return evaluate(data, nothing)
    with closing(searcher):
        indexed = {(address.repo, address.path) for _, address in searcher.engine.addresses()}
        data = with_losses(data, questions, indexed)
        systems = [_system(searcher, variant) for variant in variants]
        if quick:
            systems.append(_quick_system(sources[0], quick, settings))
        return measure_systems(data, systems, console)


def _system(searcher: LiveSearcher, variant: Variant) -> System:
    return System(variant.name, variant.about, lambda case, depth: _ranking(searcher, _query(case, depth, variant)))


def _quick_system(folder: Folder, files: int, settings: Settings) -> System:
    """The answer to the first question of a large project, before there is an index."""
    own = replace(eval_settings(settings), index="quick")

    def answer(case: Case, depth: int) -> Ranking:
        query = _query(case, depth, PLAIN)
        with closing(quick_searcher(own, folder, query, files=files)) as searcher:
            return _ranking(searcher, query)

    return System("quick", f"a quick look at {files} files", answer)


def _query(case: Case, depth: int, variant: Variant) -> Query:
    return Query(case.text, k=depth, filters=case.filters, explain=False, feedback=False, **variant.switches)


def _ranking(searcher: LiveSearcher, query: Query) -> Ranking:
    response = searcher.search(query)
    require_all_lanes(query, response.degraded)
    hits = [Hit(one.function.id, one.candidate.score, one.function.address) for one in response.results]
    return Ranking(hits, response.timings["total"], response.timings)


def code_version() -> str:
    """A digest of the code that builds an index."""
    digest = blake2b(digest_size=8)
    for room in INDEX_CODE:
        for file in sorted(one for one in (PROJECT / room).rglob("*") if one.suffix in (".py", ".scm")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
