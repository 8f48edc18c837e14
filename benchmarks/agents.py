"""`python -m benchmarks.agents QUESTIONS --checkouts DIR`: how many tokens an agent reads until it has the right file.

The questions are those of `treeline eval repository`. An agent calls a tool, reads the whole answer, and goes on until
an answer shows a file that answers the question; it pays for every answer. The tools:

- **treeline**: `search_code` of the MCP server with its defaults, then the next results (`offset`).
- **grep, lines**: what `rg --ignore-case --line-number` prints for the three rarest words of the question, best file
  first, 50 lines per answer. It counts as found when one line of the right file is printed.
- **grep, windows** and **grep, files**: the list of files that match, best first, then 100 lines around the densest
  match of each file, or the whole file, one answer each. It counts as found when the right file is read.
- **semble**: the text that its MCP tool `search` returns with its defaults (5 results of 10 lines), then 10, 20 and 40
  results. Its own model cannot be had everywhere, so it is measured with BM25 alone and with Treeline's encoder as a
  stand-in; both keep its chunks, its fusion and its ranking rules.

For grep, files are ranked by how many of the words they have, then by how many lines have one. This favours grep: `rg`
prints files in no order.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import click

from benchmarks.figures import JSON, Report
from treeline.corpus.analysis import STOP_WORDS, parts
from treeline.corpus.errors import InputError
from treeline.eval.sets.repository import Question, Repository, by_repository, read
from treeline.search.settings import Settings
from treeline.service.cli import main
from treeline.service.cli.options import index_options, settings_for

BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
LIMIT = 32_000  # tokens after which an agent gives up; an unanswered question counts as this many
ASKED_WORDS = 3
GREP_LINES = 50
WINDOW = 100
PAGES = 16  # answers of one search that are read
CHARACTERS_PER_TOKEN = 4
BINARY = 1_000_000  # bytes; longer files are data
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
# A file in an answer of Treeline: `path/file.py:12-20` at the start of a line, after the repository if there is one.
PLACE = re.compile(r"^(?!\s*\d+ |[|>] )(?:\[\w+\] \S+ )?(.+?):\d+-\d+(?= |$)", re.MULTILINE)

SEMBLE = """
import json, sys
from semble.index import SembleIndex, index as module
from semble.utils import format_results

class Random:
    dim = 256
    def encode(self, texts, **_):
        import numpy as np
        return np.random.default_rng(0).standard_normal((len(texts), 256)).astype(np.float32)

class StandIn:
    def __init__(self):
        from treeline.corpus.function import Function
        from treeline.encoder.static import StaticEncoder
        self.encoder, self.unit = StaticEncoder.shipped(), Function
        self.dim = self.encoder.dimension
    def encode(self, texts, **_):
        if len(texts) == 1:
            return self.encoder.encode_queries(texts)
        units = [self.unit("", "", "", one, "", one, (), "", (), "", "", "") for one in texts]
        return self.encoder.encode_functions(units)

plain = sys.argv[1] == "bm25"
model = Random() if plain else StandIn()
module.load_model = lambda path=None: (model, sys.argv[1])
module.get_validated_cache = lambda *_: None
module.load_previous_for_incremental = lambda *_: None
module.save_search_stats = lambda *_: None
for line in sys.stdin:
    asked = json.loads(line)
    index = SembleIndex.from_path(asked["root"])
    for text in asked["questions"]:
        pages = []
        for top in (5, 10, 20, 40):
            found = index.search(text, top_k=top, alpha=0.0 if plain else None, max_snippet_lines=10)
            pages.append([json.dumps(format_results(text, found, 10, {})), [one.chunk.file_path for one in found]])
        print(json.dumps(pages), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """The answer to one call of a tool, and the files whose code it shows."""

    text: str
    files: Sequence[str]


Count = Callable[[str], int]
Way = Callable[[Repository, Sequence[Question]], Iterator[Iterable[Shown]]]


def run(
    questions: Path,
    checkouts: Path,
    *,
    only: Sequence[str],
    semble: str,
    tokenizer: str,
    settings: Settings,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """Ask every question with every tool, and report shares and means."""
    queries = read(questions, checkouts, only)
    name, count = counter(tokenizer)
    tell(f"{len(queries.rows)} questions, {len(queries.repositories)} repositories; tokens: {name}")
    times: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory(prefix="treeline-bench-") as scratch:
        ways = {
            "treeline": treeline(replace(settings, home=settings.home or scratch)),
            "grep, lines": grep_lines,
            "grep, windows": grep_windows,
            "grep, files": grep_files,
        }
        if semble:
            ways |= {f"semble, {kind}": ask_semble(semble, kind) for kind in ("bm25", "stand-in")}
        for way, ask in ways.items():
            for repository, part in by_repository(queries).items():
                for question, answers in zip(part.rows, ask(repository, part.rows), strict=True):
                    times.setdefault(way, []).append(tokens_to(question, answers, count))
    rows = [summary(way, some) for way, some in times.items()]
    for line in table(rows):
        tell(line)
    overhead = tool_tokens(settings, count)
    tell(f"treeline's tools and instructions, once a session: {overhead:,} tokens")
    return {
        "bench": "agents",
        "questions": len(queries.rows),
        "repositories": len(queries.repositories),
        "tokenizer": name,
        "limit": LIMIT,
        "ways": rows,
        "tools_tokens": overhead,
    }


def counter(tokenizer: str) -> tuple[str, Count]:
    """A token counter: a `tokenizer.json`, or a quarter of the characters."""
    if not tokenizer:
        return f"{CHARACTERS_PER_TOKEN} characters each", lambda text: -(-len(text) // CHARACTERS_PER_TOKEN)
    from tokenizers import Tokenizer

    try:
        model = Tokenizer.from_file(tokenizer)
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise InputError(f"{tokenizer} is not a tokenizer.json: {error}") from None
    return Path(tokenizer).name, lambda text: len(model.encode(text, add_special_tokens=False).ids)


def tokens_to(question: Question, answers: Iterable[Shown], count: Count) -> int:
    """The tokens of all answers up to the one that shows a right file; LIMIT if none does."""
    targets = {target.path for target in question.targets}
    inner = question.repository.inner
    read = 0
    for candidates in answers:
        read += count(candidates.text)
        if read >= LIMIT:
            break
        if targets.intersection(f"{inner}/{file}" if inner else file for file in candidates.files):
            return read
    return LIMIT


def summary(way: str, spent: Sequence[int]) -> dict[str, Any]:
    return {
        "way": way,
        "within": {str(budget): round(mean(one <= budget for one in spent), 3) for budget in BUDGETS},
        "mean": round(mean(spent)),
        "median": round(median(spent)),
        "never": sum(one >= LIMIT for one in spent),
    }


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"{'':18} " + " ".join(f"{f'≤{budget:,}':>7}" for budget in BUDGETS) + "    mean  median  never"
    for row in rows:
        shares = " ".join(f"{share:7.1%}" for share in row["within"].values())
        yield f"{row['way']:18} {shares} {row['mean']:7,} {row['median']:7,} {row['never']:6}"


def treeline(settings: Settings) -> Way:
    """`search_code` as an agent calls it in the folder, page by page."""

    def ask(repository: Repository, questions: Sequence[Question]) -> Iterator[Iterable[Shown]]:
        from treeline.service.mcp.server import create_server

        server = create_server(replace(settings, mcp_roots=str(repository.root.resolve())), follow=True)

        def call(**arguments: Any) -> str:
            return server.call("search_code", arguments).text

        def pages(question: Question) -> Iterator[Shown]:
            offset = 0
            for _ in range(PAGES):
                text = call(query=question.text, repo=str(repository.root.resolve()), offset=offset)
                files = PLACE.findall(text)
                yield Shown(text, files)
                if not files:
                    return
                offset += len(files)

        return (pages(question) for question in questions)

    return ask


def tool_tokens(settings: Settings, count: Count) -> int:
    """The tokens of the tools' descriptions, which an agent reads before its first question."""
    from treeline.service.mcp.server import INSTRUCTIONS, create_server

    tools = create_server(settings, follow=True).tools.values()
    return count(INSTRUCTIONS + json.dumps([tool.describe() for tool in tools]))


class _Files:
    """The text files of a folder by path, and which of a question's words are rare in them."""

    def __init__(self, root: Path) -> None:
        self.lines: dict[str, list[str]] = {}
        for path in sorted(root.rglob("*")):
            if path.is_file() and not path.is_symlink() and ".git" not in path.parts and path.stat().st_size < BINARY:
                content = path.read_bytes()
                if b"\0" not in content:
                    self.lines[str(path.relative_to(root))] = content.decode("utf-8", "replace").splitlines()
        self._lower = {path: "\n".join(lines).lower() for path, lines in self.lines.items()}

    def rare(self, question: str) -> list[str]:
        """The rarest words of a question that occur, by how many files have them."""
        words = {word.lower() for word in WORD.findall(question)} - STOP_WORDS
        whole = {
            word.lower() for results in WORD.findall(question) for word in (results, *parts(results)) if len(word) > 2
        }
        counts = {word: sum(word in text for text in self._lower.values()) for word in words or whole}
        return sorted((word for word in counts if counts[word]), key=lambda word: (counts[word], word))[:ASKED_WORDS]

    def ranked(self, question: str) -> list[tuple[str, list[int]]]:
        """Files with their matching lines (from 0), best first."""
        words = self.rare(question)
        results = []
        for path, text in self._lower.items():
            there = [word for word in words if word in text]
            if there:
                at = [n for n, line in enumerate(text.split("\n")) if any(word in line for word in there)]
                results.append((-len(there), -len(at), path, at))
        return [(path, at) for _, _, path, at in sorted(results)]


def grep_lines(repository: Repository, questions: Sequence[Question]) -> Iterator[Iterable[Shown]]:
    files = _Files(repository.root)

    def pages(question: Question) -> Iterator[Shown]:
        rows = [(path, n) for path, at in files.ranked(question.text) for n in at]
        for start in range(0, len(rows), GREP_LINES):
            page = rows[start : start + GREP_LINES]
            text = "\n".join(f"{path}:{n + 1}:{files.lines[path][n]}" for path, n in page)
            yield Shown(text, [path for path, _ in page])

    return (pages(question) for question in questions)


def grep_windows(repository: Repository, questions: Sequence[Question]) -> Iterator[Iterable[Shown]]:
    return _list_and_read(repository, questions, WINDOW)


def grep_files(repository: Repository, questions: Sequence[Question]) -> Iterator[Iterable[Shown]]:
    return _list_and_read(repository, questions, 0)


def _list_and_read(repository: Repository, questions: Sequence[Question], window: int) -> Iterator[Iterable[Shown]]:
    """The list of files, then each file, or (`window`) this many lines of it around the most matches."""
    files = _Files(repository.root)

    def pages(question: Question) -> Iterator[Shown]:
        ranking = files.ranked(question.text)
        yield Shown("\n".join(path for path, _ in ranking), [])
        for path, at in ranking:
            start = max(at, key=lambda n: (sum(n <= m < n + window for m in at), -n)) if window else 0
            begin = max(0, start - window // 10)
            lines = files.lines[path][begin : begin + window] if window else files.lines[path]
            yield Shown("\n".join(lines), [path])

    return (pages(question) for question in questions)


def ask_semble(python: str, kind: str) -> Way:
    """The answers of semble's tool, from a separate process."""

    def ask(repository: Repository, questions: Sequence[Question]) -> Iterator[Iterable[Shown]]:
        path = os.pathsep.join(filter(None, [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")]))
        queries = {"root": str(repository.root.resolve()), "questions": [question.text for question in questions]}
        process = subprocess.run(
            [python, "-c", SEMBLE, kind],
            input=json.dumps(queries) + "\n",
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"},
        )
        if process.returncode:
            why = (process.stderr.strip().splitlines() or ["it failed"])[-1]
            raise InputError(f"{python} cannot run semble: {why}", "install semble[mcp] for it")
        for line in process.stdout.splitlines():
            yield [Shown(text, files) for text, files in json.loads(line)]

    return ask


@click.command
@click.argument("questions", type=click.Path(path_type=Path))
@click.option(
    "--checkouts", type=click.Path(path_type=Path), metavar="DIR", required=True, help="The repositories are DIR/NAME."
)
@click.option("--only", default="", metavar="NAME,…", help="Only these repositories.")
@click.option("--tokenizer", default="", metavar="FILE", help="A tokenizer.json; default: characters / 4.")
@click.option("--semble", default="", metavar="PYTHON", help="A Python with semble, to measure it too.")
@index_options
@JSON
def command(
    questions: Path,
    checkouts: Path,
    only: str,
    tokenizer: str,
    semble: str,
    engine: str | None,
    name: str,
    json_file: str,
) -> None:
    """Count the tokens that agents read until they have the right file."""
    report = Report(json_file)
    document = run(
        questions,
        checkouts,
        only=[one.strip() for one in only.split(",") if one.strip()],
        semble=semble,
        tokenizer=tokenizer,
        settings=settings_for(engine, name),
        tell=report.tell,
    )
    report.write(document)


if __name__ == "__main__":
    main(command)
