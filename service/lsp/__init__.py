"""Treeline for editors, over the Language Server Protocol."""
