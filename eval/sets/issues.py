"""Issues with the places that resolved them, in the form of `python.jsonl.gz` of SWE-bench with spans of lines; or
long questions with the files that their answers cite, as SWE-QA has them.

Each issue is asked at the commit before its fix, with the history up to there. `Acc@k` counts an issue if all its
target files are among the first k distinct files of the answer, or all its functions among the first k functions;
`any@k` if one is (Chen et al., "LocAgent", ACL 2025; Reddy et al., "SweRank", 2025).
"""

from __future__ import annotations

import gzip
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import click
import orjson

from treeline.corpus.errors import InputError
from treeline.corpus.function import FUNCTION_KINDS, Address
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Evaluation, Metric, Ranking, System, join
from treeline.eval.harness import Output, evaluation_settings, finish, loading, measure_systems, output_options
from treeline.eval.indexes import ENGINE, eval_settings, sources_searcher
from treeline.eval.report.document import summarise
from treeline.eval.sets.repository import code_version
from treeline.graph.git import run_git
from treeline.ingest.history import update
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.folder import open_folder
from treeline.rerank.evidence import path_facts
from treeline.search.live import LiveSearcher
from treeline.search.plan import DEFINITIONS, DENSE, HISTORY, KEYWORD, PLACES
from treeline.search.query import Query

DEPTH = 100  # results; all target files may be far down
FILES, FUNCTIONS = (1, 3, 5, 10), (5, 10)
# Files that fixes touch beside the code.
NO_CODE = frozenset("md rst txt adoc json yml yaml toml lock cfg ini xml html css scss svg snap".split())
DEFAULT = "default"
LANES = (KEYWORD, DENSE, DEFINITIONS, PLACES, HISTORY)


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue, the commit before its fix, and the lines of each file that the fix touched."""

    id: str
    repo: str
    commit: str
    created: str
    text: str
    lines: Mapping[str, Sequence[int]]
    cited: tuple[str, ...] = ()  # paths as an answer names them, some without their folder

    @property
    def files(self) -> frozenset[str]:
        """The code outside tests, documents and examples that the fix touched; every file if there is none, and
        every file that is cited."""
        code = frozenset(path for path in self.lines if is_code(path) and not self.cited)
        return code or frozenset(self.lines)

    def locate(self, paths: Sequence[str]) -> Issue:
        """The issue with those of its cited files that exactly one path of the checkout ends with."""
        names = {name.partition(":")[0].removeprefix("/") for name in self.cited}
        ends = {name: [path for path in paths if f"/{path}".endswith(f"/{name}")] for name in names}
        return replace(self, lines={own[0]: () for own in ends.values() if len(own) == 1}) if names else self


def is_code(path: str) -> bool:
    return PurePosixPath(path).suffix[1:].lower() not in NO_CODE and not path_facts(path).is_test_like


def read(folder: Path, only: Sequence[str] = ()) -> list[Issue]:
    """The issues of a file, or of every `*.jsonl.gz` of a folder, by repository and time."""
    issues = []
    for file in [folder] if folder.is_file() else sorted(folder.glob("*.jsonl*")):
        try:
            lines = (gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()).splitlines()
            rows = [orjson.loads(line) for line in lines]
            issues += [_issue(row) for row in rows]
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{file} does not hold issues: {error!r}") from None
    issues = [issue for issue in issues if not only or issue.repo in only]
    if not issues:
        raise InputError(f"there is no issue in {folder}", "name a folder of .jsonl.gz files")
    return sorted(issues, key=lambda issue: (issue.repo, issue.created))


def _issue(row: Mapping[str, Any]) -> Issue:
    if "cited" in row:
        return Issue(row["id"], row["repo"], row["commit"], "", row["question"], {}, tuple(row["cited"]))
    lines = {one["path"]: one["lines"] for one in row["targets"]}
    return Issue(row["id"], row["repo"], row["base_commit"], row["created_at"], row["text"], lines)


def dataset(issues: Sequence[Issue], targets: Mapping[str, frozenset[str]]) -> DataSet:
    """The issues as a data set; `targets` are the ids of the functions that each fix touched."""
    by_id = {issue.id: issue for issue in issues}
    metrics = [
        *(Metric(f"file_{k}", f"file Acc@{k}") for k in FILES),
        Metric("any_5", "any file@5"),
        Metric("any_10", "any file@10"),
        Metric("recall_10", "file recall@10"),
        Metric("reciprocal_rank", "MRR"),
        *(Metric(f"function_{k}", f"function Acc@{k}") for k in FUNCTIONS),
        Metric("any_function_10", "any function@10"),
    ]
    return DataSet(
        name="issues",
        about="issues, asked at the commit before their fix",
        cases=[Case(one.id, one.text, dict.fromkeys(one.files, 1.0), group=one.repo) for one in issues],
        metrics=metrics,
        headline="file_5",
        measure=lambda case, hits: measure(by_id[case.id].files, targets.get(case.id, frozenset()), hits),
        depth=DEPTH,
    )


def measure(files: frozenset[str], functions: frozenset[str], hits: Sequence[Hit]) -> dict[str, float | None]:
    """Every metric of one answer; those of functions are None for a fix that touched none."""
    ranked = list(dict.fromkeys(hit.address.path for hit in hits))
    own = [hit.id for hit in hits if hit.address.kind in FUNCTION_KINDS]
    first = next((rank for rank, path in enumerate(ranked, 1) if path in files), 0)
    values: dict[str, float | None] = {f"file_{k}": float(files <= set(ranked[:k])) for k in FILES}
    values |= {f"any_{k}": float(0 < first <= k) for k in (5, 10)}
    values |= {"recall_10": len(files.intersection(ranked[:10])) / len(files)}
    values |= {"reciprocal_rank": 1 / first if first else 0.0}
    for k in FUNCTIONS:
        values[f"function_{k}"] = float(functions <= set(own[:k])) if functions else None
    values["any_function_10"] = float(not functions.isdisjoint(own[:10])) if functions else None
    return values


def touched_functions(issue: Issue, units: Mapping[str, Sequence[tuple[str, Address]]]) -> frozenset[str]:
    """The ids of the innermost functions that hold lines of the fix; `units` are the functions of each path."""
    functions: set[str] = set()
    for path in issue.files:
        for line in issue.lines[path]:
            around = [
                (a.lines[1] - a.lines[0], id_)
                for id_, a in units.get(path, ())
                if a.lines and a.lines[0] <= line <= a.lines[1]
            ]
            functions.update(id_ for _, id_ in sorted(around)[:1])
    return frozenset(functions)


@click.command("issues")
@click.argument("issues", metavar="ISSUES", type=click.Path(path_type=Path))
@click.option(
    "--checkouts",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The git repositories are DIR/OWNER+NAME or DIR/NAME.",
)
@click.option("--only", default="", metavar="OWNER/NAME,…", help="Only these repositories.")
@click.option("--most", default=0, metavar="N", help="At most so many issues of each repository.")
@click.option("--ablate", is_flag=True, help="Also leave out one lane at a time, and ask the first line alone.")
@output_options
def command(issues: Path, checkouts: Path, only: str, most: int, ablate: bool, output: Output) -> None:
    """Issues ask, the files and functions that resolved them answer.

    ISSUES is a .jsonl.gz file or a folder of them: one object a line, {id, repo, base_commit, created_at, text,
    targets: [{path, lines}]}, or for questions with cited files {id, repo, commit, question, cited}.
    """
    groups: dict[str, list[Issue]] = defaultdict(list)
    for issue in read(issues, [name.strip() for name in only.split(",") if name.strip()]):
        groups[issue.repo].append(issue)
    settings = evaluation_settings(ENGINE, "")
    home = eval_settings(settings).home_path
    evaluations = []
    for repo, own in groups.items():
        chosen = own[:: max(1, len(own) // most)][:most] if most else own
        if (checkout := git_folder(checkouts, repo)) is None:
            output.console.print(f"{repo} is not in {checkouts}: its issues are left out", style="yellow")
            continue
        for commit, of_commit in groupby(chosen, key=lambda issue: issue.commit):
            try:
                folder = check_out(checkout, commit, home / "issues" / repo.replace("/", "+"))
            except InputError as error:
                output.console.print(f"{repo}: {error.message}, left out", style="yellow")
                continue
            with loading(output.console) as progress:
                paths = run_git(folder, "ls-files", "-z").decode("utf-8", "replace").split("\0")
                source = open_folder(str(folder), ReadOptions(), repo=repo)
                index = f"issues-{repo.replace('/', '-')}".lower()
                # A commit's index answers an issue or two, which need neither call graph nor clusters nor the map.
                searcher = sources_searcher(index, [source], settings, progress, version=code_version(), lazy=True)
                update(home, index, {repo: folder})
            with closing(searcher):
                with_files = [issue.locate(paths) for issue in of_commit]
                evaluations += [_evaluate(issue, searcher, ablate, output) for issue in with_files if issue.files]
    if not evaluations:
        raise InputError(f"none of the repositories is in {checkouts}", "clone them there")
    whole = dataset([issue for own in groups.values() for issue in own], {})
    finish(summarise(join(evaluations, whole), DEFAULT if ablate else "", DEFAULT), output)


def git_folder(checkouts: Path, repo: str) -> Path | None:
    """The git folder of a repository: of a clone, or a bare one, also named `repo` inside its folder."""
    names = (repo.replace("/", "+"), repo.rpartition("/")[2])
    places = (checkouts / name / inner for name in names for inner in (".git", "", "repo"))
    return next((place for place in places if (place / "HEAD").is_file()), None)


def check_out(repository: Path, commit: str, folder: Path) -> Path:
    """A working tree of a repository at a commit, which knows no later commit. Nothing of the repository is run."""
    if not (folder / ".git").is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=True)
        run_git(folder, "init", "--quiet", "--template=")
        (folder / ".git/objects/info/alternates").write_text(
            f"{(repository / 'objects').resolve()}\n", encoding="utf-8"
        )
    try:
        full = run_git(folder, "rev-parse", "--verify", f"{commit}^{{commit}}").decode().strip()
        run_git(folder, "update-ref", "--no-deref", "HEAD", full)
        run_git(folder, "read-tree", full)
        run_git(folder, "clean", "--quiet", "-dffx")
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode("utf-8", "replace").strip()
        raise InputError(f"{commit} cannot be checked out: {reason}", f"fetch it into {repository}") from None
    with suppress(subprocess.CalledProcessError):  # a mirror may lack large files
        run_git(folder, "checkout-index", "--all", "--force", "--quiet")
    return folder


def _evaluate(issue: Issue, searcher: LiveSearcher, ablate: bool, output: Output) -> Evaluation:
    """One issue's scores, by every system."""
    units: dict[str, list[tuple[str, Address]]] = defaultdict(list)
    with searcher.searcher() as current:
        _ = current.locations  # made now, so that it is not counted as time of the search
        for id_, address in current.engine.addresses():
            if address.path in issue.files and address.kind in FUNCTION_KINDS:
                units[address.path].append((id_, address))
    systems = [System(DEFAULT, "the whole issue", _answer(searcher, ()))]
    if ablate:
        systems.append(System("first line", "the first line alone", _answer(searcher, (), first_line=True)))
        systems += [System(f"without {lane}", f"without the lane {lane}", _answer(searcher, (lane,))) for lane in LANES]
    return measure_systems(dataset([issue], {issue.id: touched_functions(issue, units)}), systems, output.console)


def _answer(
    searcher: LiveSearcher, without: Sequence[str], *, first_line: bool = False
) -> Callable[[Case, int], Ranking]:
    def answer(case: Case, depth: int) -> Ranking:
        text = case.text.strip().partition("\n")[0] if first_line else case.text
        query = Query(text, k=depth, explain=False, feedback=False, literal=True)
        with searcher.searcher() as current:
            lanes = [lane for lane in current.plan(query).lanes if lane not in without]
            ranking = current.rank(query, lanes)
        hits = [Hit(one.id, one.score, one.address) for one in ranking.candidates[:depth]]
        return Ranking(hits, sum(ranking.timings.values()), ranking.timings)

    return answer
