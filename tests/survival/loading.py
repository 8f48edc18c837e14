"""Loads that can be ended at any moment: each in a process of its own, forked from one that has everything imported."""

from __future__ import annotations

import os
import resource
import signal
import sys
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.forked import fork_server
from tests.made_up_source import MadeUpSource, made_up
from treeline.corpus.errors import TreelineError
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.protocol import Store
from treeline.ingest.pipeline import LoadOptions, load

INDEX = "default"


def embedded(home: Path) -> Store:
    return EmbeddedStore(home)


def load_version(home: Path, count: int, version: int, largest_file: int = 0) -> None:
    """Bring the index to this version of the made-up functions; exits as the command line does.

    What it says goes to `words(home)`. With `largest_file`, no file may grow beyond that: as on a full disk, but
    without the rights to mount one.
    """
    os.dup2(os.open(words(home), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
    if largest_file:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error instead of death
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    options = LoadOptions(work=home / ".loading", encoders=("none",), workers=0, checkpoint_seconds=0.05)
    try:
        load(embedded(home), INDEX, [MadeUpSource(count, version)], options)
    except TreelineError as error:
        print(f"treeline: {error}", file=sys.stderr, flush=True)
        os._exit(error.exit_code)


def words(home: Path) -> Path:
    """Where a load writes its errors: beside the folder that may be full or read-only."""
    return home.with_name(f"{home.name}.stderr")


def started(home: Path, count: int, version: int, largest_file: int = 0) -> ForkServerProcess:
    process = fork_server().Process(target=load_version, args=(home, count, version, largest_file))
    process.start()
    return process


def version_found(home: Path, count: int) -> int:
    """The one version whose functions are all there, and nothing else; fails when the index is torn."""
    engine = embedded(home).open(INDEX)
    try:
        found = {function.id for function in engine.scan()}
        assert len(found) == engine.count() == engine.info.functions == count
        versions = {int(function.original_string.rpartition("+ ")[2]) for function in engine.scan()}
        assert len(versions) == 1, f"torn between versions {versions}"
        version = versions.pop()
        assert found == {made_up(number, version).id for number in range(count)}
        assert engine.keyword(["json"], 10), "the words are not searchable"
        assert engine.artifact("state"), "the next load could not bring it up to date"
    finally:
        engine.close()
    return version
