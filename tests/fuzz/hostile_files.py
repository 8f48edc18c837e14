"""A repository of hostile files in every language, and the time that each page and tool takes to show them.

`python -m tests.fuzz.hostile_files --seed 1` indexes 228 files, goes through everything that shows a file or a unit of
it, and lists what is answered with 5xx or takes too much processor time. Another seed gives each language other texts.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from treeline.corpus.errors import TreelineError
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.parsers.registry import by_suffix, language_of, languages
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.sources import open_source
from treeline.search.settings import Settings
from treeline.service.app import create_app
from treeline.service.mcp.server import create_server
from treeline.service.present.highlight import file_lines, preview, whole
from treeline.service.present.text import file_address
from treeline.service.present.tokenizer import _unit_pieces, tokenizer

ANSWER_SECONDS = 2.0  # of processor time for one page or tool
HIGHLIGHT_SECONDS = 0.5
TRIES = 3  # a busy machine doubles the time of one
PER_LANGUAGE = 3  # files
MOST_UNITS = 2  # of a file, the longest

UNIT_TOOLS = ("get_function", "find_callers", "find_callees", "similar_functions")

# They stop expressions that go back, scanners that search to the end, and loops over what repeats.
TEXTS = {
    "backslashes in a string": '"' + "\\" * 60_000,
    "sixty backslashes": 'val a = "' + "\\" * 60,
    "comments that open": "(*" + "a." * 50 + "/*(*{-#|" * 8_000,
    "brackets": "(" * 50_000 + ")" * 50_000,
    "braces": "{" * 30_000,
    "quotes": "\"'`" * 30_000,
    "blank lines": "\n" * 300_000 + ".",
    "tabs and spaces": " \t" * 100_000 + ".",
    "names with dots": "a." * 50_000,
    "calls of calls": "f(" * 20_000 + ")" * 20_000,
    "interpolations": '"${' * 20_000,
    "tags": "<a " * 20_000,
    "heredocs": "<<A <<B\n" * 8_000,
    "indents": "".join(" " * (at % 300) + "if a:\n" for at in range(2_000)),
    "one long line": "x = 1; " * 60_000,
    "operators": "a<b>c*" * 10_000,
    "many definitions": "def f(a): return a\nfunction f(a) { return a }\n" * 3_000,
    "headings": "# a\n" * 30_000,
    "tables": "|a" * 30_000 + "\n" + "|-" * 30_000,
    "links": "[a](" * 20_000,
    "control characters": "".join(map(chr, range(1, 32))) * 2_000,
    "directions": "\u202ea\u2066" * 20_000,
    "combining marks": "e" + "\u0301" * 60_000,
}
HEADS = (
    "",
    "def f(a):\n    return ",
    "function f(a) {\n  return ",
    "int f(int a) {\n  return ",
    "object A { def f() = { ",
)
TAILS = ("", "\n", "\n}\n")


def write_repository(folder: Path, seed: int = 0, per_language: int = PER_LANGUAGE) -> list[Path]:
    """Hostile files of every language, without those that end loads; returns those with text."""
    suffixes = {language_of(f"a{suffix}"): suffix for suffix in by_suffix()} | {"dockerfile": ".dockerfile"}
    texts, folder = list(TEXTS.items()), folder / "hostile"
    folder.mkdir(parents=True)
    made: list[Path] = []
    for number, language in enumerate(sorted(languages())):
        for at in range(per_language):
            name, text = texts[(number * PER_LANGUAGE + at * 7 + seed) % len(texts)]
            path = folder / f"{language}-{name.replace(' ', '-')}{suffixes.get(language, '.txt')}"
            head = HEADS[(number + at + seed) % len(HEADS)]
            path.write_text(head + text + TAILS[(number + at + seed) % len(TAILS)], encoding="utf-8")
            made.append(path)
    for odd in (b"caf\xe9.py", b"a\nb.py", b"<script>.py", b"\xe2\x80\xaegnp.py", b"a b#?%2f.py", b"x" * 240 + b".py"):
        (folder / os.fsdecode(odd)).write_text("def odd(): pass\n")
    return made


def index_repository(home: Path, seed: int = 0, per_language: int = PER_LANGUAGE) -> list[Path]:
    """Write the files beside `home` and index them in it."""
    files = write_repository(home.parent, seed, per_language)
    source = open_source(str(home.parent / "hostile"))
    load(EmbeddedStore(home), "default", [source], LoadOptions(work=home.parent / "work", workers=0))
    return files


def addresses(client: FlaskClient, path: str) -> Iterator[str]:
    """The addresses that show a file of the repository, and units of it."""
    page, api = file_address("hostile", path), f"/api{file_address('hostile', path)}"
    yield from (page, f"{page}?raw=1", f"{page}?at=1", f"{page}?from=1&part=1", api, f"/search?q=f+path:{path}")
    body = client.get(api).get_json()
    units = sorted(body.get("outline", ()), key=lambda unit: unit["lines"][0] - unit["lines"][1])
    if body.get("lines"):
        yield f"{page}?from={body['lines']}"
    for unit in units[:MOST_UNITS]:
        for start in ("/functions", "/api/functions"):
            yield from (f"{start}/{unit['id']}", f"{start}/{unit['id']}/similar")
        yield from (f"/functions/{unit['id']}/code?q=f", f"/api/functions/{unit['id']}/neighbours")


def processor_seconds() -> float:
    """Of this process, those that parse for it, and those before them."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    parser = tokenizer._process
    return (
        time.process_time()
        + ended.ru_utime
        + ended.ru_stime
        + (time.clock_gettime(~parser.pid << 3 | 2) if parser else 0.0)
    )


def forget_texts() -> None:
    _unit_pieces.cache_clear()
    tokenizer.close()
    tokenizer.__init__()  # type: ignore[misc]


class Slowest:
    """The slowest call of each kind, and all that failed or took too long."""

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[float, str]] = {}
        self.faults: list[str] = []

    def time_fairly(self, kind: str, about: str, limit: float, show: Callable[[], object]) -> None:
        """Time the quickest of a few tries, each with a new process that remembers no text."""
        for _ in range(TRIES):
            one = Slowest()
            with one.timed(kind, about, limit):
                show()
            if not one.faults:
                break
            forget_texts()
        self.seconds[kind] = max(self.seconds.get(kind, (0.0, "")), one.seconds[kind])
        self.faults += one.faults

    @contextmanager
    def timed(self, kind: str, about: str, limit: float) -> Iterator[None]:
        begin = processor_seconds()
        yield
        seconds = processor_seconds() - begin
        self.seconds[kind] = max(self.seconds.get(kind, (0.0, "")), (seconds, about))
        if seconds > limit:
            self.faults.append(f"{kind}: {seconds:.2f} s for {about}")


def highlight(files: list[Path], slowest: Slowest) -> None:
    views: dict[str, Callable[[str, str], object]] = {
        "highlight a file": lambda text, language: file_lines(text, language),
        "highlight a function": lambda text, language: whole(language, text, frozenset({"f"})),
        "highlight a preview": lambda text, language: preview(language, text, frozenset({"f"})),
    }
    for file in files:
        text, language = file.read_text(encoding="utf-8"), file.name.partition("-")[0]
        for kind, view in views.items():
            slowest.time_fairly(kind, file.name, HIGHLIGHT_SECONDS, partial(view, text, language))


def browse(app: Flask, files: list[Path], slowest: Slowest) -> int:
    """Request everything that shows a file; returns the number of requests."""
    client, count = app.test_client(), 0
    for file in files:
        for address in addresses(client, file.name):
            kind = " ".join(("page", *address.partition("?")[0].split("/")[1:-1][:2], address.partition("?")[2][:4]))
            with slowest.timed(kind, f"{file.name}: {address[:100]}", ANSWER_SECONDS):
                status = client.get(address).status_code
            if status >= 400 and status != 404:  # what is minified or does not parse is not in the index
                slowest.faults.append(f"{status}: {address} ({file.name})")
            count += 1
    return count


def use_tools(home: Path, files: list[Path], slowest: Slowest) -> int:
    """Call the agents' tools on every file; returns the number of calls."""
    server = create_server(Settings(home=str(home), mcp_roots=str(home.parent / "hostile")))
    count = 0
    for file in files:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("outline", {"file": str(file)}),
            ("read_lines", {"file": str(file)}),
            ("read_lines", {"file": str(file), "first": 200_000}),
            ("search_code", {"query": "f", "path": file.name}),
            *((tool, {"function": f"{file.name}:1"}) for tool in UNIT_TOOLS),
        ]
        for tool, arguments in calls:
            with slowest.timed(f"tool {tool}", file.name, ANSWER_SECONDS):
                try:
                    server.call(tool, arguments)
                except TreelineError as error:  # a sentence for the agent: no such line, no such unit
                    if "Traceback" in str(error):
                        slowest.faults.append(f"{tool} {file.name}: {error}")
            count += 1
    return count


def measure(folder: Path, seed: int = 0, per_language: int = PER_LANGUAGE) -> Slowest:
    """Index the files in a folder, highlight them, and go through every page and tool."""
    slowest, home = Slowest(), folder / "home"
    files = index_repository(home, seed, per_language)
    highlight(files, slowest)
    app = create_app(Settings(home=str(home), rate_per_address=0, feedback=False))
    pages = browse(app, files, slowest)
    tools = use_tools(home, files, slowest)
    app.extensions["treeline"].close()
    print(f"{len(files)} files in {len(languages())} languages: {pages:,} pages, {tools:,} calls of tools")
    return slowest


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    with tempfile.TemporaryDirectory() as folder:
        slowest = measure(Path(folder), seed)
    for kind, (seconds, about) in sorted(slowest.seconds.items()):
        print(f"{seconds:6.3f} s  {kind:40} {about[:110]}")
    print(*slowest.faults, f"{len(slowest.faults)} faults", sep="\n")
    return 1 if slowest.faults else 0


if __name__ == "__main__":
    sys.exit(main())
