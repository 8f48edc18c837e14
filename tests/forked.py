"""Processes forked from one that has Treeline imported: as real as others, and started in milliseconds."""

import multiprocessing
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory

PRELOAD = (
    "tests.forked",
    "treeline.engine.embedded",
    "treeline.ingest.workers",
    "treeline.service.cli.doctor",
    "treeline.service.cli.index",
    "treeline.service.cli.search",
    "treeline.service.cli.status",
)
SECONDS = 240.0


def fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOAD))
    return context


def run_command_line(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, *, terminal: bool = False
) -> subprocess.CompletedProcess[str]:
    """`treeline ARGUMENTS…` in a forked process, as `subprocess.run` would give it; with `terminal` as a person sees
    it."""
    if terminal:
        return _on_terminal(arguments, environment, folder)
    with TemporaryDirectory() as files:
        output, errors = Path(files) / "stdout", Path(files) / "stderr"
        process = fork_server().Process(
            target=_command_line, args=(list(arguments), dict(environment), str(folder), str(output), str(errors))
        )
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(arguments), SECONDS)
        said = [file.read_text(encoding="utf-8", errors="replace") for file in (output, errors)]
        return subprocess.CompletedProcess(list(arguments), process.exitcode, *said)


def _on_terminal(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    screen, output = pty.openpty()
    said: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(screen, 65_536):
                said.append(data)
        except OSError:  # nothing writes to it any more
            return

    reader = threading.Thread(target=read)
    reader.start()
    with TemporaryDirectory() as files:
        errors = Path(files) / "stderr"
        process = fork_server().Process(
            target=_command_line,
            args=(list(arguments), dict(environment), str(folder), os.ttyname(output), str(errors)),
        )
        process.start()
        process.join(SECONDS)
        os.close(output)
        reader.join(SECONDS)
        os.close(screen)
        text = b"".join(said).decode().replace("\r\n", "\n")
        return subprocess.CompletedProcess(list(arguments), process.exitcode or 0, text, errors.read_text())


def _command_line(arguments: list[str], environment: dict[str, str], folder: str, output: str, errors: str) -> None:
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, output, os.O_WRONLY | os.O_CREAT),
        (2, errors, os.O_WRONLY | os.O_CREAT),
    ):
        os.dup2(os.open(name, flags, 0o600), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = ["treeline", *arguments]
    from treeline.service.cli import main

    main()
