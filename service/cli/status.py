"""`treeline status`: the indexes, their sources and generations."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import click

from treeline.corpus.counting import counted
from treeline.corpus.errors import REBUILD, EngineUnavailable, IndexMissing, InputError, TreelineError
from treeline.ingest.source import readable
from treeline.service.cli.lines import pager, pager_option
from treeline.service.cli.options import echo, echo_json, how_to_index, index_options, settings_for, target_settings
from treeline.service.present.text import visible_name

if TYPE_CHECKING:
    from treeline.engine.protocol import Store
    from treeline.ingest.project import Project
    from treeline.search.settings import Settings

SECRETS_SHOWN = 10


@click.command("status")
@index_options
@click.option("--roll-back", is_flag=True, help="Go back to the generation before the current one.")
@click.option(
    "--prune", type=click.IntRange(1), metavar="KEEP", help="Remove rejected generations and all but the newest KEEP."
)
@click.option("--drop", is_flag=True, help="Delete the index given by --name.")
@click.option(
    "--skipped", "list_skips", is_flag=True, help="List what is left out of this project (or the index named), and why."
)
@pager_option
@click.option("--json", "as_json", is_flag=True, help="As JSON, and nothing else on stdout.")
def status(
    engine: str | None,
    name: str,
    roll_back: bool,
    prune: int | None,
    drop: bool,
    list_skips: bool,
    no_pager: bool,
    as_json: bool,
) -> None:
    """Show the indexes (or the one named), or manage the generations of one."""
    from treeline.search.settings import open_store
    from treeline.service.projects import project_names

    if list_skips:
        with pager(wanted=not (no_pager or as_json)):
            _list_skips(target_settings(engine, name), as_json=as_json)
        return
    if drop and not name:
        raise InputError("--drop needs --name", "it removes the index for good")
    if drop and (roll_back or prune is not None):
        raise InputError("--drop and --roll-back or --prune cannot be combined")
    settings = settings_for(engine, name)
    store = open_store(settings)
    actions = _manage(store, settings, roll_back=roll_back, prune=prune, drop=drop)
    names = [name] if name and not drop else store.names()
    owners = project_names(settings)
    rows = [_row_or_problem(store, settings, each, owners.get(each)) for each in names]
    if as_json:
        echo_json({"engine": settings.engine, "done": actions, "indexes": rows})
    else:
        for line in actions:
            echo(line)
        _show(rows, settings, _location(store, settings))


def _list_skips(settings: Settings, *, as_json: bool) -> None:
    """Print what is left out of an index, the most frequent reason first."""
    from treeline.search.settings import open_store
    from treeline.service.skips import all_skips

    with closing(open_store(settings).open(settings.index)) as engine:
        skips = list(all_skips(settings, engine))
    by_reason: dict[str, list[str]] = {}
    for skip in skips:
        by_reason.setdefault(skip.reason.partition(":")[0], []).append(skip.path)
    order = sorted(by_reason, key=lambda reason: (-len(by_reason[reason]), reason))
    if as_json:
        rows = [{"path": path, "reason": reason} for reason in order for path in by_reason[reason]]
        echo_json({"index": settings.index, "skipped": rows})
        return
    for reason in order:
        echo(f"{len(by_reason[reason]):,} × {reason}")
        for path in by_reason[reason]:
            echo(f"  {visible_name(path)}")
    echo(f"{len(skips):,} left out of {settings.index}" if skips else f"nothing is left out of {settings.index}")


def _manage(store: Store, settings: Settings, *, roll_back: bool, prune: int | None, drop: bool) -> list[str]:
    name, lines = settings.index, []
    if drop:
        from treeline.graph.history import history_file

        store.drop(name)
        history_file(settings.home_path, name).unlink(missing_ok=True)
        return [f"index {name!r} removed"]
    if roll_back:
        generation, info = store.current(name), store.roll_back(name)
        lines.append(
            f"index {name!r} is back at generation {info.generation} ({counted(info.functions, 'unit')}); "
            f"no roll-back leads to {generation} again"
        )
    if prune:
        old = store.prune(name, prune)
        lines.append(f"generations removed: {', '.join(old) or 'none'}")
    return lines


def _row_or_problem(store: Store, settings: Settings, name: str, project: Project | None) -> dict[str, Any]:
    """The row of an index, or why it cannot be read, with its sources if known, to rebuild it."""
    owner = {"project": {"name": project.name, "root": readable(str(project.root))} if project else None}
    try:
        return _row(store, settings, name) | owner
    except (EngineUnavailable, IndexMissing):
        raise
    except Exception as error:  # noqa: BLE001 - damaged files can raise anything
        problem = str(error) if isinstance(error, TreelineError) else f"cannot be read: {error!r} ({REBUILD})"
    row = {"name": name, "current": store.current(name), "problem": problem, "sources": []} | owner
    with suppress(Exception):
        row["sources"] = _sources(store, name)
    return row


def _sources(store: Store, name: str) -> list[str]:
    from treeline.ingest import state

    return state.sources_in(store.artifact(name, state.ARTIFACT))


def _row(store: Store, settings: Settings, name: str) -> dict[str, Any]:
    from treeline.graph import global_embedding
    from treeline.service.skips import skip_counts

    engine = store.open(name)
    current = engine.info.generation  # older than the newest if that is damaged
    try:
        facets = engine.facets()
        embedding = engine.artifact("embedding")
    finally:
        engine.close()
    quality = global_embedding.load(embedding).quality if embedding else None
    return {
        "name": name,
        "current": current,
        "damage": list(engine.damaged),
        "functions": engine.info.functions,
        "encoders": [{"name": spec.name, "dimension": spec.dimension} for spec in engine.info.encoders],
        "languages": facets.get("language", {}),
        "repositories": len(facets.get("repo", {})),
        "sources": _sources(store, name),
        "skipped": skip_counts(settings, name),
        "tree": quality and {"average_distortion": quality.average_distortion, "map": quality.mean_average_precision},
        "bytes": _size(settings, name, current),
        "generations": [
            {
                "generation": info.generation,
                "functions": info.functions,
                "created": info.created,
                "current": info.generation == current,
                "rolled_back": info.rolled_back,
            }
            for info in store.generations(name)
        ],
    }


def _size(settings: Settings, name: str, generation: str) -> int | None:
    """Bytes on disk of the current generation; None on Elasticsearch."""
    if settings.engine != "embedded":
        return None
    folder = settings.home_path / name / generation
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _location(store: Store, settings: Settings) -> str:
    """The location of the indexes, without credentials."""
    if settings.engine == "embedded":
        return str(settings.home_path)
    from treeline.engine.elasticsearch import ElasticsearchStore
    from treeline.engine.elasticsearch.client import addresses

    assert isinstance(store, ElasticsearchStore)
    return addresses(store.client)


def _show(rows: list[dict[str, Any]], settings: Settings, location: str) -> None:
    if not rows:
        echo(f"no index yet in {location}; make one with: {how_to_index(settings)}")
        return
    echo(f"{settings.engine}: {location}")
    for row in rows:
        sources = [f"  source {source}" for source in row["sources"]]
        if "problem" in row:
            echo("\n".join([f"{_title(row)}: {row['problem']}", *sources]))
            continue
        encoders = " + ".join(f"{spec['name']} ({spec['dimension']}-d)" for spec in row["encoders"]) or "none"
        size = ""
        if (count := row["bytes"]) is not None:
            size = f", {count / 1e6:,.0f} MB" if count >= 1e6 else f", {count / 1e3:,.0f} kB"
        languages = ", ".join(row["languages"])
        echo(
            f"{_title(row)}: {counted(row['functions'], 'unit')}, {counted(row['repositories'], 'repository')}"
            f" ({languages}), encoder {encoders}{size}"
        )
        for source in sources:
            echo(source)
        _show_skipped(row["skipped"])
        for damage in row["damage"]:
            echo(f"  damage: {damage} ({REBUILD})")
        if row["tree"]:
            tree = row["tree"]
            echo(f"  tree in the disk: distortion {tree['average_distortion']:.3f}, MAP {tree['map']:.3f}")
        for generation in row["generations"]:
            mark = "*" if generation["current"] else " "
            note = "  rolled back" if generation["rolled_back"] and not generation["current"] else ""
            echo(
                f" {mark} {generation['generation']}  {generation['functions']:>9,} units  {generation['created']}"
                f"{note}"
            )


def _title(row: dict[str, Any]) -> str:
    """The name of an index; of a project's its folder too, as the name for `--name` only begins like it."""
    owner = row["project"]
    return f"{owner['name']}, project {owner['root']} (--name {row['name']})" if owner else str(row["name"])


def _show_skipped(reasons: dict[str, int]) -> None:
    """One line of counts, and the files that are left out as secret."""
    from treeline.ingest.state import totals

    if counts := totals(reasons):
        echo(f"  skipped: {', '.join(f'{count:,} × {reason}' for reason, count in counts.items())}")
    files = [reason.partition(": ")[2] for reason in reasons if reason.startswith("secret: ")]
    for file in files[:SECRETS_SHOWN]:
        echo(f"    secret: {file}")
    if len(files) > SECRETS_SHOWN:
        echo(f"    … and {len(files) - SECRETS_SHOWN:,} more; --json lists all")
