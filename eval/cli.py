"""`treeline eval`: every claim about quality, repeated with one command."""

from __future__ import annotations

import click

from treeline.service.cli.lazy import LazyGroup

DATASETS = {
    "codesearchnet": ("treeline.eval.cli_codesearchnet", "CodeSearchNet's 99 questions, with the official NDCG."),
    "docstrings": ("treeline.eval.cli_docstrings", "Docstrings ask, their functions (stripped of them) answer."),
    "encoders": ("treeline.eval.cli_encoders", "Other encoders beside the static one."),
    "judged": ("treeline.eval.cli_judged", "Questions whose first answers were judged one by one."),
    "mined": ("treeline.eval.cli_mined", "Commit subjects ask, the files or functions they changed answer."),
    "repository": ("treeline.eval.cli_repository", "Questions about real repositories, answered by files."),
    "web": ("treeline.eval.cli_web", "Web-style questions; choose on `dev`, report on `test`."),
}


@click.group(cls=LazyGroup, modules=DATASETS)
def command() -> None:
    """Measure the quality of search."""
