"""The golden suite: questions over the standard library, where each answer stands, and what is written down of it.

`python -m tests.eval.golden.suite --accept` writes the present state down; the diff is for a person to read.
"""

import json
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from treeline.eval.dataset import Case, DataSet, Metric, evaluate
from treeline.eval.indexes import source_searcher
from treeline.eval.metrics import reciprocal_rank, success
from treeline.eval.sets.mined import key
from treeline.eval.systems import DEFAULT, DENSE, KEYWORD, LaneCache
from treeline.search.settings import Settings

HERE = Path(__file__).parent
QUESTIONS = HERE / "questions.jsonl"
EXPECTED = HERE / "expected.json"
# Modules that have been there for many versions and are written in Python.
MODULES = (
    "argparse.py base64.py bisect.py calendar.py colorsys.py configparser.py contextlib.py copy.py csv.py "
    "difflib.py email/utils.py fnmatch.py fractions.py functools.py getpass.py glob.py gzip.py hashlib.py "
    "heapq.py html/__init__.py http/cookies.py inspect.py ipaddress.py json/__init__.py json/decoder.py "
    "linecache.py mimetypes.py os.py posixpath.py pprint.py queue.py random.py sched.py secrets.py "
    "shutil.py smtplib.py statistics.py string.py subprocess.py tarfile.py tempfile.py textwrap.py "
    "threading.py timeit.py traceback.py urllib/parse.py uuid.py webbrowser.py"
).split()
MISSED = 0


def library() -> Path:
    return Path(sysconfig.get_paths()["stdlib"])


def questions() -> DataSet:
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return DataSet(
        name="golden",
        about="questions over the standard library",
        cases=[Case(row["query"], row["query"], dict.fromkeys(row["answers"], 1.0)) for row in rows],
        metrics=(Metric("mrr", "MRR"), Metric("recall_5", "recall@5"), Metric("recall_10", "recall@10")),
        headline="mrr",
        measure=lambda case, hits: {
            "mrr": reciprocal_rank([key(found.address, "symbol") for found in hits], case.relevant),
            "recall_5": success([key(found.address, "symbol") for found in hits], case.relevant, 5),
            "recall_10": success([key(found.address, "symbol") for found in hits], case.relevant, 10),
        },
        depth=100,
    )


def measure(folder: Path) -> dict[str, object]:
    """Index the modules in `folder` with the default encoder and ask the questions three ways."""
    source = folder / "stdlib"
    for module in MODULES:
        (source / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library() / module, source / module)
    searcher = source_searcher("golden", str(source), Settings(home=str(folder / "home")))
    try:
        systems = LaneCache(searcher).systems([KEYWORD, DENSE, DEFAULT])
        evaluation = evaluate(questions(), systems)
    finally:
        searcher.close()
    measured: dict[str, object] = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for system in evaluation.systems:
        means = {name: round(sum(values.values()) / len(values), 3) for name, values in system.values.items()}
        ranks = {query: round(1 / value) if value else MISSED for query, value in system.values["mrr"].items()}
        measured[system.system] = {**means, **({"ranks": ranks} if system.system == DEFAULT.name else {})}
    return measured


def written(measured: dict[str, object]) -> str:
    return json.dumps(measured, indent=2, sort_keys=True) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        now = written(measure(Path(folder)))
    if sys.argv[1:] == ["--accept"]:
        EXPECTED.write_text(now, encoding="utf-8")
        sys.stdout.write(f"written to {EXPECTED}: read the diff, then commit it\n")
    else:
        sys.stdout.write(now)


if __name__ == "__main__":
    main()
