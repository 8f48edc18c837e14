"""The process of a job that `treeline.service.jobs` starts: loads the source and reports its progress."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from treeline.corpus.errors import InputError, TreelineError
from treeline.search.settings import from_environment
from treeline.service.cli.index import handle_sigterm, index_sources
from treeline.service.jobs import JOB, STOP_MESSAGE, Job, State, check_source, now, write
from treeline.service.projects import reading_of

REPORT_SECONDS = 0.3  # between two reports of a job's progress


class Reporter:
    """Writes a job's progress to its file, not too often."""

    def __init__(self, folder: Path, job: Job) -> None:
        self._folder = folder
        self.job = job
        self._written = 0.0

    def __call__(self, what: str, count: int, total: int) -> None:
        moment = time.monotonic()
        if what != self.job.stage or moment - self._written >= REPORT_SECONDS:
            self.job = replace(self.job, stage=what, done=count, total=total)
            self._written = moment
            write(self._folder, self.job)

    def end(self, state: State, message: str) -> None:
        write(self._folder, replace(self.job, state=state, message=message, ended=now()))


def main() -> None:
    """Run the job that comes on standard input, under the lock that came with the process."""
    lock = int(sys.argv[1])
    os.set_inheritable(lock, False)
    job = JOB.validate_json(sys.stdin.buffer.read())
    settings = from_environment()
    report = Reporter(settings.home_path / ".run", job)
    handle_sigterm()
    report("opening the source", 0, 0)
    try:
        # Since the request, the folder may have been swapped for a link.
        if job.action != "remove" and check_source(job.source, settings) != job.source:
            raise InputError(f"{job.source} is a link now", "add the folder that it leads to")
        reading = reading_of(settings, progress=report)
        sources = () if job.action == "remove" else (job.source,)
        leaving = (job.source,) if job.action == "remove" else ()
        summary = index_sources(settings, sources, reading, report, remove=leaving)
        report.end("done", f"the index {job.index!r} now holds {summary.total:,} functions, classes and other parts")
    except KeyboardInterrupt:
        report.end("stopped", STOP_MESSAGE)
    except TreelineError as error:
        report.end("failed", f"{error.message}{f'; {error.hint}' if error.hint else ''}")
    fcntl.flock(lock, fcntl.LOCK_UN)


if __name__ == "__main__":
    main()
