"""Growth to a million functions: rate, disk, memory and times at every step.

The corpus is copied into made-up repositories. A plain copy would be too easy for an index (repeated terms, identical
vectors), so every identifier is replaced by another one of the corpus: vocabulary and lengths stay realistic.
"""

from __future__ import annotations

import keyword
import multiprocessing
import os
import re
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import blake2b
from itertools import cycle, islice
from math import ceil
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import orjson

from benchmarks.figures import JSON, Report
from benchmarks.http import questions
from benchmarks.plots import scale_svg
from benchmarks.watch import MODES, Watch
from treeline.corpus.errors import TreelineError
from treeline.corpus.function import Function
from treeline.engine.names import alias_name
from treeline.eval.sets.codesearchnet import data_folder
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import Chunk, Parsed, ReadOptions, Source, Unit
from treeline.ingest.sources import open_source
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.query import Query
from treeline.search.settings import Settings, open_store
from treeline.service.cli import main
from treeline.service.cli.options import index_options, settings_for

if TYPE_CHECKING:
    from treeline.engine.elasticsearch import ElasticsearchStore

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
KEPT = frozenset(keyword.kwlist) | {"self", "cls", "args", "kwargs", "None", "True", "False"}


@dataclass(frozen=True, slots=True)
class ShuffledChunk:
    """A chunk whose functions move to another repository under other names."""

    inner: Chunk
    copy: int

    @property
    def size(self) -> int:
        return self.inner.size

    def parse(self) -> Parsed:
        chunk_facts = self.inner.parse()
        if not self.copy:
            return chunk_facts
        results = (name for function in chunk_facts.functions for name in IDENTIFIER.findall(function.code))
        pool = sorted(set(results) - KEPT)
        return Parsed(tuple(shuffle_identifiers(function, self.copy, pool) for function in chunk_facts.functions))


@dataclass(frozen=True, slots=True)
class ShuffledUnit:
    """A unit of the copy; `share` drops whole chunks evenly."""

    inner: Unit
    copy: int
    share: float

    @property
    def key(self) -> str:
        return f"copy {self.copy} of {self.inner.key}"

    @property
    def digest(self) -> str:
        return f"{self.copy}/{self.share}/{self.inner.digest}"

    @property
    def size(self) -> int:
        return round(self.inner.size * self.share)

    def chunks(self) -> Iterator[Chunk]:
        for number, chunk in enumerate(self.inner.chunks()):
            if int((number + 1) * self.share) > int(number * self.share):
                yield ShuffledChunk(chunk, self.copy)


class GrownSource:
    """Copy number `copy` of a source, or a share of it; number 0 is the source itself."""

    def __init__(self, inner: Source, copy: int, share: float = 1.0) -> None:
        self._inner, self._copy, self._share = inner, copy, share

    @property
    def name(self) -> str:
        return f"{self._inner.name} (copy {self._copy})"

    @property
    def size(self) -> int:
        return round(self._inner.size * self._share)

    @property
    def left_out(self) -> Mapping[str, int]:
        return self._inner.left_out

    def units(self) -> Iterator[Unit]:
        return (ShuffledUnit(unit, self._copy, self._share) for unit in self._inner.units())


def shuffle_identifiers(function: Function, copy: int, pool: list[str]) -> Function:
    """The function in a made-up repository, each identifier replaced consistently by another of the pool."""

    @cache  # a name comes up several times: in the code, the original and the docstring
    def other(name: str) -> str:
        if name in KEPT:
            return name
        digest = blake2b(f"{copy} {function.repo} {name}".encode(), digest_size=4).digest()
        return pool[int.from_bytes(digest) % len(pool)]

    def changed(text: str) -> str:
        return IDENTIFIER.sub(lambda found: other(found[0]), text)

    return Function(
        repo=f"{function.repo}-{copy}",
        path=function.path,
        func_name=changed(function.func_name),
        original_string=changed(function.original_string),
        language=function.language,
        code=changed(function.code),
        code_tokens=function.code_tokens,
        docstring=changed(function.docstring),
        docstring_tokens=function.docstring_tokens,
        sha=function.sha,
        partition=function.partition,
        url=function.url.replace(function.repo, f"{function.repo}-{copy}", 1),
    )


TARGET = 1_000_000
COPY_SIZE = 182_431  # functions per copy; of the last copy only the share that is still missing is taken
INDEX = "scale"
SETTLE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Step:
    """One size of the index: the cost of growing to it, and the cost of a search."""

    functions: int
    added: int
    seconds: float
    settling_seconds: float
    """Seconds of merging after the load, not included in the rate."""
    loader_processor: float
    """Seconds of processor time of the loader and its workers."""
    server_processor: tuple[float, float]
    """Of the nodes, until published and in merging after it; zeros for the embedded engine."""
    load_average: float
    """Of the machine over five minutes, when the load ended."""
    disk_mb: float
    loader_mb: float
    searcher_mb: float
    server_mb: float | None
    """Megabytes of heap in use, summed over the nodes; None for the embedded engine."""
    opening_seconds: float
    times: dict[str, dict[str, float]]
    while_loading: dict[str, Any] | None
    """The searches of the generation before, during the load; None if there was none."""

    @property
    def rate(self) -> float:
        return self.added / self.seconds if self.seconds else 0.0


def run(
    target: int = TARGET,
    *,
    settings: Settings,
    data: str = "",
    rounds: int = 3,
    every: int = 1,
    before: Sequence[dict[str, Any]] = (),
    leave: bool = False,
    tell: Callable[[str], None] = print,
    keep: Callable[[dict[str, Any]], None] = lambda _document: None,
) -> dict[str, Any]:
    """Grow an index to `target` functions and measure every step in a separate process.

    A step adds `every` copies in one load. The index is dropped at the end unless `leave`. `keep` receives the figures
    after every step. Passed to a later run as `before`, they let it continue from there.
    """
    settings, data = replace(settings, index=INDEX), data or f"codesearchnet:{data_folder()}"
    steps = list(before) if before and size(settings) == before[-1]["functions"] else []
    if not steps:
        drop(settings)
    document = {"engine": settings.engine, "encoder": settings.encoder, "target": target, "steps": steps}
    tell(f"{'functions':>10} {'added/s':>8} {'disk MB':>8} {'load MB':>8} {'search MB':>9} {'p50 ms':>7} {'p95 ms':>7}")
    for sources in batched(copies(target, data, ceil(steps[-1]["functions"] / COPY_SIZE) if steps else 0), every):
        step = grow(settings, sources, rounds)
        steps.append({**asdict(step), "rate": step.rate})
        keep(document)
        whole = step.times["hybrid"]
        tell(
            f"{step.functions:>10} {step.rate:>8.0f} {step.disk_mb:>8.0f} {step.loader_mb:>8.0f} "
            f"{step.searcher_mb:>9.0f} {whole['p50']:>7.1f} {whole['p95']:>7.1f}"
        )
    if not leave:
        drop(settings)
    return document


def grow(settings: Settings, sources: Sequence[Source], rounds: int) -> Step:
    """Load the sources into the index and measure it, before and after."""
    begin, begin_processor = time.perf_counter(), server_processor(settings)
    with watching(settings) as watch:
        functions, additions, loader_mb, loader_processor = in_fresh_process(load_sources, settings, sources)
    seconds, end_processor = time.perf_counter() - begin, server_processor(settings)
    load_average = os.getloadavg()[1]
    settling = settle(settings)
    steady = server_processor(settings)
    opening, searcher_mb, times = in_fresh_process(_ask, settings, rounds)
    return Step(
        functions=functions,
        added=additions,
        seconds=seconds,
        settling_seconds=settling,
        loader_processor=loader_processor,
        server_processor=(end_processor - begin_processor, steady - end_processor),
        load_average=load_average,
        disk_mb=disk(settings),
        loader_mb=loader_mb,
        searcher_mb=searcher_mb,
        server_mb=heap(settings),
        opening_seconds=opening,
        times=times,
        while_loading=watch.figures() if watch else None,
    )


@contextmanager
def watching(settings: Settings) -> Iterator[Watch | None]:
    """Search the index as it is, if there is one."""
    if not size(settings):
        yield None
        return
    with closing(open_searcher(settings)) as searcher, Watch(searcher, questions()) as watch:
        yield watch


def copies(target: int, data: str, there: int = 0) -> Iterator[Source]:
    """Sources that add up to the target, without the first `there`."""
    for number, begin_time in enumerate(range(0, target, COPY_SIZE)):
        if number >= there:
            yield GrownSource(open_source(data, ReadOptions()), number, min(1.0, (target - begin_time) / COPY_SIZE))


def batched(sources: Iterator[Source], count: int) -> Iterator[list[Source]]:
    while some := list(islice(sources, count)):
        yield some


def size(settings: Settings) -> int:
    """Functions in the index; 0 if there is none that this version can read."""
    try:
        engine = open_store(settings).open(settings.index)
    except TreelineError:
        return 0
    try:
        return engine.count()
    finally:
        engine.close()


def drop(settings: Settings) -> None:
    store = open_store(settings)
    if settings.index in store.names():
        store.drop(settings.index)


def in_fresh_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run in a new process, so that its memory is measured alone."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def load_sources(settings: Settings, sources: Sequence[Source], keep: int = 1) -> tuple[int, int, float, float]:
    """Functions in all and added, megabytes at most, seconds of processor time; so many generations are kept."""
    store = open_store(settings)
    options = LoadOptions(work=settings.home_path / ".loading", encoders=(settings.encoder,))
    summary = load(store, settings.index, sources, options)
    store.prune(settings.index, keep=keep)
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor = sum(one.ru_utime + one.ru_stime for one in times)
    return summary.total, summary.indexed, summary.peak_memory_mb, processor


def _ask(settings: Settings, rounds: int) -> tuple[float, float, dict[str, dict[str, float]]]:
    begin = time.perf_counter()
    searcher = open_searcher(settings)
    opening = time.perf_counter() - begin
    queries = questions()
    _read_addresses(searcher, queries)
    times = {mode: _times(searcher.search, queries, mode, rounds) for mode in MODES}
    return opening, peak_mb(), times


def _read_addresses(searcher: LiveSearcher, asked: Sequence[str]) -> None:
    """Ask until a service on Elasticsearch has read all addresses, as it does once a generation."""
    for text in islice(cycle(asked), ceil(SETTLE_SECONDS)):
        if getattr(searcher.engine, "has_addresses", True):
            return
        searcher.search(Query(text))
        time.sleep(1)


def _times(search: Callable[[Query], Any], asked: Sequence[str], mode: str, rounds: int) -> dict[str, float]:
    took: list[float] = []
    for number in range(rounds + 1):
        for text in asked:
            begin = time.perf_counter()
            search(Query(text, mode=mode))
            if number:  # the first round warms the caches
                took.append((time.perf_counter() - begin) * 1000)
    p50, p95, p99 = np.percentile(took, [50, 95, 99])
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99)}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def disk(settings: Settings) -> float:
    """Megabytes of the index: its folder, or the primaries of the cluster."""
    if settings.engine == "embedded":
        folder = settings.home_path / settings.index
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    with closing(_cluster(settings)) as cluster:
        results = cluster.client.indices.stats(index=f"{alias_name(settings.index)}-*", metric="store")
    return float(results["_all"]["primaries"]["store"]["size_in_bytes"]) / 1e6


def settle(settings: Settings) -> float:
    """Wait for a cluster's merges to end; returns the seconds. The embedded engine has none."""
    begin = time.monotonic()
    if settings.engine == "embedded":
        return 0.0
    with closing(_cluster(settings)) as cluster:
        while time.monotonic() - begin < SETTLE_SECONDS:
            tasks = cluster.client.tasks.list(actions="indices:admin/forcemerge*", group_by="none")["tasks"]
            results = cluster.client.indices.stats(index=f"{alias_name(settings.index)}-*", metric="merge")
            if not tasks and not results["_all"]["total"]["merges"]["current"]:
                break
            time.sleep(1)
    return time.monotonic() - begin


def heap(settings: Settings) -> float | None:
    if settings.engine == "embedded":
        return None
    with closing(_cluster(settings)) as cluster:
        nodes = cluster.client.nodes.stats(metric="jvm")["nodes"].values()
    return sum(float(node["jvm"]["mem"]["heap_used_in_bytes"]) for node in nodes) / 1e6


def server_processor(settings: Settings) -> float:
    """Seconds of processor time that the nodes have used since they started."""
    if settings.engine == "embedded":
        return 0.0
    with closing(_cluster(settings)) as cluster:
        nodes = cluster.client.nodes.stats(metric="process")["nodes"].values()
    return sum(float(node["process"]["cpu"]["total_in_millis"]) for node in nodes) / 1000


def _cluster(settings: Settings) -> ElasticsearchStore:
    from treeline.engine.elasticsearch import ElasticsearchStore

    store = open_store(settings)
    assert isinstance(store, ElasticsearchStore)
    return store


@click.command
@click.argument("functions", type=click.IntRange(1), default=TARGET)
@click.option(
    "--every", default=1, type=click.IntRange(1), metavar="COPIES", help="Copies of CodeSearchNet in one load."
)
@click.option("--leave", is_flag=True, help="Keep the index; continue from the steps in --json.")
@index_options
@JSON
def command(functions: int, every: int, leave: bool, engine: str | None, name: str, json_file: str) -> None:
    """Grow an index to so many FUNCTIONS, and measure every step."""
    report = Report(json_file)
    file = report.file

    def keep(document: dict[str, Any]) -> None:
        if file:
            file.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
            file.with_suffix(".svg").write_text(scale_svg(document), encoding="utf-8")

    before = orjson.loads(file.read_bytes())["steps"] if leave and file and file.exists() else ()
    settings = settings_for(engine, name)
    report.write(
        run(functions, settings=settings, every=every, before=before, leave=leave, tell=report.tell, keep=keep)
    )


if __name__ == "__main__":
    main(command)
