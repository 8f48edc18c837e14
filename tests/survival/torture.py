"""Runs rounds in parallel and reports each: python -m tests.survival.torture [--rounds N] [--seed N]."""

import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from tests.survival.processes import Failure
from tests.survival.rounds import Place, play

SHARED_MEMORY = Path("/dev/shm")


@click.command
@click.option("--rounds", default=1_000, show_default=True, type=click.IntRange(1), help="How many at most.")
@click.option("--seed", default=0, show_default=True, help="Of the first round; each next has the next number.")
@click.option("--seconds", default=900.0, show_default=True, help="After which no further round begins.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, type=click.IntRange(1), help="Rounds at once.")
@click.option("--quiet", is_flag=True, help="Only failures and the sum.")
def command(rounds: int, seed: int, seconds: float, jobs: int, quiet: bool) -> None:
    """Kill, starve and damage loads, indexes and a server at random, and check what survives.

    Each round has a fresh small index and one fault. A failing round is repeated by its seed: --rounds 1 --seed N.
    The exit code is 1 when a round failed.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _import_all()
    begun = time.monotonic()
    where = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
    jobs = min(jobs, rounds)
    with (
        tempfile.TemporaryDirectory(prefix="treeline-torture-", dir=where, ignore_cleanup_errors=True) as base,
        ProcessPoolExecutor(jobs, get_context("fork")) as pool,
    ):
        plays = [
            pool.submit(_play_all, Path(base, str(job)), range(seed + job, seed + rounds, jobs), begun + seconds, quiet)
            for job in range(jobs)
        ]
        counts, failed = Counter[str](), list[int]()
        for one in plays:
            kinds, seeds = one.result()
            counts += kinds
            failed += seeds
    click.echo(f"{counts.total()} rounds in {time.monotonic() - begun:.0f} s, {len(failed)} failed")
    click.echo(", ".join(f"{kind} {count}" for kind, count in counts.most_common()))
    for number in failed:
        click.echo(f"failed: python -m tests.survival.torture --rounds 1 --seed {number}")
    if failed:
        click.get_current_context().exit(1)


def _import_all() -> None:
    """Import everything once, before forking."""
    import treeline.ingest.pipeline
    import treeline.service.cli.index
    import treeline.service.cli.status  # noqa: F401
    from treeline.encoder.registry import load

    load("static")


def _play_all(base: Path, seeds: range, end: float, quiet: bool) -> tuple[Counter[str], list[int]]:
    """The number of rounds of each kind, and the seeds of those that failed."""
    place, kinds, failed = Place(base), Counter[str](), list[int]()
    try:
        place.prepare()
        for seed in seeds:
            if time.monotonic() > end:
                break
            try:
                done, kept = play(place, seed)
                if not quiet:
                    click.echo(f"{seed}: {done}: {kept}")
            except Failure as failure:
                done = str(failure)
                click.echo(f"{seed}: FAILED {failure}")
                failed.append(seed)
            kinds[done.split(" at change")[0].split(":")[0].split(" after ")[0]] += 1
            sys.stdout.flush()
    finally:
        place.close()
    return kinds, failed


if __name__ == "__main__":
    command()
