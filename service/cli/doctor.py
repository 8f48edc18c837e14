"""`treeline doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Literal

import click

from corpus.errors import TreelineError
from service.cli.options import settings_for, where
from service.settings import Settings

State = Literal["ok", "missing", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. Only what the settings ask for is `needed`."""

    what: str
    state: State
    detail: str
    hint: str = ""
    needed: bool = True


@click.command("doctor")
@where
@click.option("--json", "as_json", is_flag=True, help="As JSON, and nothing else on stdout.")
def command(engine: str | None, name: str, as_json: bool) -> None:
    """Look at Python, the encoder, the index, Elasticsearch, Java and the rest; exit with 1 when a need is not met."""
    settings = settings_for(engine, name)
    findings = [finding for check in CHECKS for finding in check(settings)]
    if as_json:
        import orjson

        click.echo(orjson.dumps([asdict(finding) for finding in findings], option=orjson.OPT_INDENT_2))
    else:
        for finding in findings:
            mark = {"ok": "✓", "missing": "✗" if finding.needed else "–", "failed": "✗"}[finding.state]
            hint = f"  → {finding.hint}" if finding.hint else ""
            click.echo(f"{mark} {finding.what}: {finding.detail}{hint}")
    if any(finding.needed and finding.state != "ok" for finding in findings):
        click.get_current_context().exit(1)


def python(_settings: Settings) -> Iterator[Finding]:
    yield Finding("Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def encoder(settings: Settings) -> Iterator[Finding]:
    from encoder.loading import load

    try:
        loaded = load(settings.encoder)
    except (TreelineError, ImportError, OSError, ValueError) as error:
        hint = error.hint if isinstance(error, TreelineError) else "pip install 'treeline[transformers]'"
        yield Finding("encoder", "failed", _first_line(error), hint)
        return
    detail = f"{loaded.name} ({loaded.dimension} dimensions)" if loaded else "none: keyword search only"
    yield Finding("encoder", "ok", detail)


def index(settings: Settings) -> Iterator[Finding]:
    from service.stores import open_store

    try:
        opened = open_store(settings).open(settings.index)
    except TreelineError as error:
        yield Finding("index", "missing", error.message, error.hint or "treeline index SOURCE")
        return
    info = opened.info
    opened.close()
    yield Finding("index", "ok", f"{info.name}: {info.functions:,} functions, generation {info.generation}")


def elasticsearch(settings: Settings) -> Iterator[Finding]:
    needed = settings.engine == "elasticsearch"
    from dataclasses import replace

    from service.stores import open_store

    try:
        names = open_store(replace(settings, engine="elasticsearch")).names()
    except TreelineError as error:
        hint = "docker compose up, or set TREELINE_ELASTICSEARCH_URL" if not needed else error.hint
        detail = "does not answer" if not needed else error.message
        yield Finding("Elasticsearch", "missing", f"{settings.elasticsearch_url}: {detail}", hint, needed)
        return
    yield Finding("Elasticsearch", "ok", f"{settings.elasticsearch_url}: {len(names)} indexes", needed=needed)


def programs(_settings: Settings) -> Iterator[Finding]:
    """Beside Python nothing is needed to search; this is for other uses."""
    for program, option, purpose, package in (
        ("git", "--version", "to index repositories by URL", "git"),
        ("java", "-version", "to run Elasticsearch without Docker, in tests", "openjdk-17-jre-headless"),
        ("mvn", "--version", "to fetch Elasticsearch, in tests", "maven"),
        ("chromium", "--version", "for browser tests", "chromium"),
    ):
        if shutil.which(program) is None:
            yield Finding(program, "missing", purpose, f"apt-get install {package}", needed=False)
            continue
        said = subprocess.run([program, option], capture_output=True, text=True, timeout=20, check=False)
        version = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
        yield Finding(program, "ok", version[0] if version else "there", needed=False)


def extras(_settings: Settings) -> Iterator[Finding]:
    """Found without importing them, which takes seconds."""
    there = [name for name in ("torch", "sentence_transformers", "onnxruntime", "geoopt") if find_spec(name)]
    if len(there) == 4:
        yield Finding("transformers", "ok", ", ".join(there), needed=False)
    else:
        hint = "pip install 'treeline[transformers]'"
        yield Finding("transformers", "missing", "for other encoders and cross-encoders", hint, needed=False)


CHECKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (python, encoder, index, elasticsearch, programs, extras)


def _first_line(error: BaseException) -> str:
    return (error.message if isinstance(error, TreelineError) else str(error)).partition("\n")[0]
