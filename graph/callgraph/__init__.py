"""The call graph: built from the parsers' facts, stored as arrays, walked in either direction.

`build` makes the artifact, `load` opens it as a `CallGraph`. `storage` keeps it in parts, one per repository.
"""

from treeline.graph.callgraph.build import build
from treeline.graph.callgraph.graph import ARTIFACT, CallGraph, Direction, GraphSymbol, Step, load
from treeline.graph.callgraph.resolve import POSSIBLE

__all__ = ["ARTIFACT", "POSSIBLE", "CallGraph", "Direction", "GraphSymbol", "Step", "build", "load"]
