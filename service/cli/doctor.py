"""`treeline doctor`: checks the installation, and says what is missing and how to get it."""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import click

from treeline.corpus.counting import counted
from treeline.corpus.errors import (
    CredentialsError,
    EncoderMismatch,
    EngineUnavailable,
    ExtraMissing,
    InputError,
    TreelineError,
)
from treeline.corpus.frozen import frozen
from treeline.engine.protocol import Store
from treeline.search.settings import Settings
from treeline.service.cli.options import echo, echo_json, index_options, is_named, settings_for

SERVER_VERSIONS = ("8.", "9.")  # of Elasticsearch; the client refuses others
FLOOD_STAGE = "index.blocks.read_only_allow_delete"  # set by the server when its disk is nearly full
TIMEOUT_S = 60  # for a program to print its version; a browser's first start takes ten
State = Literal["ok", "missing", "failed"]


@frozen
class Finding:
    """The result of one check; `needed` if the settings require it."""

    what: str
    state: State
    detail: str
    hint: str = ""
    needed: bool = True


@click.command("doctor")
@index_options
@click.option("--verify", is_flag=True, help="Read every file of every index (or the one named) and compare checksums.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, and nothing else on stdout.")
def doctor(engine: str | None, name: str, verify: bool, as_json: bool) -> None:
    """Check Python, the encoder, the index, Elasticsearch and the rest; exits with 1 if something needed fails.

    Without --name and TREELINE_INDEX, the index is that of this folder's project if it has one, else the default one.
    """
    settings = _of_folder(settings_for(engine, name), name)
    findings = [finding for check in CHECKS for finding in check(settings)]
    if verify:
        findings += check_files(settings, name)
    if as_json:
        echo_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            mark = {"ok": "✓", "missing": "✗" if finding.needed else "–", "failed": "✗"}[finding.state]
            hint = f"  → {finding.hint}" if finding.hint else ""
            echo(f"{mark} {finding.what}: {finding.detail}{hint}")
    if any(finding.needed and finding.state != "ok" for finding in findings):
        click.get_current_context().exit(1)


def _of_folder(settings: Settings, name: str) -> Settings:
    """The settings of the index to check; without one if none is named, and neither the project nor the default is
    there."""
    from treeline.ingest.project import find_project
    from treeline.search.settings import open_store

    if is_named(settings, name):
        return settings
    present = open_store(settings).names()
    with suppress(InputError):  # the folder is no project
        if (project := find_project(Path.cwd(), settings.home_path)).index in present:
            return replace(settings, index=project.index)
    return settings if settings.index in present else replace(settings, index="")


def python(_settings: Settings) -> Iterator[Finding]:
    yield Finding("Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def encoder(settings: Settings) -> Iterator[Finding]:
    from treeline.encoder.registry import load

    try:
        model = load(settings.encoder)
    except (TreelineError, ImportError, OSError, ValueError) as error:
        hint = (
            error.hint if isinstance(error, TreelineError) else "pip install '.[transformers]' in Treeline's checkout"
        )
        yield Finding("encoder", "failed", _first_line(error), hint)
        return
    detail = f"{model.name} ({model.dimension} dimensions)" if model else "none: keyword search only"
    yield Finding("encoder", "ok", detail)


def index(settings: Settings) -> Iterator[Finding]:
    from treeline.encoder.registry import check_shipped
    from treeline.engine.names import alias_name, index_name
    from treeline.search.settings import open_store

    if not settings.index:
        hint = "`treeline QUESTION` in a repository makes one, or `treeline index SOURCE`"
        yield Finding("index", "missing", "none yet", hint, needed=False)
        return
    try:
        with closing(open_store(settings).open(settings.index)) as engine:
            info, there = engine.info, engine.count()
    except TreelineError as error:
        yield Finding("index", "missing", error.message, error.hint or "treeline index SOURCE")
        return
    encoders = ", ".join(f"{one.name} ({one.dimension})" for one in info.encoders) or "none"
    where = f"generation {info.generation}"
    if settings.engine == "elasticsearch":
        where = f"alias {alias_name(info.name)} → {index_name(info.name, info.generation)}"
    detail = f"{info.name}: {counted(info.functions, 'unit')}, {where}, encoder {encoders}"
    if there != info.functions:
        hint = "go back with `treeline status --roll-back`, or index again with --fresh"
        yield Finding("index", "failed", f"{detail}; but {there:,} are there", hint)
        return
    try:
        check_shipped(one.name for one in info.encoders)
        yield Finding("index", "ok", detail)
    except EncoderMismatch as error:
        yield Finding("index", "failed", error.message, error.hint)


def check_files(settings: Settings, name: str) -> Iterator[Finding]:
    """Every generation of this index, or of all, with its damaged files and the command that repairs it."""
    from treeline.search.settings import open_store

    try:
        store = open_store(settings)
        names = [name] if name else store.names()
        for each in names:
            generations = store.verify(each)
            damaged_files = {generation: files for generation, files in generations.items() if files}
            if not damaged_files:
                detail = f"{each}: {counted(len(generations), 'generation')}, every file as it was written"
                yield Finding("files", "ok", detail)
            for generation, files in damaged_files.items():
                detail = f"{each}: generation {generation} is damaged: {', '.join(files)}"
                yield Finding("files", "failed", detail, _repair(store, settings, each, generation, files))
    except TreelineError as error:
        yield Finding("files", "missing", error.message, error.hint)


def _repair(store: Store, settings: Settings, name: str, generation: str, files: Sequence[str]) -> str:
    """The command that repairs a generation: removes an old one, rebuilds the current one from its sources."""
    from treeline.ingest import state
    from treeline.service.projects import project_names

    if generation != store.current(name):
        return f"treeline status --name {name} --prune 1"
    if name in project_names(settings):
        return f"treeline status --name {name} --drop"  # the next query makes it again
    sources: list[str] = []
    if f"artifacts/{state.ARTIFACT}" not in files:
        with suppress(Exception):
            sources = state.sources_in(store.artifact(name, state.ARTIFACT))
    return f"treeline index {shlex.join(sources) or 'SOURCE…'} --name {name} --fresh"


def elasticsearch(settings: Settings) -> Iterator[Finding]:
    """The cluster's health and version."""
    from treeline.engine.names import alias_name
    from treeline.search.settings import open_store

    is_needed = settings.engine == "elasticsearch"
    try:
        store = open_store(replace(settings, engine="elasticsearch"))
    except TreelineError as error:
        state: State = "missing" if isinstance(error, ExtraMissing) else "failed"
        yield Finding("Elasticsearch", state, error.message, error.hint, is_needed)
        return
    from treeline.engine.elasticsearch import ElasticsearchStore
    from treeline.engine.elasticsearch.client import addresses, server_errors

    assert isinstance(store, ElasticsearchStore)
    url = addresses(store.client)
    try:
        with server_errors(store.client):
            health = store.client.cluster.health()
            nodes = store.client.nodes.info(node_id="_all", metric="none")["nodes"]
            blocks = store.client.indices.get_settings(
                index=alias_name("*"), name=FLOOD_STAGE, expand_wildcards="all", flat_settings=True
            )
        indexes = len(store.names())
    except TreelineError as error:
        hint = error.hint if is_needed else "docker compose up, or set TREELINE_ELASTICSEARCH_URL"
        silent = isinstance(error, EngineUnavailable) and not isinstance(error, CredentialsError)
        detail = f"{url}: does not answer" if silent else error.message
        yield Finding("Elasticsearch", "missing", detail, hint, is_needed)
        return
    finally:
        store.close()
    versions = sorted({node["version"] for node in nodes.values()})
    detail = (
        f"{url}: {health['status']}, {counted(len(nodes), 'node')}, version {', '.join(versions)}, "
        f"{counted(indexes, 'index')}"
    )
    if health["status"] == "red":
        yield Finding("Elasticsearch", "failed", detail, "some data is on no node: see GET _cluster/allocation/explain")
    elif any(entry["settings"] for entry in blocks.values()):
        hint = "its disk is nearly full: free some space, and it recovers by itself"
        yield Finding("Elasticsearch", "failed", f"{detail}; indexes are closed to writing", hint, is_needed)
    elif any(not version.startswith(SERVER_VERSIONS) for version in versions):
        yield Finding(
            "Elasticsearch", "failed", detail, f"Treeline is made for {'x and '.join(SERVER_VERSIONS)}x", is_needed
        )
    else:
        yield Finding("Elasticsearch", "ok", detail, needed=is_needed)


def programs(_settings: Settings) -> Iterator[Finding]:
    """Optional programs; searching needs only Python."""
    for program, option, purpose, package in (
        ("git", "--version", "to index repositories by URL, and to link to the files of checkouts", "git"),
        ("java", "-version", "to run Elasticsearch without Docker, in tests", "openjdk-17-jre-headless"),
        ("mvn", "--version", "to fetch Elasticsearch, in tests", "maven"),
        ("chromium", "--version", "for browser tests", "chromium"),
    ):
        executable = shutil.which(program)
        if executable is None:
            yield Finding(program, "missing", purpose, f"apt-get install {package}", needed=False)
            continue
        try:
            run = subprocess.run([executable, option], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            yield Finding(program, "failed", str(error), f"does `{program} {option}` answer?", needed=False)
            continue
        version = re.search(r"\d+(\.\d+)+", run.stdout + run.stderr)
        yield Finding(program, "ok", version[0] if version else "there", needed=False)


def extras(_settings: Settings) -> Iterator[Finding]:
    """Optional packages, found without importing them, which takes seconds."""
    names = ("torch", "sentence_transformers", "onnxruntime", "geoopt")
    if all(map(find_spec, names)):
        yield Finding("transformers", "ok", ", ".join(names), needed=False)
    else:
        hint = "pip install '.[transformers]' in Treeline's checkout"
        yield Finding("transformers", "missing", "for other encoders and cross-encoders", hint, needed=False)


CHECKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (python, encoder, index, elasticsearch, programs, extras)


def _first_line(error: BaseException) -> str:
    return (error.message if isinstance(error, TreelineError) else str(error)).partition("\n")[0]
