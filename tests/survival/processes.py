"""Torture processes: the real command line and the checks, each forked after all imports."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeline.corpus.errors import TreelineError

if TYPE_CHECKING:
    from treeline.engine.protocol import Engine

INDEX = "torture"
FILES, FUNCTIONS = 4, 4  # size of the source: a smaller one allows more rounds
VERBS = ("parse", "send", "sort", "merge")
NOUNS = ("header", "socket", "matrix", "token")
LONGEST = 120.0  # seconds; a process that takes longer hangs
RIGHT = 0.97  # cosine of a stored vector; half precision, the prior and what its file says take a little
TRACEBACK = "Traceback (most recent call last)"


class Failure(Exception):
    """A round failed: something was lost, wrong or not reported."""


@dataclass
class Child:
    """A forked process with its own output file."""

    pid: int
    said_in: Path
    status: int | None = None

    def wait(self, seconds: float = LONGEST) -> int:
        """The exit code, negative for a signal; fails when it hangs."""
        end = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise Failure(f"a process hung for {seconds:.0f} s: {self.said()[-300:]}")
            time.sleep(0.002)
        assert self.status is not None
        return self.status

    def running(self) -> bool:
        if self.status is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is None

    def signal(self, number: int) -> None:
        if self.running():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def said(self) -> str:
        return self.said_in.read_text(encoding="utf-8", errors="replace")


def fork(work: Callable[[], object], said_in: Path) -> Child:
    """Run the work in a forked process. It exits like the command line, or with 70 and a traceback."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return Child(pid, said_in)
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        output = os.open(said_in, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for number in (1, 2):
            os.dup2(output, number)
        sys.stdout, sys.stderr = (os.fdopen(os.dup(number), "w", buffering=1) for number in (1, 2))
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - the parent reads it
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def command_line(home: Path, arguments: Sequence[str]) -> None:
    """`treeline ARGUMENTS…` in this process."""
    from treeline.service.cli import main

    for name in [name for name in os.environ if name.startswith("TREELINE_")]:
        del os.environ[name]
    os.environ["TREELINE_HOME"] = str(home)
    sys.argv = ["treeline", *arguments]
    main()


def limit(what: int, most: int) -> None:
    """Set a resource limit on this process; a file at its limit raises an error instead of killing the process."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(what, (most, most))


def address_space() -> int:
    """Bytes that this process has mapped."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def write_source(folder: Path, version: int, top: str = "") -> None:
    """Write the source at one version: the same functions, of the same length, with the version in each body.

    `top` is the first line of each file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for verb in VERBS[:FILES]:
        functions = (
            f'def {verb}_{noun}({noun}):\n    """{verb.capitalize()} the {noun}."""\n'
            f"    return {verb}_{NOUNS[number - 1]}({noun}) + {version:04d}\n"
            for number, noun in enumerate(NOUNS[:FUNCTIONS])
        )
        (folder / f"{verb}.py").write_text(top + "\n\n".join(functions), encoding="utf-8")


def look(home: Path) -> dict[str, Any]:
    """Check what the index holds and answers; raises `Failure` if it is inconsistent or wrong."""
    from treeline.corpus.analysis import terms
    from treeline.engine.embedded import EmbeddedStore

    store = EmbeddedStore(home)
    with closing(store.open(INDEX)) as engine:
        found = {function.func_name: function for function in engine.scan()}
        expected = {f"{verb}_{noun}" for verb in VERBS[:FILES] for noun in NOUNS[:FUNCTIONS]}
        if found.keys() != expected or engine.count() != len(expected) or engine.info.functions != len(expected):
            raise Failure(f"{len(found)} functions of {len(expected)}, counted {engine.count()}")
        versions = {int(one.code.rpartition("+ ")[2], 10) for one in found.values()}
        if len(versions) != 1:
            raise Failure(f"torn between versions {sorted(versions)}")
        wanted = found["sort_matrix"]
        vector = engine.vectors([wanted.id])[0]
        lists = (engine.keyword(terms("sort the matrix"), 3), engine.knn(vector, 3), engine.named("sort_matrix", 3))
        for hits in lists:
            if not hits or hits[0].id != wanted.id:
                raise Failure("a search does not find what is there")
        for artifact in ("state", "tree", "callgraph"):
            if not engine.artifact(artifact) and not any(artifact in one for one in engine.damaged):
                raise Failure(f"the artifact {artifact} is missing, and nobody says so")
        _check_vectors(engine)
        return {"version": versions.pop(), "damaged": list(engine.damaged), "generation": engine.info.generation}


def _check_vectors(engine: Engine) -> None:
    """Raise `Failure` unless each unit has the vector that its text gives."""
    from treeline.encoder.registry import load

    static = load("static")
    assert static is not None
    units = list(engine.scan())
    stored = engine.vectors([unit.id for unit in units])[:, :-1]
    cosines = (stored * static.encode_functions(units)[:, :-1]).sum(axis=1)
    if (cosines < RIGHT).any():
        raise Failure(f"a vector is not its unit's: {cosines.tolist()}")


def looked(home: Path, work: Path) -> dict[str, Any]:
    """`look` in a separate process; an index that reports damage gives `{"refused": …}`."""
    answer = work / "answer.json"
    answer.unlink(missing_ok=True)

    def ask() -> None:
        try:
            made: Mapping[str, Any] = look(home)
        except TreelineError as error:
            made = {"refused": str(error)}
        except Failure as failure:
            made = {"failure": str(failure)}
        answer.write_text(json.dumps(made), encoding="utf-8")

    child = fork(ask, work / "look.txt")
    if child.wait() or not answer.exists():
        raise Failure(f"looking at the index ended with {child.status}: {child.said()[-600:]}")
    made: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "failure" in made:
        raise Failure(made["failure"])
    return made
