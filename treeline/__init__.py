"""Treeline: code search that knows the repository tree."""
