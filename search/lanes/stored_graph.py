"""The call graph that is stored with an open index, loaded when it is first asked for."""

from __future__ import annotations

import threading

from treeline.engine.protocol import Engine
from treeline.graph.callgraph import ARTIFACT, CallGraph, load


class StoredGraph:
    """Called, it is the graph; nothing when the index was built without one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._graph: CallGraph | None = None
        self._loaded = False
        self._lock = threading.Lock()

    def __call__(self) -> CallGraph | None:
        if not self._loaded:
            with self._lock:
                if not self._loaded:
                    data = self._engine.artifact(ARTIFACT)
                    self._graph = None if data is None else load(data)
                    self._loaded = True
        return self._graph
