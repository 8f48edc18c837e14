"""`treeline lab tree`: the repository tree of an index or of a query's results, and its embedding's quality."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treeline.corpus.counting import counted
from treeline.corpus.errors import InputError
from treeline.service.cli.options import OutputPath, index_options, settings_for

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx

    from treeline.engine.protocol import Engine
    from treeline.graph.tree import Tree
    from treeline.search.live import LiveSearcher


CLUSTERS = 10  # of a query's results, as in the paper


@click.command("tree")
@click.argument("query", required=False)
@index_options
@click.option("--split", is_flag=True, help="Also a disk for each repository (the paper's Method 1).")
@click.option("--refine", type=click.IntRange(2, 64), metavar="DIMENSIONS", help="Refine QUERY's tree by geoopt.")
@click.option("--export", "target", type=OutputPath(), metavar="FILE", help="Write it as .graphml or .json.")
@click.option("--forest", is_flag=True, help="Export without the common root (Method 1).")
def tree(
    query: str | None,
    engine: str | None,
    name: str,
    split: bool,
    refine: int | None,
    target: Path | None,
    forest: bool,
) -> None:
    """The repository tree in figures; with QUERY, the subtree of its results."""
    from treeline.search.live import open_searcher

    if refine and not query:
        raise InputError("--refine needs a question", "the whole tree is too large for it")
    write = _writer(target) if target else None
    settings = settings_for(engine, name)
    searcher = open_searcher(settings, patient=True)
    try:
        tree = _of_results(searcher, query, settings.rerank_depth, refine) if query else None
        if not query or split:
            whole = _whole(searcher.engine, split)
            tree = tree if query else whole
        if write and tree is not None:
            exported = _located(tree, searcher.engine, forest, query)
            write(exported)
            click.echo(f"written with every folder on the way: {counted(len(exported), 'node')}")
    finally:
        searcher.close()


def _of_results(searcher: LiveSearcher, query: str, depth: int, dimensions: int | None) -> Tree | None:
    from treeline.graph.layout import local_distortion
    from treeline.graph.local_tree import local_tree
    from treeline.graph.refine import refine
    from treeline.graph.tree import grow
    from treeline.search.query import Query

    found = searcher.rank(Query(query)).candidates[:depth]
    addresses = [candidate.address for candidate in found]
    if not addresses:
        click.echo("nothing found: no tree")
        return None
    local = local_tree(addresses)
    repositories = counted(len({address.repo for address in addresses}), "repository")
    click.echo(f"{counted(len(addresses), 'result')} span {len(local.parents)} nodes of {repositories}")
    click.echo(f"in a disk of their own: average distortion {local_distortion(local):.3f}")
    if dimensions:
        refined = refine(local.parents, local.weights, local.leaves, local.distances, dimension=dimensions)
        outcome = f"average distortion {refined.after:.3f}" if refined.kept else "no better, so it is left as it was"
        click.echo(f"refined in {dimensions} dimensions: {outcome}")
    return grow((candidate.id, candidate.address) for candidate in found)


def _located(tree: Tree, engine: Engine, forest: bool, query: str | None) -> nx.DiGraph[int]:
    """The tree with its coordinates in the disk, and the clusters of a query's results."""
    from treeline.graph import embedding, global_embedding
    from treeline.ingest.artifacts import obtain

    if not query:
        stored = obtain(engine, "embedding")
        return tree.networkx(forest=forest, embedding=global_embedding.load(stored).embedding if stored else None)
    from treeline.graph.local_tree import local_tree
    from treeline.rerank.clustering import hyperbolic_kmeans

    ids = list(tree.leaves)
    hits = engine.locate(ids)
    labels = hyperbolic_kmeans(local_tree([hit.address for hit in hits]), CLUSTERS).tolist()
    weights = (tree.parents >= 0).astype(float)
    return tree.networkx(
        forest=forest,
        embedding=embedding.embed(tree.parents, weights),
        clusters=dict(zip((hit.id for hit in hits), labels, strict=True)),
    )


def _whole(engine: Engine, split: bool) -> Tree:
    from treeline.graph import global_embedding, tree
    from treeline.ingest.artifacts import obtain

    stored, embedded = obtain(engine, "tree"), obtain(engine, "embedding")
    if stored is None or embedded is None:
        raise InputError(f"the index {engine.info.name!r} has no tree", "index it again")
    whole = tree.load(stored)
    size = whole.summary()
    click.echo(
        f"{size.nodes:,} nodes: {counted(size.functions, 'unit')} of {counted(size.repositories, 'repository')}, "
        f"{size.depth} deep, up to {size.fan_out:,} children"
    )
    disk = global_embedding.load(embedded)
    apart = "branches kept apart" if disk.separable else "more than float64 keeps apart"
    click.echo(
        f"in one disk: average distortion {disk.quality.average_distortion:.3f}, "
        f"MAP {disk.quality.mean_average_precision:.3f} ({apart})"
    )
    if split:
        disks, distortion, precision = global_embedding.split_quality(whole)
        click.echo(
            f"in {counted(disks, 'disk')}, one a repository: average distortion {distortion:.3f}, MAP {precision:.3f}"
        )
    return whole


def _writer(target: Path) -> Callable[[nx.DiGraph[int]], None]:
    """The writer for the file's suffix."""

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
