"""The call graph: built from the parsers' facts, stored as arrays, walked in either direction.

`load` opens the artifact as a `CallGraph`; `build`, which a search never needs, makes it. `storage` keeps it in parts,
one per repository.
"""

from treeline.graph.callgraph.graph import ARTIFACT, CallGraph, Direction, GraphSymbol, Step
from treeline.graph.callgraph.storage import POSSIBLE

load = CallGraph

__all__ = ["ARTIFACT", "POSSIBLE", "CallGraph", "Direction", "GraphSymbol", "Step", "load"]
