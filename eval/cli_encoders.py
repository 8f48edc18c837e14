"""`treeline eval encoders`: quality against speed, for the shipped encoder and any others, in one run."""

from __future__ import annotations

from pathlib import Path

import click
import orjson
from rich.console import Console
from rich.table import Table

from treeline.eval import codesearchnet, encoders, web
from treeline.eval.encoders_plot import svg
from treeline.eval.pools import read_functions

POOL = 5_000
LANGUAGE = "python"


@click.command("encoders")
@click.argument("names", nargs=-1)
@click.option("--data", metavar="DIR", default="", help="Folder in CodeSearchNet's layout, with its annotations.")
@click.option("--pool", default=POOL, show_default=True, help="How many functions are read.")
@click.option("--split", type=click.Choice(web.SPLITS), default="test", show_default=True, help="Of the web questions.")
@click.option("--json", "json_file", metavar="FILE", default="", help="Write the numbers; - for stdout.")
@click.option("--svg", "svg_file", metavar="FILE", default="", help="Write the picture.")
def command(names: tuple[str, ...], data: str, pool: int, split: str, json_file: str, svg_file: str) -> None:
    """Read and rank with the encoders NAMES beside `static`: a name or folder each, `onnx:FOLDER` for int8."""
    console = Console(stderr=json_file == "-", highlight=False)
    folder = codesearchnet.data_folder(data)
    queries = codesearchnet.read_queries(folder / codesearchnet.QUERIES)
    judgements = codesearchnet.read_judgements(folder / codesearchnet.ANNOTATIONS)[LANGUAGE]
    questions = [(one.query, one.urls) for one in web.read() if split in (one.split, "all")]
    known = {url for relevance in judgements.values() for url in relevance}
    known |= {url for _, urls in questions for url in urls}
    functions = encoders.pool_of(read_functions(folder), frozenset(known), pool)
    urls = frozenset(one.url for one in functions)
    asked = [
        *encoders.judged(queries, judgements, urls),
        encoders.from_the_web(questions, urls),
        encoders.from_docstrings(functions),
    ]
    sets = [one for one in asked if one.texts]
    rows = []
    for name in dict.fromkeys(("static", *names)):
        console.print(f"{name}: reading {len(functions):,} functions twice …", style="dim")
        rows.append(encoders.measure(name, functions, sets).row())
    found = {"functions": len(functions), "questions": {one.name: len(one.texts) for one in sets}, "encoders": rows}
    _show(found, console)
    if json_file:
        text = orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()
        click.echo(text) if json_file == "-" else Path(json_file).write_text(text + "\n")
    if svg_file:
        Path(svg_file).write_text(svg(found), encoding="utf-8")


def _show(found: encoders.Found, console: Console) -> None:
    table = Table(title=f"{found['functions']:,} functions", box=None, title_justify="left")
    table.add_column("encoder")
    names = list(found["questions"])
    for column in ("functions/s", "question, ms", "load, s", *names):
        table.add_column(column, justify="right")
    for row in found["encoders"]:
        quality = [row["quality"][name] for name in names]
        table.add_row(
            encoders.shown(row["encoder"]),
            f"{row['functions_a_second']:,.0f}",
            f"{row['question_ms']:.2f}",
            f"{row['load_seconds']:.2f}",
            *(f"{one['mean']:.3f} ({one['low']:.2f}–{one['high']:.2f})" for one in quality),
        )
    console.print(table)
