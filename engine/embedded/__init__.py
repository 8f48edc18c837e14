"""The embedded engine: indexes in a folder, no server."""

from treeline.engine.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
