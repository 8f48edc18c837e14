"""Runs every evaluation of docs/evaluation.md and rewrites its tables: `python -m treeline.eval.refresh`.

Of each data set one result stays in the repository.
"""

from __future__ import annotations

import sys

import click

from treeline.corpus.errors import TreelineError
from treeline.eval import docs, results
from treeline.eval.cli import command as evaluate

# In the order of the page; {name} is the index of CodeSearchNet's functions.
RUNS = (
    "codesearchnet --name {name} --compare",
    "codesearchnet --name {name} --paper",
    "codesearchnet --name {name} --ablate",
    "docstrings --compare",
    "docstrings --full --compare",
    "web --split dev --ablate",
    "web --split test --compare",
    "web --split test --full --name {name} --compare",
    "web --split test --mistyped --full --name {name} --compare",
    "judged --name {name} --compare",
    "judged --name {name} --ablate",
    "mined {repository} --compare",
    "mined {repository} --level symbol --compare",
)


@click.command()
@click.option("--name", default="csn", show_default=True, help="Index of CodeSearchNet's functions.")
@click.option("--repository", default=".", show_default=True, help="Repository whose history is mined.")
@click.option("--only", default="", metavar="WORD", help="Only runs whose command contains this.")
def main(name: str, repository: str, only: str) -> None:
    """Run every evaluation, keep the results, write the page."""
    for run in RUNS:
        if only in run:
            arguments = run.format(name=name, repository=repository).split()
            click.echo(f"\ntreeline eval {' '.join(arguments)} --keep")
            try:
                evaluate.main([*arguments, "--keep"], standalone_mode=False)
            except TreelineError as error:
                sys.exit(f"treeline: {error}")
    results.tidy()
    docs.write()


if __name__ == "__main__":
    main()
