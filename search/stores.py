"""The store that the settings name: a folder of embedded indexes, or an Elasticsearch cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treeline.engine import stores
from treeline.search.settings import Settings, listed

if TYPE_CHECKING:
    from treeline.engine.protocol import Store


def open_store(settings: Settings) -> Store:
    """Only the chosen engine's library is imported; Elasticsearch is not contacted before it is used."""
    return stores.open_store(
        settings.engine,
        home=settings.home_path,
        urls=listed(settings.elasticsearch_url),
        user=settings.elasticsearch_user,
        password=settings.elasticsearch_password,
        api_key=settings.elasticsearch_api_key,
        ca=settings.elasticsearch_ca,
        shards=settings.elasticsearch_shards,
    )
