"""Lists what an index leaves out of a folder, and why: all of it, or what a question points at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treeline.engine.patterns import exactly, path_pattern, path_test
from treeline.engine.protocol import Filters
from treeline.ingest.source import SENSITIVE, readable, skip_reason
from treeline.ingest.sources.folder import open_folder
from treeline.ingest.state import ARTIFACT, Entry, State, load_skipped
from treeline.service.projects import SECRETS_HINT, reading_of

if TYPE_CHECKING:
    from treeline.engine.protocol import Engine
    from treeline.search.answer import Answer
    from treeline.search.settings import Settings

# What to do about a reason that begins so.
REMEDIES = {
    SENSITIVE: SECRETS_HINT,
    "ignored": "a line !{path} in .treelineignore brings it back",
    **dict.fromkeys(("generated", "installed", "hidden"), "treeline index FOLDER --name NAME --include-tests reads it"),
}


class Skip(NamedTuple):
    """A file or folder (with a slash behind it) that is left out, and why."""

    path: str
    reason: str

    def __str__(self) -> str:
        reason = "it holds a secret" if self.reason.startswith(SENSITIVE) else self.reason
        remedy = next((one for start, one in REMEDIES.items() if self.reason.startswith(start)), "")
        return f"{self.path} is left out: {reason}{f' ({remedy.format(path=self.path)})' if remedy else ''}"


def skips_in(settings: Settings, root: Path, filters: Filters) -> list[Skip]:
    """The paths that are left out of a folder where filters of paths point, or around that."""
    paths = [path_pattern("path", value) for value in filters.values("path").include]
    toward = paths[0].prefix if len(paths) == 1 else ""
    folder = open_folder(str(root), reading_of(settings))
    return [Skip(*one) for one in folder.skips(toward, path_test(filters))]


def all_skips(settings: Settings, engine: Engine) -> Iterator[Skip]:
    """Everything that is left out of the folders of an index as they are, and of its other sources when they were
    loaded."""
    with closing(State(engine.artifact(ARTIFACT) or b"")) as state:
        sources, entries = state.sources(), state.manifest().entries
    for source in sources:
        rows = {key.partition("\0")[2]: one for key, one in entries.items() if one.source == source}
        skips = dict(_of_folder(source, settings, rows))
        yield from (Skip(path, skips[path]) for path in sorted(skips) if path not in rows or not rows[path].records)


def _of_folder(source: str, settings: Settings, rows: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    if not (Path(source).is_absolute() and Path(source).is_dir()):
        return _of_entries(rows)
    digests = {path: one.digest for path, one in rows.items()}
    return replace(open_folder(source, reading_of(settings)), digests=digests).skips()


def _of_entries(rows: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    for path, one in rows.items():
        whole = next((problem.reason for problem in one.problems if not problem.line), "")
        if reason := skip_reason(one.digest) or whole:
            yield path, reason


def say_skips(answer: Answer, settings: Settings, root: Path | None, engine: Engine) -> Answer:
    """The answer with a first hint on what is left out of the project's folder where the question points, if the index
    has nothing there."""
    if root is None or _is_there(answer):
        return answer
    for filters in _places(answer):
        if engine.count(filters):
            return answer
        if skips := skips_in(settings, root, filters):
            return replace(answer, hints=(sentence(skips), *answer.hints))
    return answer


def file_skip(settings: Settings, root: Path, file: Path) -> str:
    """Why a file is left out of the project of a folder, in a sentence; '' if it is not, or lies elsewhere."""
    if not file.is_relative_to(root):
        return ""
    return "".join(map(str, skips_in(settings, root, Filters(path=exactly(readable(str(file.relative_to(root))))))[:1]))


def skip_counts(settings: Settings, index: str) -> dict[str, int]:
    """The files and folders skipped when this machine last loaded an index, counted by reason; a secret's has its
    name."""
    reasons = sum(map(Counter, load_skipped(settings.home_path / ".loading", index).values()), Counter[str]())
    return dict(sorted(reasons.items()))


def sentence(skips: Sequence[Skip]) -> str:
    first, more = skips[0], len(skips) - 1
    rest = f"; so {'is' if more == 1 else 'are'} {more:,} more there: treeline status --skipped" if more else ""
    return f"{first}{rest}"


def _is_there(answer: Answer) -> bool:
    """Whether results are where the question points."""
    location = answer.plan.route.location
    if location is None or not location.certain:
        return bool(answer.results)
    return any(location.fits(result.function.path) for result in answer.results)


def _places(answer: Answer) -> Iterator[Filters]:
    """The filters of paths that a question means: its own, as from the folder one stands in, or the file it names."""
    own, folder, location = answer.plan.filters, answer.query.folder, answer.plan.route.location
    paths = own.values("path").include
    if paths or own.file or own.ext:
        yield Filters(path=own.path, file=own.file, ext=own.ext)
        if folder and paths:
            yield Filters(path=",".join(f"{folder}/{path}" for path in paths), file=own.file, ext=own.ext)
    elif location:
        if folder:
            yield Filters(path=exactly(f"{folder}/{location.path}"))
        yield Filters(path=exactly(location.path))
        yield Filters(file=exactly(location.path))
    elif answer.absence and "." in answer.absence.name:
        yield Filters(file=exactly(answer.absence.name))
