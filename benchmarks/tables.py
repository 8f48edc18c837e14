"""The tables of the documentation, made from the kept results: `python -m benchmarks.tables`."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click

from treeline.corpus.counting import counted
from treeline.eval.report import results
from treeline.eval.report.document import PAPER_HEAD, Document

PAGE = Path(__file__).resolve().parents[1] / "docs" / "research" / "evaluation.md"
Existing = click.Path(exists=True, dir_okay=False, path_type=Path)
Folder = click.Path(exists=True, file_okay=False, path_type=Path)
# <!-- table DATASET METRIC METRIC … --> up to <!-- end -->; `against` at the end adds the paired comparison.
BLOCK = re.compile(r"(<!-- table ([\w-]+) ([^>]*?)-->\n).*?(<!-- end -->)", re.DOTALL)
# In the order of the page; {name} is the index of CodeSearchNet's functions.
RUNS = (
    "treeline.service.cli eval codesearchnet --name {name} --compare",
    "treeline.service.cli eval codesearchnet --name {name} --paper",
    "treeline.service.cli eval codesearchnet --name {name} --ablate",
    "treeline.service.cli eval docstrings --compare",
    "treeline.service.cli eval docstrings --full --compare",
    "benchmarks.web --split dev --ablate",
    "benchmarks.web --split test --compare",
    "benchmarks.web --split test --full --name {name} --compare",
    "benchmarks.web --split test --mistyped --full --name {name} --compare",
    "benchmarks.judged --name {name} --compare",
    "benchmarks.judged --name {name} --ablate",
    "treeline.service.cli eval mined {repository} --compare",
    "treeline.service.cli eval mined {repository} --level symbol --compare",
)


def render(page: str, folder: Path = results.FOLDER) -> str:
    """The page with each table rebuilt from the last kept result of its data set."""
    return BLOCK.sub(lambda found: _block(found, results.last(found[2], folder)), page)


def _block(found: re.Match[str], document: Document | None) -> str:
    if document is None:
        return found[0]
    return found[1] + _table(document, found[3].split()) + found[4]


def _table(document: Document, columns: list[str]) -> str:
    if columns == ["paper"]:
        return paper_table(document)
    against = "against" in columns
    return table(document, [column for column in columns if column != "against"], against)


def table(document: Document, metrics: list[str], against: bool) -> str:
    """Systems by metrics as Markdown, with the headline's interval and a line on the data."""
    labels = {metric["name"]: metric for metric in document["metrics"]}
    head = ["system", *(labels[name]["label"] for name in metrics)]
    if against:
        head += [f"against {document['baseline']}", "wins / losses"]
    head.append("p50 / p95 ms")
    lines = [_row(head), _row(["---"] + ["--:"] * (len(head) - 1))]
    for system in document["systems"]:
        means = system["means"]
        cells = [system["name"]]
        cells += [_mean(means.get(name), labels[name]["share"], name == document["headline"]) for name in metrics]
        if against:
            cells += _against(system["against_baseline"].get(document["headline"]))
        latency = system["latency"]
        cells.append(f"{latency['p50']:.1f} / {latency['p95']:.1f}" if latency else "–")
        lines.append(_row(cells))
    return "\n".join([*lines, "", _provenance(document)]) + "\n"


def paper_table(document: Document) -> str:
    """The paper's figures beside ours."""
    lines = [_row(list(PAPER_HEAD.values())), _row(["---"] + ["--:"] * (len(PAPER_HEAD) - 1))]
    for row in document["paper"]:
        values = [row.get(column) for column in PAPER_HEAD]  # kept by an earlier version: other columns
        lines.append(_row(["–" if x is None else x if isinstance(x, str) else f"{x:.4f}" for x in values]))
    return "\n".join([*lines, "", _provenance(document)]) + "\n"


def _mean(mean: Document | None, share: bool, headline: bool) -> str:
    if mean is None:
        return "–"
    if not share:
        return f"{mean['mean']:.2f}"
    interval = f" ({mean['low']:.3f}–{mean['high']:.3f})" if headline else ""
    return f"{mean['mean']:.3f}{interval}"


def _against(comparison: Document | None) -> list[str]:
    if comparison is None:
        return ["–", "–"]
    p = "p < .001" if comparison["p"] < 0.001 else f"p = {comparison['p']:.3f}"
    return [f"{comparison['difference']:+.3f}, {p}", f"{comparison['wins']} / {comparison['losses']}"]


def _provenance(document: Document) -> str:
    """The index, encoder and commit behind the figures."""
    facts = document["facts"]
    index = facts.get("index", counted(int(facts.get("repositories", 1)), "repository"))
    changes = " with changes" if document["changed"] else ""
    return (
        f"*{document['queries']} questions; index of {index}; encoder {facts.get('encoder', 'static')}; "
        f"commit {document['commit']}{changes}.*"
    )


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def write(page: Path = PAGE, folder: Path = results.FOLDER) -> bool:
    """Rewrite the page's tables; true if any changed."""
    before = page.read_text(encoding="utf-8")
    after = render(before, folder)
    page.write_text(after, encoding="utf-8")
    return after != before


@click.command()
@click.option("--page", type=Existing, default=PAGE, show_default="docs/research/evaluation.md", help="The page.")
@click.option(
    "--results", "folder", type=Folder, default=results.FOLDER, show_default="eval/results", help="Kept results."
)
@click.option("--check", is_flag=True, help="Write nothing; fail when the page differs from the results.")
@click.option("--rerun", is_flag=True, help="Run the evaluations again first, and keep their results.")
@click.option("--name", default="csn", show_default=True, help="--rerun: index of CodeSearchNet's functions.")
@click.option("--repository", default=".", show_default=True, help="--rerun: repository whose history is mined.")
@click.option("--only", default="", metavar="WORD", help="--rerun: only commands that contain this.")
def main(page: Path, folder: Path, check: bool, rerun: bool, name: str, repository: str, only: str) -> None:
    """Write the tables of the evaluation page from the kept results."""
    if check:
        text = page.read_text(encoding="utf-8")
        if render(text, folder) != text:
            raise click.ClickException(f"{page} differs from the results: run python -m benchmarks.tables")
        click.echo(f"{page} matches the results")
        return
    if rerun:
        run_all(name, repository, only)
        results.tidy(folder)
    click.echo(f"{page} {'written' if write(page, folder) else 'matches the results'}")


def run_all(name: str, repository: str, only: str = "") -> None:
    """Run every evaluation of the page and keep its result."""
    for run in RUNS:
        if only in run:
            arguments = shlex.split(run.format(name=name, repository=shlex.quote(repository)))
            program = ["python", "-m", *arguments, "--keep"]
            click.echo(f"\n{shlex.join(program)}")
            if subprocess.run([sys.executable, *program[1:]], check=False).returncode:
                sys.exit(1)  # the program has said why


if __name__ == "__main__":
    main()
