"""Several loaders fill one index on Elasticsearch together: the same index as one loader makes, published once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.elasticsearch_server import Cluster
from tests.ingest.loading import project, record, records_file
from treeline.corpus.analysis import terms
from treeline.corpus.errors import InputError
from treeline.encoder.static import StaticEncoder
from treeline.engine.elasticsearch import ElasticsearchStore, writer
from treeline.engine.elasticsearch.parts import PartWriter
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit
from treeline.engine.names import index_name, loading_name
from treeline.engine.protocol import Part
from treeline.ingest import generation, parts, pipeline, state
from treeline.ingest.journal import has_unfinished_load
from treeline.ingest.parts import parse_part
from treeline.ingest.pipeline import LoadOptions, Summary, load
from treeline.ingest.sources import open_source
from treeline.search.settings import Settings
from treeline.service import refining
from treeline.service.cli import cli

ROOT = Path(__file__).parents[2]
NAME, ALONE = "in-parts", "in-one"
PATIENCE = 240.0  # seconds; only what hangs takes as long
# One loader of a part in a process of its own, which kills itself when it has come to a certain step.
KILLED = """
import os, sys
from pathlib import Path
from treeline.engine.elasticsearch import ElasticsearchStore, writer
from treeline.engine.protocol import Hit, Part
from treeline.ingest import generation, pipeline
from treeline.ingest.sources import open_source

url, work, part, step, *specs = sys.argv[1:]
owner, name, count = {{
    "in the middle": (generation.Generation, "write", 4),
    "further on": (generation.Generation, "write", 6),
    "while it publishes": (writer.ElasticsearchWriter, "publish", 1),
    "before the alias": (writer, "flip_alias", 1),
}}[step]
original, calls = getattr(owner, name), []

def counted(*given, **named):
    calls.append(1)
    if len(calls) == count:
        os.kill(os.getpid(), 9)
    return original(*given, **named)

setattr(owner, name, counted)
pipeline.BATCH_CHUNKS = 2
options = pipeline.LoadOptions(work=Path(work), workers=0, part=Part({number}, 3), checkpoint_seconds=0)
pipeline.load(ElasticsearchStore([url]), {name!r}, [open_source(spec) for spec in specs], options)
"""
QUESTIONS = ("parse a record", "hyperbolic distance between nodes", "what a file holds", "read words of a query")

pytestmark = pytest.mark.elasticsearch


@pytest.fixture
def store(elasticsearch_cluster: Cluster) -> Iterator[ElasticsearchStore]:
    opened = ElasticsearchStore(elasticsearch_cluster.urls)
    yield opened
    for name in opened.loads_in_parts():
        opened.give_up_parts(name)
    for name in {NAME, ALONE} & set(opened.names()):
        opened.drop(name)
    opened.close()


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """Real code and two files of records."""
    return [
        ROOT / "corpus",
        records_file(tmp_path / "first.jsonl", [record("here"), record("there")]),
        records_file(tmp_path / "second.jsonl", [record("elsewhere")]),
    ]


def loaded_alone(store: ElasticsearchStore, work: Path, specs: list[Path]) -> Summary:
    return load(store, ALONE, opened(specs), LoadOptions(work=work, workers=0, fresh=True))


def loaded_part(store: ElasticsearchStore, work: Path, specs: list[Path], number: int, **more: Any) -> Summary:
    options = LoadOptions(work=work, workers=0, part=Part(number, 3), **more)
    return load(store, NAME, opened(specs), options)


def opened(specs: list[Path]) -> list[Any]:
    return [open_source(str(spec)) for spec in specs]


def killed(cluster: Cluster, work: Path, specs: list[Path], number: int, step: str) -> None:
    script = KILLED.format(number=number, name=NAME)
    command = [sys.executable, "-c", script, cluster.url, str(work), str(number), step, *map(str, specs)]
    done = subprocess.run(command, cwd=ROOT, check=False, timeout=PATIENCE, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr


def assert_same_as_alone(store: ElasticsearchStore, *, work: Path, specs: list[Path]) -> None:
    """The same units, record of the sources, side products and answers as one loader makes."""
    loaded_alone(store, work, specs)
    one, many = store.open(ALONE), store.open(NAME)
    units = {unit.id: unit for unit in one.scan()}
    assert {unit.id: unit for unit in many.scan()} == units
    assert many.info.functions == len(units)
    manifests = [state.State(engine.artifact(state.ARTIFACT) or b"").manifest() for engine in (one, many)]
    assert list(manifests[0].entries.items()) == list(manifests[1].entries.items())  # also in this order
    for artifact in ("tree", "embedding", "callgraph"):
        assert one.artifact(artifact) == many.artifact(artifact), artifact
    assert (one.artifact("clusters") is None) == (many.artifact("clusters") is None)


def assert_same_answers(store: ElasticsearchStore) -> None:
    one, many = store.open(ALONE), store.open(NAME)
    encoder = StaticEncoder.shipped()
    for question in QUESTIONS:
        vector = encoder.encode_queries([question])[0]
        expected, got = (
            (best(engine.keyword(terms(question), 20)), best(engine.knn(vector, 20))) for engine in (one, many)
        )
        assert got == expected


def best(hits: Sequence[Hit]) -> list[tuple[float, str]]:
    """The first ten; of equals the server puts now this one first, now that one."""
    return sorted(((round(hit.score, 4), hit.id) for hit in hits), reverse=True)[:10]


def test_three_loaders_at_once_make_the_index_that_one_makes(
    elasticsearch_cluster: Cluster, store: ElasticsearchStore, sources: list[Path], tmp_path: Path
) -> None:
    environment = {
        "TREELINE_ENGINE": "elasticsearch",
        "TREELINE_ELASTICSEARCH_URL": elasticsearch_cluster.url,
        "TREELINE_HOME": str(tmp_path / "home"),
    }
    command = [sys.executable, "-m", "treeline.service.cli", "index", *map(str, sources), "--name", NAME, "--json"]
    running = [
        subprocess.Popen(
            [*command, "--part", f"{number}/3"],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in (1, 2, 3)
    ]
    told = [process.communicate(timeout=PATIENCE) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], told
    summaries = [json.loads(out) for out, _ in told]
    (publisher,) = (summary for summary in summaries if summary["published"])
    assert publisher["total"] == store.open(NAME).count()
    assert publisher["indexed"] == publisher["total"]
    assert store.generations(NAME)[0].generation == "000001"
    assert store.loads_in_parts() == {}
    assert_same_as_alone(store, work=tmp_path / "alone", specs=sources)
    assert_same_answers(store)

    # It is an index like any other: nothing has changed, then something has.
    work, folder = tmp_path / "work", project(tmp_path / "more", {"new.py": "def added():\n    return 1\n"})
    assert not load(store, NAME, opened(sources), LoadOptions(work=work, workers=0)).published
    assert load(store, NAME, opened([folder]), LoadOptions(work=work, workers=0)).indexed == 2
    assert store.roll_back(NAME).generation == "000001"


def test_a_unit_of_several_parts_is_the_one_that_comes_first_in_the_list(
    store: ElasticsearchStore, tmp_path: Path
) -> None:
    """The same code at three commits; each loader writes one, and the first of the list is written first."""
    specs = [
        records_file(tmp_path / f"{number}.jsonl", [record("again", sha=str(number) * 40), record(f"own_{number}")])
        for number in range(3)
    ]
    for number in (1, 2):
        loaded_part(store, tmp_path / str(number), specs, number)
    summary = loaded_part(store, tmp_path / "3", specs, 3)
    assert (summary.published, summary.total, summary.indexed, summary.duplicate) == (True, 4, 4, 2)
    (unit,) = (unit for unit in store.open(NAME).scan() if unit.func_name == "again")
    assert unit.sha == "0" * 40
    assert_same_as_alone(store, work=tmp_path / "alone", specs=specs)


def test_a_unit_that_is_already_the_first_of_the_list_is_not_written_again(
    store: ElasticsearchStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops = "for one in range(9):\n        for two in range(9):\n            print(one, two)"
    specs = [
        records_file(tmp_path / f"{number}.jsonl", [record("again", loops, sha=str(number) * 40)])
        for number in range(3)
    ]
    for number in (3, 2):
        loaded_part(store, tmp_path / str(number), specs, number)
    monkeypatch.setattr(parts, "_write_again", lambda *_: pytest.fail("written again"))
    assert loaded_part(store, tmp_path / "1", specs, 1).published
    (unit,) = (unit for unit in store.open(NAME).scan() if unit.func_name == "again")
    assert unit.sha == "0" * 40
    assert store.open(NAME).keyword(["~nested-loops"], 5)


def test_what_the_engine_refuses_is_counted_once(store: ElasticsearchStore, tmp_path: Path) -> None:
    specs = [
        records_file(tmp_path / f"{number}.jsonl", [record("fine"), record("long", path=f"{number}" * 40_000)])
        for number in range(3)
    ]
    for number in (1, 1, 2):  # the first is started again, and knows what it was refused before
        summary = loaded_part(store, tmp_path / str(number), specs, number)
        assert (summary.indexed, summary.rejected) == (1, 1)
    summary = loaded_part(store, tmp_path / "3", specs, 3)
    assert (summary.total, summary.indexed, summary.duplicate, summary.rejected) == (1, 1, 2, 3)
    assert list(summary.reasons.values()) == [3]


@pytest.mark.parametrize("keeps_journal", [True, False], ids=["here", "on another machine"])
def test_a_killed_loader_is_started_again(
    elasticsearch_cluster: Cluster,
    store: ElasticsearchStore,
    sources: list[Path],
    tmp_path: Path,
    keeps_journal: bool,
) -> None:
    changing = project(tmp_path / "changing", {f"f{number}.py": f"def f{number}(): pass\n" for number in range(9)})
    sources = [*sources, changing]
    killed(elasticsearch_cluster, tmp_path / "two", sources, 2, "in the middle")
    assert store.loads_in_parts() == {NAME: "1 not running, 2 not running, 3 not running"}
    first = loaded_part(store, tmp_path / "one", sources, 1)
    assert (first.published, first.missing_parts) == (False, (2, 3))
    assert NAME not in store.names()
    for file in changing.iterdir():  # what was read of it before must not stay
        file.write_text(f"def other_{file.stem}(): pass\n", encoding="utf-8")
    assert loaded_part(store, tmp_path / "one", sources, 1).missing_parts == (2, 3)
    second = loaded_part(store, tmp_path / ("two" if keeps_journal else "elsewhere"), sources, 2)
    assert second.missing_parts == (3,)
    assert NAME not in store.names()
    third = loaded_part(store, tmp_path / "three", sources, 3)
    assert third.published
    names = {unit.func_name for unit in store.open(NAME).scan() if unit.repo == "changing" and unit.kind == "function"}
    assert names == {f"other_f{number}" for number in range(9)}
    assert_same_as_alone(store, work=tmp_path / "alone", specs=sources)


@pytest.mark.parametrize("steps", [("in the middle", "further on"), ("further on", "in the middle")])
def test_a_part_that_went_on_on_another_machine_begins_from_the_start_where_it_began(
    elasticsearch_cluster: Cluster,
    store: ElasticsearchStore,
    sources: list[Path],
    tmp_path: Path,
    steps: tuple[str, str],
) -> None:
    sources = [*sources, project(tmp_path / "more", {f"f{n}.py": f"def f{n}(): pass\n" for n in range(36)})]
    for machine, step in zip(("here", "elsewhere"), steps, strict=True):
        killed(elasticsearch_cluster, tmp_path / machine, sources, 2, step)
    assert loaded_part(store, tmp_path / "here", sources, 2).missing_parts == (1, 3)
    loaded_part(store, tmp_path / "one", sources, 1)
    assert loaded_part(store, tmp_path / "three", sources, 3).published
    assert_same_as_alone(store, work=tmp_path / "alone", specs=sources)


@pytest.mark.parametrize("same_folder", [True, False], ids=["here", "on another machine"])
@pytest.mark.parametrize("step", ["while it publishes", "before the alias"])
def test_a_publisher_that_is_killed_is_succeeded_by_any_part_that_is_started_again(
    elasticsearch_cluster: Cluster,
    store: ElasticsearchStore,
    sources: list[Path],
    tmp_path: Path,
    step: str,
    same_folder: bool,
) -> None:
    work = {number: tmp_path / ("work" if same_folder else str(number)) for number in (1, 2, 3)}
    for number in (1, 2):
        loaded_part(store, work[number], sources, number)
    killed(elasticsearch_cluster, work[3], sources, 3, step)
    assert NAME not in store.names()
    assert loaded_part(store, work[1], sources, 1).published
    assert not list(work[1].iterdir())  # neither its own journals nor those that it or the killed one was handed
    assert_same_as_alone(store, work=tmp_path / "alone", specs=sources)


def test_of_loaders_that_finish_at_the_same_moment_one_publishes(
    elasticsearch_cluster: Cluster, sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(3, timeout=PATIENCE)
    lead, flip = PartWriter.lead, writer.flip_alias
    flips: list[str] = []

    def lead_together(self: PartWriter) -> Any:
        together.wait()
        return lead(self)

    def counted(*given: Any) -> None:
        flips.append(given[2])
        flip(*given)

    monkeypatch.setattr(PartWriter, "lead", lead_together)
    monkeypatch.setattr(writer, "flip_alias", counted)
    stores = [ElasticsearchStore(elasticsearch_cluster.urls) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        parts = [
            pool.submit(loaded_part, store, tmp_path / str(number), sources, number)
            for number, store in enumerate(stores, 1)
        ]
        summaries = [part.result(PATIENCE) for part in parts]
    assert sorted(summary.published for summary in summaries) == [False, False, True]
    assert {summary.generation for summary in summaries} == {"000001"}
    assert not any(summary.missing_parts for summary in summaries)
    assert flips == [index_name(NAME, "000001")]
    stores[0].drop(NAME)
    for store in stores:
        store.close()


def test_a_load_of_another_plan_is_refused_until_the_first_is_given_up(
    store: ElasticsearchStore, sources: list[Path], tmp_path: Path
) -> None:
    before = load(store, NAME, opened(sources[1:2]), LoadOptions(work=tmp_path / "work", workers=0, fresh=True))
    loaded_part(store, tmp_path / "1", sources, 1, fresh=True)
    said = (
        r"3 loaders of another plan fill generation 000002 of the index 'in-parts' \(1 complete, 2 not running, 3 not"
    )
    work = tmp_path / "other"
    others = [
        (sources, LoadOptions(work=work, workers=0, fresh=True, part=Part(1, 4))),
        (sources[:1], LoadOptions(work=work, workers=0, fresh=True, part=Part(2, 3))),
        (sources, LoadOptions(work=work, workers=0, fresh=True, part=Part(2, 3), encoders=("none",))),
        (sources, LoadOptions(work=work, workers=0, fresh=True)),
        (sources[2:3], LoadOptions(work=work, workers=0)),
    ]
    for specs, options in others:
        with pytest.raises(InputError, match=said) as told:
            load(store, NAME, opened(specs), options)
        assert "--give-up" in told.value.hint
    assert store.current(NAME) == before.generation

    with pytest.raises(InputError, match="is there already") as told:
        loaded_part(store, work, sources, 2)
    assert told.value.hint == "add --fresh"

    with store.begin_part(NAME, [], *running_plan(store), Part(3, 3)), pytest.raises(InputError, match="part 3 of"):
        store.give_up_parts(NAME)
    assert store.give_up_parts(NAME) == "000002"
    with pytest.raises(InputError, match="not being loaded in parts"):
        store.give_up_parts(NAME)
    assert load(store, NAME, opened(sources[2:3]), LoadOptions(work=work, workers=0)).published


def running_plan(store: ElasticsearchStore) -> tuple[str]:
    """The plan of the load in parts, as another loader of it has it."""
    found = store.client.indices.get_mapping(index=index_name(NAME, "000002"))
    meta = found[index_name(NAME, "000002")]["mappings"]["_meta"]["treeline"]
    store.client.indices.put_mapping(index=index_name(NAME, "000002"), meta={"treeline": {**meta, "wanted": []}})
    return (meta["fingerprint"],)


def test_loaders_that_see_different_files_do_not_load_together(store: ElasticsearchStore, tmp_path: Path) -> None:
    folder = project(tmp_path / "demo", {f"{number}.py": f"def f{number}(): pass\n" for number in range(6)})
    loaded_part(store, tmp_path / "1", [folder], 1)
    (folder / "0.py").write_text("def f0(): return 1\n", encoding="utf-8")  # another content is no other list
    assert loaded_part(store, tmp_path / "2", [folder], 2).missing_parts == (3,)
    (folder / "6.py").write_text("def f6(): pass\n", encoding="utf-8")
    with pytest.raises(InputError, match="another plan"):
        loaded_part(store, tmp_path / "3", [folder], 3)


def test_an_index_does_not_become_empty_because_a_folder_looks_so(store: ElasticsearchStore, tmp_path: Path) -> None:
    kept, nothing = records_file(tmp_path / "a.jsonl", [record("kept")]), project(tmp_path / "empty", {"a.bin": "\0"})
    load(store, NAME, opened([kept]), LoadOptions(work=tmp_path / "work", workers=0, fresh=True))
    for number in (1, 2):
        loaded_part(store, tmp_path / "parts", [nothing], number, fresh=True)
    with pytest.raises(InputError, match="would become empty"):
        loaded_part(store, tmp_path / "parts", [nothing], 3, fresh=True)
    assert store.open(NAME).count() == 1


def test_a_part_is_not_loaded_by_two_at_once(store: ElasticsearchStore, sources: list[Path], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        seen: list[InputError] = []
        write = generation.Generation.write

        def second_one(self: Any, *given: Any) -> None:
            if not seen:
                with pytest.raises(InputError, match="part 1 of the index 'in-parts' is being written") as told:
                    loaded_part(store, tmp_path / "again", sources, 1)
                seen.append(told.value)
            write(self, *given)

        patch.setattr(generation.Generation, "write", second_one)
        loaded_part(store, tmp_path / "1", sources, 1)
    assert seen


def test_status_shows_loaders_and_gives_them_up(
    elasticsearch_cluster: Cluster, store: ElasticsearchStore, sources: list[Path], tmp_path: Path
) -> None:
    environment = {"TREELINE_ENGINE": "elasticsearch", "TREELINE_ELASTICSEARCH_URL": elasticsearch_cluster.url}
    environment["TREELINE_HOME"] = str(tmp_path / "home")
    run = CliRunner(env=environment).invoke
    part = run(cli, ["index", str(sources[1]), "--name", NAME, "--part", "1/2"], catch_exceptions=False)
    assert "part 1/2 of index 'in-parts' is loaded; nothing is published before the others are (missing: 2)" in (
        part.output
    )
    shown = run(cli, ["status", "--name", NAME], catch_exceptions=False).output
    assert "in-parts: being loaded in parts (1 complete, 2 not running)" in shown
    assert "is deleted" in run(cli, ["status", "--name", NAME, "--give-up"], catch_exceptions=False).output
    assert store.loads_in_parts() == {}


def test_a_load_in_parts_that_is_given_up_leaves_nothing_that_holds_up_a_refinement(
    elasticsearch_cluster: Cluster, store: ElasticsearchStore, sources: list[Path], tmp_path: Path
) -> None:
    environment = {"TREELINE_ENGINE": "elasticsearch", "TREELINE_ELASTICSEARCH_URL": elasticsearch_cluster.url}
    environment["TREELINE_HOME"] = str(tmp_path / "home")
    work = tmp_path / "home" / ".loading"
    load(store, NAME, opened(sources[1:2]), LoadOptions(work=work, workers=0, fresh=True))
    loaded_part(store, work, sources, 1, fresh=True)
    alone = work / f"{NAME}-{'0' * 24}.journal"  # of a load by one process, which may be resumed
    alone.touch()
    done = CliRunner(env=environment).invoke(cli, ["status", "--name", NAME, "--give-up"], catch_exceptions=False)
    assert "generation 000002" in done.output
    assert list(work.iterdir()) == [alone]
    assert not has_unfinished_load(work, NAME, store.current(NAME))


def test_giving_up_that_is_interrupted_leaves_no_notes_for_the_next_load(
    store: ElasticsearchStore, sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next load may get the same number, and would take the notes for its own."""
    loaded_part(store, tmp_path / "1", sources, 1)
    requests = type(store.client.indices)
    delete, calls = requests.delete, []

    def interrupted(self: Any, **given: Any) -> Any:
        calls.append(given["index"])
        if len(calls) > 1:
            raise KeyboardInterrupt
        return delete(self, **given)

    monkeypatch.setattr(requests, "delete", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.give_up_parts(NAME)
    monkeypatch.undo()
    assert not store.client.indices.exists(index=loading_name(NAME, "000001"))
    assert store.give_up_parts(NAME) == "000001"


def test_only_the_loader_that_publishes_starts_a_refinement(
    elasticsearch_cluster: Cluster,
    store: ElasticsearchStore,
    sources: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refined: list[str] = []

    def start(_settings: Settings, index: str) -> str:
        refined.append(index)
        return ""

    monkeypatch.setattr(refining, "start", start)
    environment = {
        "TREELINE_ENGINE": "elasticsearch",
        "TREELINE_ELASTICSEARCH_URL": elasticsearch_cluster.url,
        "TREELINE_REFINE": "on",
        "TREELINE_HOME": str(tmp_path / "home"),
    }
    command = ["index", *map(str, sources), "--name", NAME]
    for number in (1, 2):
        assert not refined
        done = CliRunner(env=environment).invoke(cli, [*command, "--part", f"{number}/2"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert refined == [NAME]


def test_a_folder_has_one_loader(tmp_path: Path, sources: list[Path]) -> None:
    options = LoadOptions(work=tmp_path / "work", workers=0, part=Part(1, 2))
    with pytest.raises(InputError, match="one loader") as told:
        load(EmbeddedStore(tmp_path / "home"), NAME, opened(sources), options)
    assert "--engine elasticsearch" in told.value.hint


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/2", "1/" + "9" * 5_000])
def test_what_is_no_part_is_bad_input(text: str) -> None:
    with pytest.raises(InputError, match="--part 2/3") as told:
        parse_part(text)
    assert len(str(told.value)) < 200


def test_files_are_dealt_out_in_turn() -> None:
    assert parse_part("2/3") == Part(2, 3)
    dealt = [[position for position in range(8) if Part(number, 3).takes(position)] for number in (1, 2, 3)]
    assert dealt == [[0, 3, 6], [1, 4, 7], [2, 5]]
    assert pipeline.LoadOptions(work=Path()).part is None
