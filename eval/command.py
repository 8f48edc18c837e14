"""`treeline eval`: its subcommands, each imported only when it is called."""

import click

from treeline.service.cli.options import LazyGroup

DATASETS = {
    "codesearchnet": ("treeline.eval.sets.codesearchnet", "CodeSearchNet's 99 questions, with the official NDCG."),
    "docstrings": ("treeline.eval.sets.docstrings", "Docstrings ask, their functions (stripped of them) answer."),
    "issues": ("treeline.eval.sets.issues", "Issues ask, the files and functions that resolved them answer."),
    "mined": ("treeline.eval.sets.mined", "Commit subjects ask, the files or functions they changed answer."),
    "repository": ("treeline.eval.sets.repository", "Questions about real repositories, answered by files."),
}


@click.group(cls=LazyGroup, modules=DATASETS)
def command() -> None:
    """Measure the quality of search."""
