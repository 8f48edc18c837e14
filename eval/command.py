"""`treeline eval`: its subcommands, each imported only when it is called."""

import click

from treeline.service.cli.options import LazyGroup

DATASETS = {
    "alternatives": (
        "treeline.eval.sets.alternatives",
        "Many near-equal answers: how many solutions does a page show?",
    ),
    "codesearchnet": ("treeline.eval.sets.codesearchnet", "CodeSearchNet's 99 questions, with the official NDCG."),
    "direction": ("treeline.eval.sets.direction", "Opposite functions: is each question nearer to its own?"),
    "docstrings": ("treeline.eval.sets.docstrings", "Docstrings ask, their functions (stripped of them) answer."),
    "encoders": ("treeline.eval.bench.encoders", "Other encoders beside the static one."),
    "judged": ("treeline.eval.sets.judged", "Questions whose first answers were judged one by one."),
    "messages": ("treeline.eval.sets.messages", "Error messages ask, the functions that raise them answer."),
    "mined": ("treeline.eval.sets.mined", "Commit subjects ask, the files or functions they changed answer."),
    "repository": ("treeline.eval.sets.repository", "Questions about real repositories, answered by files."),
    "shape": ("treeline.eval.sets.shape", "A shape and a topic ask, the parse tree knows the answers."),
    "web": ("treeline.eval.sets.web", "Web-style questions; choose on `dev`, report on `test`."),
}


@click.group(cls=LazyGroup, modules=DATASETS)
def command() -> None:
    """Measure the quality of search."""
