"""A store by the engine's name; each engine's library is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treeline.corpus.errors import InputError
from treeline.engine.protocol import Store

ENGINES = ("embedded", "elasticsearch")


def open_store(
    engine: str,
    *,
    home: Path | None = None,
    urls: Sequence[str] = (),
    user: str = "",
    password: str = "",
    api_key: str = "",
    ca: str = "",
    shards: int = 1,
) -> Store:
    """The embedded store in the folder `home`, or the Elasticsearch cluster at `urls`."""
    if engine == "embedded":
        from treeline.engine.embedded import EmbeddedStore

        if home is None:
            raise InputError("the embedded engine needs a folder", "set TREELINE_HOME")
        return EmbeddedStore(home)
    if engine == "elasticsearch":
        from treeline.engine.elasticsearch import ElasticsearchStore

        return ElasticsearchStore(urls, user=user, password=password, api_key=api_key, ca=ca, shards=shards)
    raise InputError(f"there is no engine {engine!r}", f"choose one of: {', '.join(ENGINES)}")
