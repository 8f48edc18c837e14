"""The facts of an index's files, from which its call graph is made; packed by repository.

They lie in the SQLite database that is stored with each generation (`ingest/state.py` writes it), so a call graph that
a load left out can be made when somebody first asks for it.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import starmap

import orjson

from treeline.corpus.errors import IndexOutdated, TreelineError
from treeline.graph.references import FileFacts, Import, Reference, Symbol, Typing

ARTIFACT = "state"
CACHE_KB = 32_000  # of a database in a temporary file
# Raise it when indexed documents change for the same input, so that old indexes are rebuilt.
VERSION = 4

# A repository and its facts, so that the call graph is resolved repository by repository.
PackedFacts = tuple[tuple[str, bytes], ...]


def open_state(data: bytes) -> sqlite3.Connection:
    """The database of a generation in memory. Raises if it is damaged or of another version. Without data it is empty,
    and in a temporary file when it has grown: that of a large repository is hundreds of megabytes."""
    database = sqlite3.connect(":memory:" if data else "", isolation_level=None)
    if not data:
        database.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        return database
    try:
        database.deserialize(data)
        version = database.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise TreelineError(f"the index's record of its sources is damaged: {error}", "use --fresh") from error
    if version != VERSION:
        raise IndexOutdated("the index's record of its sources", version, VERSION)
    return database


def packed_facts(database: sqlite3.Connection, repos: Collection[str] | None = None) -> dict[str, list[bytes]]:
    """The packed facts of these (or all) repositories, in the order of their files."""
    facts: dict[str, list[bytes]] = defaultdict(list)
    rows = database.execute(
        "SELECT repo, packed FROM facts JOIN unit ON unit.id = facts.unit ORDER BY source, name, facts.rowid"
    )
    for repo, data in rows:
        if repos is None or repo in repos:
            facts[repo].append(data)
    return dict(facts)


def pack_facts(facts: Iterable[FileFacts]) -> PackedFacts:
    """Compressed JSON for each repository."""
    by_repo: dict[str, list[FileFacts]] = defaultdict(list)
    for fact in facts:
        by_repo[fact.repo].append(fact)
    # Level 1 is a third larger than level 6 and five times as fast.
    return tuple(
        # Named tuples are not orjson's: `default` makes plain ones of them.
        (repo, zlib.compress(orjson.dumps([fact[1:] for fact in some], default=tuple), 1))
        for repo, some in by_repo.items()
    )


def unpack_facts(repo: str, data: bytes) -> Iterator[FileFacts]:
    for path, language, symbols, imports, references, *types in orjson.loads(zlib.decompress(data)):
        yield FileFacts(
            repo,
            path,
            language,
            tuple(starmap(Symbol, symbols)),
            tuple(starmap(Import, imports)),
            tuple(starmap(Reference, references)),
            tuple(starmap(Typing, *types)) if types else (),
        )
