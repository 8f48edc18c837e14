"""The repository tree, its hyperbolic geometry, and the call graph."""
