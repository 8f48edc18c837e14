"""`treeline tree`: the repository tree of an index or of a question's results, and how well the disk keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from corpus.errors import InputError
from service.cli.options import settings_for, where

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx

    from engine.protocol import Engine
    from graph.tree import Tree
    from service.live import LiveSearcher

CANDIDATES = 100  # that a search re-ranks


@click.command("tree")
@click.argument("query", required=False)
@where
@click.option("--split", is_flag=True, help="Also a disk for each repository (the paper's Method 1).")
@click.option("--refine", type=click.IntRange(2, 64), metavar="DIMENSIONS", help="Refine QUERY's tree by geoopt.")
@click.option("--export", "target", type=click.Path(path_type=Path), metavar="FILE", help="Write .graphml or .json.")
@click.option("--forest", is_flag=True, help="Export without the common root (Method 1).")
def command(
    query: str | None,
    engine: str | None,
    name: str,
    split: bool,
    refine: int | None,
    target: Path | None,
    forest: bool,
) -> None:
    """The repository tree in figures; with QUERY, the part of it that the results of that question span."""
    from service.live import open_searcher

    if refine and not query:
        raise InputError("--refine needs a question", "the whole tree is too large for it")
    write = _writer(target) if target else None
    searcher = open_searcher(settings_for(engine, name))
    try:
        if query:
            _of_results(searcher, query, refine)
        if not query or split or write:
            _whole(searcher.engine, split, write, forest)
    finally:
        searcher.close()


def _of_results(searcher: LiveSearcher, query: str, dimensions: int | None) -> None:
    from graph.layout import local_distortion
    from graph.local_tree import local_tree
    from graph.refine import refine
    from service.answer import Query

    addresses = [candidate.address for candidate in searcher.rank(Query(query)).candidates[:CANDIDATES]]
    if not addresses:
        click.echo("nothing found: no tree")
        return
    local = local_tree(addresses)
    repositories = len({address.repo for address in addresses})
    click.echo(f"{len(addresses)} results span {len(local.parents)} nodes of {repositories} repositories")
    click.echo(f"in a disk of their own: average distortion {local_distortion(local):.3f}")
    if dimensions:
        found = refine(local.parents, local.weights, local.leaves, local.distances, dimension=dimensions)
        outcome = f"average distortion {found.after:.3f}" if found.kept else "no better, so it is left as it was"
        click.echo(f"refined in {dimensions} dimensions: {outcome}")


def _whole(engine: Engine, split: bool, write: Callable[[nx.DiGraph[int]], None] | None, forest: bool) -> None:
    from graph import global_embedding, tree

    stored, embedded = engine.artifact("tree"), engine.artifact("embedding")
    if stored is None or embedded is None:
        raise InputError(f"the index {engine.info.name!r} has no tree", "index it again")
    whole = tree.load(stored)
    size = whole.summary()
    click.echo(
        f"{size.nodes:,} nodes: {size.functions:,} functions of {size.repositories:,} repositories, "
        f"{size.depth} deep, up to {size.fan_out:,} children"
    )
    disk = global_embedding.load(embedded)
    apart = "branches kept apart" if disk.separable else "more than float64 keeps apart"
    click.echo(
        f"in one disk: average distortion {disk.quality.average_distortion:.3f}, "
        f"MAP {disk.quality.mean_average_precision:.3f} ({apart})"
    )
    if split:
        _a_disk_each(whole)
    if write:
        write(whole.networkx(forest=forest))


def _a_disk_each(whole: Tree) -> None:
    import numpy as np

    from graph.distortion import quality
    from graph.global_embedding import embed_split

    found = []
    for nodes, embedding in embed_split(whole, strict=False).values():
        place = np.full(len(whole), -1, dtype=np.int32)
        place[nodes] = np.arange(len(nodes), dtype=np.int32)
        parents = place[whole.parents[nodes]]
        found.append((len(nodes), quality(embedding, parents, (parents >= 0).astype(float))))
    sizes = np.array([size for size, _ in found])
    distortion = np.average([one.average_distortion for _, one in found], weights=sizes)
    precision = np.average([one.mean_average_precision for _, one in found], weights=sizes)
    click.echo(f"in {len(found):,} disks, one a repository: average distortion {distortion:.3f}, MAP {precision:.3f}")


def _writer(target: Path) -> Callable[[nx.DiGraph[int]], None]:
    """What writes the kind of file that the name asks for."""

    def graphml(graph: nx.DiGraph[int]) -> None:
        import networkx as nx

        nx.write_graphml(graph, target)

    def json(graph: nx.DiGraph[int]) -> None:
        import networkx as nx
        import orjson

        target.write_bytes(orjson.dumps(nx.node_link_data(graph, edges="edges")))

    writers = {".graphml": graphml, ".json": json}
    if target.suffix not in writers:
        raise InputError(f"cannot write a tree to {target.name}", "name it .graphml or .json")
    return writers[target.suffix]
