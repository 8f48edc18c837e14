"""Questions from a repository's history: a commit's subject asks, the code it changed answers.

This is common in bug localisation (Zhou et al. 2012, BugLocator). It needs no annotator. The answers are incomplete and
sometimes irrelevant, equally for every system."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console

from treeline.corpus.errors import InputError
from treeline.corpus.function import Address
from treeline.engine.hits import Hit
from treeline.eval.dataset import Case, DataSet, Evaluation, Metric, join, read_jsonl
from treeline.eval.harness import (
    Output,
    choice_options,
    evaluation_settings,
    finish,
    loading,
    output_options,
    run,
    select_variants,
)
from treeline.eval.indexes import ENGINE, source_searcher
from treeline.eval.metrics import ndcg, recall, reciprocal_rank, success
from treeline.eval.report.document import summarise
from treeline.eval.systems import DEFAULT, DENSE, HYBRID, KEYWORD, Variant
from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.outline import outline
from treeline.ingest.parsers.registry import by_suffix
from treeline.search.settings import Settings

# A commit that touches more code files than this is a sweeping change (a rename, a reformat), not a question.
MOST_FILES = 15
LEAST_WORDS = 3
TRIVIAL = re.compile(
    r"^(merge|revert|bump|release|version|wip|fixup!|squash!|typo|update (readme|changelog|docs?)|"
    r"v?\d+(\.\d+)+|initial commit|first commit|lint|format|cleanup|clean up|minor)\b",
    re.IGNORECASE,
)
# Prefixes such as "fix(scope): …" and "Fix #123", which are removed from the question.
PREFIX = re.compile(r"^(\w+)(\([^)]*\))?!?:\s+")
REFERENCE = re.compile(r"\(?(?:#\d+|GH-\d+|[A-Z]{2,}-\d+)\)?")
FIELD, RECORD = "\x1f", "\x1e"
PATCH = "--format= --unified=0 --no-color --no-ext-diff --no-textconv --no-renames --diff-filter=AM".split()
HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """A commit's subject, and the changed lines of each code file after it."""

    commit: str
    subject: str
    lines: dict[str, list[tuple[int, int]]]


def question(subject: str) -> str:
    """The subject as a question, or '' if it is trivial."""
    if TRIVIAL.match(subject.strip()):
        return ""
    words = REFERENCE.sub(" ", PREFIX.sub("", subject.strip()))
    words = " ".join(words.split()).strip(" .")
    if TRIVIAL.match(words) or len(re.findall(r"[A-Za-z]{2,}", words)) < LEAST_WORDS:
        return ""
    return words


def changes(repository: Path, limit: int = 5000) -> Iterator[Change]:
    """The commits, newest first, without merges."""
    log = _git(repository, "log", "--no-merges", f"--max-count={limit}", f"--format={RECORD}%H{FIELD}%s", "HEAD")
    for record in log.split(RECORD)[1:]:
        commit, _, subject = record.strip().partition(FIELD)
        patch = _git(repository, "show", *PATCH, commit)
        lines = {path: hunks for path, hunks in _hunks(patch) if grammar_of(path)}
        if 0 < len(lines) <= MOST_FILES:
            yield Change(commit, subject, lines)


def grammar_of(path: str) -> Grammar | None:
    """The file's grammar; None if it is not code we can parse."""
    grammar = by_suffix().get(Path(path).suffix.lower())
    return grammar if grammar and grammar.query else None


def changed_functions(hunks: list[tuple[int, int]], names: dict[str, tuple[int, int]]) -> list[str]:
    """The innermost functions that a hunk overlaps."""
    inner: set[str] = set()
    for first, last in hunks:
        around = [name for name, (start, end) in names.items() if start <= last and first <= end]
        inner.update(name for name in around if not any(_is_within(names[other], names[name]) for other in around))
    return sorted(inner)


def _is_within(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]


def file_at(repository: Path, commit: str, path: str) -> bytes:
    """A file's bytes as of a commit."""
    command = ["git", "-C", str(repository), "cat-file", "blob", f"{commit}:{path}"]
    return subprocess.run(command, capture_output=True, check=False).stdout


def _hunks(patch: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    for part in re.split(r"^diff --git ", patch, flags=re.MULTILINE)[1:]:
        target = re.search(r"^\+\+\+ b/(.+?)\t?$", part, re.MULTILINE)
        if target is None:
            continue
        spans = []
        for match in HUNK.finditer(part):
            first, count = int(match[1]), int(match[2] if match[2] is not None else 1)
            # A pure deletion leaves no changed line; its place is the line before.
            spans.append((first, first + max(count, 1) - 1))
        if spans:
            yield target[1], spans


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-c", "core.quotepath=off", "-C", str(repository), *arguments]
    try:
        result = subprocess.run(command, capture_output=True, check=True)
    except FileNotFoundError:
        raise InputError("git is not installed", "mining needs it to read the history") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"{repository} has no readable git history: {lines[-1] if lines else 'git failed'}") from None
    return result.stdout.decode("utf-8", "replace")


LEVELS = ("file", "symbol")
KS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class MinedCase:
    """A commit's subject, and the files and functions it changed that still exist."""

    repository: str
    commit: str
    query: str
    files: tuple[str, ...]
    symbols: tuple[str, ...]  # path::Class.method

    def answers(self, level: str) -> tuple[str, ...]:
        return self.files if level == "file" else self.symbols


def mine(repository: Path, limit: int = 5000) -> list[MinedCase]:
    """Every case of the history that still has an answer, newest first, without repeated questions."""
    if not (repository / ".git").exists() and not (repository / "HEAD").exists():
        raise InputError(f"{repository} is not a git repository", "give a checkout with its history")
    name = repository.resolve().name
    now: dict[str, dict[str, tuple[int, int]]] = {}
    cases: dict[str, MinedCase] = {}
    for change in changes(repository, limit):
        query = question(change.subject)
        if not query or query.lower() in cases:
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
            names = changed_functions(hunks, then)
            symbols.extend(f"{path}::{symbol}" for symbol in names if symbol in now[path])
        if files:
            cases[query.lower()] = MinedCase(name, change.commit, query, tuple(files), tuple(symbols))
    return list(cases.values())


def functions_in(path: str, source: bytes) -> dict[str, tuple[int, int]]:
    """The functions of a file and their lines; empty without a parser."""
    grammar = grammar_of(path)
    if grammar is None or not source:
        return {}
    return {function.name: (function.first_line, function.last_line) for function in outline(grammar, source).functions}


def write(cases: Iterable[MinedCase], path: Path) -> None:
    """Write one JSON object per line."""
    try:
        path.write_bytes(b"".join(orjson.dumps(asdict(case)) + b"\n" for case in cases))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def read(path: Path) -> list[MinedCase]:
    """Read mined cases, or hand-written ones in the common form."""
    return read_jsonl(path, _case, "a mined case", "cases")


def _case(row: Any) -> MinedCase:
    """A mined row, or `{"query", "relevant_files", "relevant_symbols"}`, which names no repository or commit."""
    if "relevant_files" in row or "relevant_symbols" in row:
        files, symbols = row.get("relevant_files") or (), row.get("relevant_symbols") or ()
        return MinedCase(str(row.get("repository", "")), "", str(row["query"]), tuple(files), tuple(symbols))
    return MinedCase(
        str(row["repository"]), str(row["commit"]), str(row["query"]), tuple(row["files"]), tuple(row["symbols"])
    )


def dataset(cases: Sequence[MinedCase], keys: Collection[str], level: str = "file", ks: Sequence[int] = KS) -> DataSet:
    """The cases with an indexed answer at this level, grouped by repository."""
    if level not in LEVELS:
        raise InputError(f"unknown level {level!r}", f"choose one of {', '.join(LEVELS)}")
    answerable = [
        Case(f"{case.repository}@{case.commit[:10] or number}", case.query, relevance, group=case.repository)
        for number, case in enumerate(cases, start=1)
        if (relevance := dict.fromkeys(_indexed_answers(case, level, keys), 1.0))
    ]
    if not answerable:
        raise InputError(f"no mined case has an indexed answer at the {level} level", "use a longer history")
    deepest = max(ks)
    metrics = [Metric("mrr", "MRR"), Metric(f"ndcg_{deepest}", f"nDCG@{deepest}")]
    metrics += [Metric(f"recall_{k}", f"recall@{k}") for k in ks] + [Metric(f"hit_{k}", f"hit@{k}") for k in ks]
    return DataSet(
        name="mined" if level == "file" else "mined-symbols",
        about=f"commit subjects against the {level}s they changed",
        cases=answerable,
        metrics=metrics,
        headline="mrr",
        measure=_measure(level, ks),
        depth=100,
        facts={
            "level": level,
            "repositories": float(len({case.group for case in answerable})),
            "cases": float(len(answerable)),
            "cases without an indexed answer at this level": float(len(cases) - len(answerable)),
        },
    )


def _indexed_answers(case: MinedCase, level: str, keys: Collection[str]) -> Iterator[str]:
    """The answers that are in the index; a symbol without a path is looked up by its name."""
    for answer in case.answers(level):
        if level == "symbol" and "::" not in answer:
            yield from (one for one in keys if f".{one.partition('::')[2]}".endswith(f".{answer}"))
        elif answer in keys:
            yield answer


def key(address: Address, level: str) -> str:
    """The unit of an answer: a file, or a function in it."""
    return address.path if level == "file" else f"{address.path}::{address.func_name}"


def _measure(level: str, ks: Sequence[int]) -> Callable[[Case, Sequence[Hit]], dict[str, float | None]]:
    def measure(case: Case, hits: Sequence[Hit]) -> dict[str, float | None]:
        # A file takes the rank of its first result.
        ranking = list(dict.fromkeys(key(hit.address, level) for hit in hits))
        values: dict[str, float | None] = {
            "mrr": reciprocal_rank(ranking, case.relevant),
            f"ndcg_{max(ks)}": ndcg(ranking, case.relevance, max(ks)),
        }
        for k in ks:
            values[f"recall_{k}"] = recall(ranking, case.relevant, k)
            values[f"hit_{k}"] = success(ranking, case.relevant, k)
        return values

    return measure


COMPARISON = (
    KEYWORD,
    DENSE,
    HYBRID,
    Variant("adaptive", "keyword and dense, weights by the kind of question", ("keyword", "dense"), "adaptive"),
    Variant("+ graph", "the call graph beside them", ("keyword", "dense", "graph"), "adaptive"),
    Variant("+ re-rank", "keyword and dense, re-ranked", ("keyword", "dense"), "adaptive", "default"),
    DEFAULT,
)


@click.command("mined")
@click.argument("repositories", nargs=-1, metavar="REPO…")
@click.option("--manifest", metavar="FILE", default="", help="A file with one repository a line.")
@click.option("--build", metavar="FILE", default="", help="Write the cases as JSONL and stop.")
@click.option("--cases", metavar="FILE", default="", help="Use the cases of this JSONL file.")
@click.option("--level", type=click.Choice(LEVELS), default="file", show_default=True, help="What is to be found.")
@click.option("--ks", default="1,5,10", show_default=True, metavar="K,K…", help="Cut-offs of recall and hit.")
@click.option(
    "--most", default=200, show_default=True, type=click.IntRange(1), help="Cases per repository, newest first."
)
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
    from_file = read(Path(cases)) if cases else None
    by_path = {path: (from_file or mine(path)) for path in paths}
    by_path = {
        path: [replace(case, repository=name) for case in of_path if case.repository in ("", name)][:most]
        for path, of_path in by_path.items()
        for name in (path.resolve().name,)
    }
    if build:
        every = [case for of_path in by_path.values() for case in of_path]
        write(every, Path(build))
        output.console.print(f"{len(every)} cases written to {build}", soft_wrap=True)
        return
    variants, baseline = select_variants(compare, ablate, COMPARISON)
    evaluations = [
        evaluate_repository(path, of_path, level, cut_offs, variants, evaluation_settings(ENGINE, ""), output.console)
        for path, of_path in by_path.items()
        if has_answers(path, of_path, level, output.console)
    ]
    if not evaluations:
        raise InputError("no repository has a usable case", "use repositories with a longer history")
    finish(summarise(join(evaluations), baseline, DEFAULT.name), output)


def has_answers(path: Path, cases: Sequence[MinedCase], level: str, console: Console) -> bool:
    """True if any case has an answer; says so if none has."""
    if any(case.answers(level) for case in cases):
        return True
    console.print(f"{path}: no case with an answer, left out", style="yellow")
    return False


def evaluate_repository(
    path: Path,
    cases: Sequence[MinedCase],
    level: str,
    ks: Sequence[int],
    variants: Sequence[Variant],
    settings: Settings,
    console: Console,
) -> Evaluation:
    """Index one repository and ask its cases."""
    with loading(console) as progress:
        searcher = source_searcher(f"mined-{path.resolve().name}".lower(), str(path), settings, progress)
    with closing(searcher):
        keys = {key(address, level) for _, address in searcher.engine.addresses()}
        return run(dataset(cases, keys, level, ks), searcher, variants, console)


def read_manifest(path: Path) -> list[Path]:
    """One repository per line, relative to the manifest; `#` starts a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    names = [line.split("#")[0].strip() for line in lines]
    return [path.parent / name for name in names if name]


def parse_ks(text: str) -> tuple[int, ...]:
    try:
        ks = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        ks = ()
    if not ks or ks[0] < 1 or ks[-1] > 100:
        raise InputError(f"--ks {text!r} is not a list of cut-offs from 1 to 100", "write it as 1,5,10")
    return ks
