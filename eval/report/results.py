"""Results kept as files named after the commit that made them, and the comparison with the last."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from treeline.corpus.errors import InputError
from treeline.eval.report.document import FORMAT, Document

FOLDER = Path(__file__).parents[1] / "results"
# A mean that moved less than this since the last result is called unchanged.
SAME = 0.0005
OWN = ("web", "judged", "mined")  # data sets whose questions are written here, or mined from a history
JUDGED_ELSEWHERE = "codesearchnet"  # the data set whose judgements are not ours
# With more single values than this, only the headline's are kept, so that files stay small enough to commit.
MOST_VALUES = 10_000
VALUE_DIGITS = 3
WRITTEN_BY_EVALUATIONS = (":!eval/results", ":!docs")
PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Change:
    """A system's mean of one metric, now and in the last kept result."""

    system: str
    metric: str
    before: float
    now: float

    @property
    def difference(self) -> float:
        return self.now - self.before


def stamp(document: Document) -> Document:
    """The document with its commit, whether the tree had changes, and the time."""
    commit, changed = _commit()
    time = datetime.now(UTC).isoformat(timespec="seconds")
    return {**document, "commit": commit, "changed": changed, "made": time}


def keep(document: Document, folder: Path = FOLDER) -> Path:
    """Write COMMIT-DATASET.json, trimmed; a commit keeps one result per data set."""
    path = folder / f"{document['commit'] or 'uncommitted'}-{document['dataset']}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write(trim(document), path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", "give --results a folder") from None
    return path


def trim(document: Document) -> Document:
    """The document as kept: values rounded and capped, other people's questions and judgements by number only, and no
    local paths."""
    dataset: str = document["dataset"]
    many = sum(len(values) for one in document["systems"] for values in one["values"].values()) > MOST_VALUES
    lean = {
        **document,
        "worst": [{**one, "returned": list(map(_without_file, one["returned"]))} for one in document["worst"]],
        "systems": [_lean_system(one, document["headline"] if many else "") for one in document["systems"]],
    }
    if not dataset.startswith(OWN):
        lean |= {"texts": {}, "worst": [{**one, "query": ""} for one in lean["worst"]]}
    if dataset.startswith(JUDGED_ELSEWHERE):
        lean["worst"] = [{**one, "expected": []} for one in lean["worst"]]
    return lean


def _without_file(location: Document) -> Document:
    """Drops a file: address, which means nothing on another machine."""
    return {**location, "url": ""} if location["url"].startswith("file:") else location


def _lean_system(system: Document, only: str) -> Document:
    return {
        **system,
        "values": {
            metric: {query: round(value, VALUE_DIGITS) for query, value in values.items()}
            for metric, values in system["values"].items()
            if only in ("", metric)
        },
    }


def write(document: Document, path: Path) -> None:
    """Write JSON with sorted keys, so that diffs show only changed numbers."""
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


def read(path: Path) -> Document:
    try:
        document = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path} is not there") from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError(f"{path} is not a result file: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{path} is not a result file of this version", "make it again with treeline eval")
    return document


def last(dataset: str, folder: Path = FOLDER) -> Document | None:
    """The newest kept result of a data set."""
    documents = [read(path) for path in sorted(folder.glob(f"*-{dataset}.json"))]
    return max(documents, key=lambda document: str(document["made"]), default=None)


def tidy(folder: Path = FOLDER) -> None:
    """Keep only the newest result of each data set."""
    newest: dict[str, tuple[str, Path]] = {}
    for path in sorted(folder.glob("*.json")):
        document = read(path)
        older = newest.get(document["dataset"])
        if older is None or older[0] <= document["made"]:
            newest[document["dataset"]] = (document["made"], path)
    for path in set(folder.glob("*.json")) - {path for _, path in newest.values()}:
        path.unlink()


def changes(document: Document, before: Document) -> list[Change]:
    """Every mean that both documents have."""
    old = {system["name"]: system["means"] for system in before["systems"]}
    return [
        Change(system["name"], metric, old[system["name"]][metric]["mean"], mean["mean"])
        for system in document["systems"]
        for metric, mean in system["means"].items()
        if metric in old.get(system["name"], {})
    ]


def comparable(document: Document, before: Document) -> bool:
    """True if both were measured on the same questions and index size."""
    return bool(document["queries"] == before["queries"] and document["facts"] == before["facts"])


def _commit() -> tuple[str, bool]:
    """The short commit, and whether tracked files other than results and docs differ from it; empty outside git."""
    try:
        commit = _git("rev-parse", "--short=10", "HEAD")
        return commit, bool(_git("status", "--porcelain", "--untracked-files=no", "--", ".", *WRITTEN_BY_EVALUATIONS))
    except (OSError, subprocess.CalledProcessError):
        return "", False


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(PROJECT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
