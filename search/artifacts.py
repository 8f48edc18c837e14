"""The side products of an index for its readers: as stored, or made now if the load left them out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np

from treeline.corpus.errors import TreelineError
from treeline.engine.durable import write_atomically
from treeline.engine.patterns import exactly
from treeline.engine.protocol import Engine, Filters
from treeline.graph import facts

TREE, EMBEDDING, CALLGRAPH, CLUSTERS = "tree", "embedding", "callgraph", "clusters"
VECTORS_AT_ONCE = 10_000


def obtain(engine: Engine, name: str, cache: Path | None = None) -> bytes | None:
    """An artifact as stored, or built now if it was left out; `cache` is a folder to keep it in."""
    content = engine.artifact(name)
    if content or name not in MAKERS or engine.artifact(facts.ARTIFACT) is None:
        return content
    file = _file(engine, name, cache) if cache is not None else None
    if file is not None:
        with suppress(OSError):
            return file.read_bytes()
    others = sorted(file.parent.glob(f"{engine.info.name}-*.{name}")) if file is not None else []
    data = MAKERS[name](engine, _read(others[-1]) if others else b"")
    if file is not None and data is not None:
        with suppress(OSError, TreelineError):
            file.parent.mkdir(parents=True, exist_ok=True)
            for old in others:
                old.unlink(missing_ok=True)
            write_atomically(file, data)
    return data


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # another process has just replaced it
        return b""


def is_made(engine: Engine, name: str, cache: Path | None = None) -> bool:
    """Whether an artifact is there, so that `obtain` does not take seconds to make it."""
    return bool(engine.artifact_part(name, 0, 1)) or (cache is not None and _file(engine, name, cache).exists())


def _file(engine: Engine, name: str, cache: Path) -> Path:
    digest = blake2b(engine.info.identity.encode(), digest_size=8).hexdigest()
    return cache / "artifacts" / f"{engine.info.name}-{digest}.{name}"


def _callgraph(engine: Engine, before: bytes) -> bytes:
    """The call graph; `before` is that of an earlier generation, of which what did not change is taken over."""
    from treeline.graph.callgraph.build import of_pieces
    from treeline.graph.callgraph.storage import Part, assemble, split
    from treeline.graph.callgraph.update import update

    with closing(facts.open_state(engine.artifact(facts.ARTIFACT) or b"")) as database:
        by_repo = facts.packed_facts(database)
    old: dict[str, Part] = {}
    with suppress(ValueError):  # damaged
        old = split(before) if before else {}
    parts = []
    for repo, pieces in by_repo.items():
        updated = update(old[repo], pieces) if repo in old else None
        part, changes = updated or (of_pieces(repo, pieces), set())
        functions = [one for one in old[repo].functions() if one[1] not in changes] if updated else []
        if changes or not updated:
            paths = ",".join(map(exactly, changes))
            filters = Filters(repo=exactly(repo), path=paths)
            rows = (row for row in engine.addresses(filters) if not updated or row[1].path in changes)
            functions += [(id_, address.path, address.func_name) for id_, address in rows if address.repo == repo]
        parts.append(part.with_ids(functions))
    return assemble(parts)


def _clusters(engine: Engine, _before: bytes) -> bytes | None:
    from treeline.graph import corpus_clusters

    if not engine.info.encoders:
        return None
    ids = [id_ for id_, _ in engine.addresses()]
    starts = range(0, len(ids), VECTORS_AT_ONCE)
    vectors = [engine.vectors(ids[start : start + VECTORS_AT_ONCE]) for start in starts]
    empty = np.zeros((0, engine.info.encoders[0].dimension), dtype=np.float32)
    return corpus_clusters.build(ids, np.concatenate([empty, *vectors]))


def _tree(engine: Engine, _before: bytes) -> bytes:
    from treeline.graph import tree

    return tree.dump(tree.grow(engine.addresses()))


def _embedding(engine: Engine, _before: bytes) -> bytes:
    from treeline.graph import global_embedding, tree

    return global_embedding.dump(global_embedding.embed_whole(tree.grow(engine.addresses())))


# Each takes the artifact of an earlier generation too, or nothing.
MAKERS: dict[str, Callable[[Engine, bytes], bytes | None]] = {
    CALLGRAPH: _callgraph,
    CLUSTERS: _clusters,
    TREE: _tree,
    EMBEDDING: _embedding,
}
