"""Shows and exports the tree of an index or of a query's results, and how well it is embedded.

python -m lab.tree [QUERY] [--name INDEX] [--export FILE]
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treeline.corpus.counting import counted
from treeline.corpus.errors import InputError
from treeline.service.cli import main
from treeline.service.cli.options import OutputPath, index_options, settings_for

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx

    from treeline.engine.protocol import Engine
    from treeline.graph.tree import Tree
    from treeline.search.live import LiveSearcher


@click.command
@click.argument("query", required=False)
@index_options
@click.option("--split", is_flag=True, help="Also a disk for each repository (the paper's Method 1).")
@click.option(
    "--refine", type=click.IntRange(3, 64), metavar="DIMENSIONS", help="The whole tree in as many, by geoopt."
)
@click.option("--export", "target", type=OutputPath(), metavar="FILE", help="Write it as .graphml or .json.")
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
    """The repository tree in figures; with QUERY, the subtree of its results."""
    from treeline.graph import network
    from treeline.search.live import open_searcher
    from treeline.search.tree import index_graph

    if refine and query:
        raise InputError("--refine is for the whole tree", "a query's results fit into two dimensions; leave out one")
    write = _writer(target) if target else None
    settings = settings_for(engine, name)
    searcher = open_searcher(settings, once=True)
    try:
        if query:
            graph = _of_results(searcher, query, settings.rerank_depth)
        else:
            graph = index_graph(searcher.engine)
            _describe(graph)
            if refine:
                from treeline.graph.refine import embed_refined

                graph = index_graph(searcher.engine, lambda tree, _: embed_refined(tree, refine))
                click.echo(f"in {refine} dimensions: {_measured(graph)}")
        if split:
            _describe_split(searcher.engine)
    finally:
        searcher.close()
    if write and len(graph):
        graph = network.forest(graph) if forest else graph
        write(graph)
        click.echo(f"written: {counted(len(graph), 'node')}")


def _of_results(searcher: LiveSearcher, query: str, depth: int) -> nx.DiGraph[int]:
    from treeline.search.query import Query
    from treeline.search.tree import result_graph

    results = searcher.rank(Query(query)).candidates[:depth]
    graph = result_graph(results)
    if not results:
        click.echo("nothing found: no tree")
        return graph
    repositories = counted(len({candidate.address.repo for candidate in results}), "repository")
    click.echo(f"{counted(len(results), 'result')} span {counted(len(graph), 'node')} of {repositories}")
    click.echo(f"in a disk of their own: average distortion {graph.graph['distortion']:.3f}")
    return graph


def _describe(graph: nx.DiGraph[int]) -> None:
    """The whole tree in figures."""
    nodes = [data for _, data in graph.nodes(data=True)]
    units = sum(bool(data["function"]) for data in nodes)
    repositories = sum(data["kind"] == "repository" for data in nodes)
    depth = max((data["depth"] for data in nodes), default=0)
    widest = max((children for _, children in graph.out_degree()), default=0)
    click.echo(
        f"{len(graph):,} nodes: {counted(units, 'unit')} of {counted(repositories, 'repository')}, "
        f"{depth} deep, up to {widest:,} children"
    )
    apart = "branches kept apart" if graph.graph["separable"] else "more than float64 keeps apart"
    click.echo(f"in one disk: {_measured(graph)} ({apart})")


def _measured(graph: nx.DiGraph[int]) -> str:
    return f"average distortion {graph.graph['distortion']:.3f}, MAP {graph.graph['precision']:.3f}"


def _describe_split(engine: Engine) -> None:
    """Prints the quality of a disk for each repository."""
    from treeline.graph import tree
    from treeline.search.artifacts import obtain

    artifact = obtain(engine, "tree")
    if artifact is None:
        raise InputError(f"the index {engine.info.name!r} has no tree", "index it again")
    disks, distortion, precision = split_quality(tree.load(artifact))
    click.echo(
        f"in {counted(disks, 'disk')}, one a repository: average distortion {distortion:.3f}, MAP {precision:.3f}"
    )


def split_quality(tree: Tree) -> tuple[int, float, float]:
    """The number of disks of `embed_split`, and their average distortion and MAP, weighted by nodes."""
    import numpy as np

    from treeline.graph.embedding import quality
    from treeline.graph.global_embedding import embed_split

    rows = [(0, 0.0, 1.0)]
    for nodes, embedding in embed_split(tree, strict=False).values():
        parents = np.searchsorted(nodes, tree.parents[nodes]).astype(np.int32)
        parents[0] = -1
        disk = quality(embedding, parents, (parents >= 0).astype(float))
        rows.append((len(nodes), disk.average_distortion, disk.mean_average_precision))
    sizes, distortions, precisions = zip(*(rows[1:] or rows), strict=True)
    weights = sizes if any(sizes) else None
    return (
        len(rows) - 1,
        float(np.average(distortions, weights=weights)),
        float(np.average(precisions, weights=weights)),
    )


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


if __name__ == "__main__":
    main(command)
