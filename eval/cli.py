"""`treeline eval`: every claim about quality, repeated with one command."""

from __future__ import annotations

import click

from service.cli.lazy import LazyGroup

DATASETS = {
    "codesearchnet": ("eval.cli_codesearchnet", "CodeSearchNet's 99 questions, with the official NDCG."),
    "docstrings": ("eval.cli_docstrings", "Docstrings ask, their functions (stripped of them) answer."),
    "encoders": ("eval.cli_encoders", "Other encoders beside the static one."),
    "judged": ("eval.cli_judged", "Questions whose first answers were judged one by one."),
    "mined": ("eval.cli_mined", "Commit subjects ask, the files or functions they changed answer."),
    "web": ("eval.cli_web", "Web-style questions; choose on `dev`, report on `test`."),
}


@click.group(cls=LazyGroup, modules=DATASETS)
def command() -> None:
    """Measure the quality of search."""
