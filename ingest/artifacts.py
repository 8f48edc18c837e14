"""The side products of an index (call graph, tree, clusters), built from a new generation before it is published.

After a small change they are updated instead: the call graph resolves the changed repositories, the tree loses and
gains leaves, clusters take in new units. Workers resolve the call graph while this process completes the generation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from treeline.corpus.frozen import frozen
from treeline.corpus.function import Address
from treeline.engine.hits import Vectors
from treeline.engine.protocol import Engine
from treeline.ingest.source import Progress
from treeline.ingest.state import State
from treeline.ingest.workers import Workers

if TYPE_CHECKING:
    from treeline.graph.callgraph.storage import Part

TREE, EMBEDDING, CALLGRAPH, CLUSTERS = "tree", "embedding", "callgraph", "clusters"
VECTORS_AT_ONCE = 10_000
# Packed facts per task for a worker: small enough to balance the load.
FACTS_A_TRIP = 250_000
# Up to this share of changed units, side products are updated; beyond it, rebuilt.
FEW = 0.2

Addresses = list[tuple[str, Address]]
PackedGraphs = list[tuple[str, bytes]]


@frozen
class Changes:
    """The difference between the last generation (if any) and the new one."""

    previous: Engine | None
    new_ids: Sequence[str]
    old_ids: Sequence[str]
    state: State
    repos: frozenset[str]
    """Repositories whose facts may differ from before."""

    def before(self, name: str) -> bytes | None:
        """The artifact to update; None if it is better to rebuild it."""
        if self.previous is None:
            return None
        few = FEW * self.previous.info.functions
        return (self.previous.artifact(name) or None) if len(self.new_ids) + len(self.old_ids) <= few else None


@frozen
class CallGraphUnderWay:
    """Repositories being resolved, and the kept parts of the last call graph (None if all are resolved again)."""

    graphs: Sequence[Future[PackedGraphs]]
    before: dict[str, Part]
    repos: frozenset[str]


def begin_callgraph(changes: Changes, workers: Workers) -> CallGraphUnderWay:
    """Send the changed repositories to the workers."""
    from treeline.graph.callgraph.storage import split

    data = changes.before(CALLGRAPH)
    before = split(data) if data is not None else {}
    facts = changes.state.facts(changes.repos if before else None)
    trips: list[list[tuple[str, list[bytes], bytes]]] = []
    size = FACTS_A_TRIP
    # Largest first, so that the last tasks are small.
    for repo, pieces in sorted(facts.items(), key=lambda one: -sum(map(len, one[1]))):
        if size >= FACTS_A_TRIP:
            trips.append([])
            size = 0
        trips[-1].append((repo, pieces, before[repo].dump() if repo in before else b""))
        size += sum(map(len, pieces))
    return CallGraphUnderWay([workers.call(resolve, trip) for trip in trips], before, changes.repos)


def resolve(repositories: Sequence[tuple[str, Sequence[bytes], bytes]]) -> PackedGraphs:
    """The call graphs of some repositories, from their packed facts and, if there is one, the graph before."""
    from treeline.graph.callgraph.build import of_pieces
    from treeline.graph.callgraph.storage import load_part
    from treeline.graph.callgraph.update import update

    graphs: PackedGraphs = []
    for repo, pieces, before in repositories:
        updated = update(load_part(repo, before), pieces) if before else None
        graphs.append((repo, (updated[0] if updated else of_pieces(repo, pieces)).dump()))
    return graphs


# Builds every artifact by name, once the generation can be previewed.
Builder = Callable[[Callable[[], Engine]], Iterator[tuple[str, bytes]]]
Make = Callable[[Changes, Workers, Progress], Builder]


def build(changes: Changes, workers: Workers, progress: Progress) -> Builder:
    """Start building all artifacts; workers resolve the call graph while the generation is completed."""
    graph = begin_callgraph(changes, workers)

    def build_all(preview: Callable[[], Engine]) -> Iterator[tuple[str, bytes]]:
        with closing(preview()) as view:
            yield from _build(view, changes, graph, progress)

    return build_all


def leave_out(changes: Changes, _workers: Workers, _progress: Progress) -> Builder:
    """Build none: an empty one replaces each artifact of the last generation."""

    def build_all(_preview: Callable[[], Engine]) -> Iterator[tuple[str, bytes]]:
        for name in (TREE, EMBEDDING, CALLGRAPH, CLUSTERS):
            if changes.previous is not None and changes.previous.artifact(name):
                yield name, b""

    return build_all


def _build(view: Engine, changes: Changes, graph: CallGraphUnderWay, progress: Progress) -> Iterator[tuple[str, bytes]]:
    """Every artifact by name, except those the index lacks the data for."""
    addresses = _AllAddresses(view)
    with ThreadPoolExecutor(1) as pool:
        # Matrix products, which release the interpreter lock.
        clusters = pool.submit(_clusters, view, changes, addresses)
        progress("building the tree", 0, 3)
        yield from _tree(view, changes, addresses)
        progress("building the call graph", 1, 3)
        yield CALLGRAPH, _callgraph(view, changes, graph, addresses)
        progress("building clusters", 2, 3)
        data = clusters.result()
        if data is not None:
            yield CLUSTERS, data


def _tree(view: Engine, changes: Changes, addresses: _AllAddresses) -> Iterator[tuple[str, bytes]]:
    """The tree, and its embedding in the disk."""
    from treeline.graph import global_embedding, tree

    before, embedding = changes.before(TREE), changes.before(EMBEDDING)
    if before is None or embedding is None:
        grown = tree.grow(addresses())
        yield TREE, tree.dump(grown)
        yield EMBEDDING, global_embedding.dump(global_embedding.embed_whole(grown))
    else:
        grown = tree.grow(_locate(view, changes.new_ids), tree.prune(tree.load(before), changes.old_ids))
        yield TREE, tree.dump(grown)
        yield EMBEDDING, global_embedding.dump(global_embedding.embed_again(grown, global_embedding.load(embedding)))


def _callgraph(view: Engine, changes: Changes, graph: CallGraphUnderWay, addresses: _AllAddresses) -> bytes:
    from treeline.graph.callgraph.storage import assemble, load_part

    parts = dict(graph.before)
    functions: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    old_ids = set(changes.old_ids)
    for repo in graph.repos & parts.keys():
        functions[repo] = [one for one in parts.pop(repo).functions() if one[0] not in old_ids]
    for id_, address in _locate(view, changes.new_ids) if graph.before else addresses():
        functions[address.repo].append((id_, address.path, address.func_name))
    for future in graph.graphs:
        parts |= {repo: load_part(repo, data).with_ids(functions[repo]) for repo, data in future.result()}
    return assemble(parts.values())


def _clusters(view: Engine, changes: Changes, addresses: _AllAddresses) -> bytes | None:
    from treeline.graph import corpus_clusters

    if not view.info.encoders:
        return None
    before = changes.before(CLUSTERS)
    if before is not None:
        new_ids = list(changes.new_ids)
        clusters = corpus_clusters.update(before, new_ids, _vectors(view, new_ids), changes.old_ids)
        if clusters is not None:
            return clusters
    ids = [id_ for id_, _ in addresses()]
    return corpus_clusters.build(ids, _vectors(view, ids))


def _vectors(view: Engine, ids: Sequence[str]) -> Vectors:
    """The default encoder's vectors of all ids."""
    starts = range(0, len(ids), VECTORS_AT_ONCE)
    parts = [view.vectors(ids[start : start + VECTORS_AT_ONCE]) for start in starts]
    return np.concatenate([np.zeros((0, view.info.encoders[0].dimension), dtype=np.float32), *parts])


def _locate(view: Engine, ids: Sequence[str]) -> Addresses:
    return [(hit.id, hit.address) for hit in view.locate(ids)]


class _AllAddresses:
    """All addresses of a generation, read once, when first needed."""

    def __init__(self, view: Engine) -> None:
        self._view = view
        self._lock = Lock()
        self._read: Addresses | None = None

    def __call__(self) -> Addresses:
        with self._lock:
            if self._read is None:
                self._read = list(self._view.addresses())
            return self._read
