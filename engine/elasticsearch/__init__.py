"""The Elasticsearch engine: indexes on a cluster."""

from treeline.engine.elasticsearch.engine import ElasticsearchEngine
from treeline.engine.elasticsearch.store import ElasticsearchStore

__all__ = ["ElasticsearchEngine", "ElasticsearchStore"]
