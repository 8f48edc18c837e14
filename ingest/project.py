"""A project: the repository or folder around a path, with an index of its own that is kept fresh.

`find_project` maps a path to its project, and `refresh` brings the project's index up to date: it compares time stamps,
then content hashes, and parses and encodes only the files that changed. What the last refresh saw is kept in an SQLite
file for each project, which is also the lock that keeps two processes from refreshing the same project.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from treeline.corpus.counting import counted
from treeline.corpus.errors import (
    DiskFailure,
    EncoderMismatch,
    IndexDamaged,
    IndexMissing,
    IndexOutdated,
    InputError,
    TreelineError,
)
from treeline.corpus.frozen import frozen
from treeline.engine.durable import user_home
from treeline.graph.history import history_file
from treeline.ingest import history
from treeline.ingest.source import (
    MAX_SOURCE_FILES,
    Listing,
    Progress,
    ReadOptions,
    is_own,
    no_progress,
    readable,
)
from treeline.ingest.sources.checkout import repository_name
from treeline.ingest.stamps import Stamps, files_in, lock, open_state, repo_in

if TYPE_CHECKING:
    from treeline.engine.protocol import Store
    from treeline.ingest.pipeline import Summary
    from treeline.ingest.sources.folder import Folder

FOLDER = ".projects"
LOADING = ".loading"
# More files than this are a home folder: the upper folders are read, the rest is reported.
MAX_FILES = MAX_SOURCE_FILES
# A smaller load is repeated instead of resumed.
SMALL_BYTES = 5_000_000
# How long a first query waits for another process that is building the index.
PATIENCE_S = 120.0
# So many files differ after a branch was switched; for fewer, another generation is not worth looking for.
MANY_FILES = 50
# The other copies of a repository whose files are compared.
MOST_COPIES = 3
NO_PROJECT = "use the folder of a project, or name an index"


@frozen
class Project:
    """`name` is its display name, `index` the name of its index, `repo` the name that all copies of it share."""

    root: Path
    name: str
    index: str
    repo: str


@frozen
class Refreshed:
    """The result of a refresh. `files` is the number that the index covers."""

    project: Project
    files: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    functions: int = 0
    """Units in the index, if it was written now."""
    seconds: float = 0.0
    is_new: bool = False
    rebuilt_with: str = ""
    """The encoder, if the index was there and had another one, or was of another version."""
    is_busy: bool = False
    """Another process is refreshing the project; the index is used as it is."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    problem: TreelineError | None = None
    """Why the disk did not take the changes; the index is used as it is."""

    @property
    def published(self) -> bool:
        return self.is_new or bool(self.added or self.changed or self.removed)

    @property
    def truncated(self) -> int:
        """Files and folders skipped because there are too many."""
        return sum(count for reason, count in self.skipped.items() if reason.endswith("beyond the limit"))

    @property
    def changes(self) -> str:
        """The number of files that changed, in words."""
        parts = ((self.changed, "changed"), (self.added, "new"), (self.removed, "deleted"))
        return ", ".join(f"{number} {word}" for number, word in parts if number)

    def __str__(self) -> str:
        """One line for the user."""
        name = self.project.name
        if self.is_busy:
            return f"{name}: another process is refreshing it; answering from the index as it is"
        if self.problem:
            return f"{name}: answering from the index as it is; {self.problem}"
        if not self.files and not self.changes:
            skips = ", ".join(f"{count:,} × {reason}" for reason, count in self.skipped.items())
            return (
                f"{name}: no file in {self.project.root} is code or text to search{skips and f' (left out: {skips})'}"
            )
        limit = f"; more than {MAX_FILES:,} files: the rest is left out" if self.truncated else ""
        if self.rebuilt_with:
            again = f"indexed {counted(self.files, 'file')} again with encoder {self.rebuilt_with}"
            return f"{name}: {again} in {self.seconds:.1f} s{limit}"
        if self.is_new:
            return f"{name}: indexed {counted(self.files, 'file')} in {self.seconds:.1f} s{limit}"
        if not self.changes:
            return f"{name}: up to date ({counted(self.files, 'file')}){limit}"
        return f"{name}: refreshed in {self.seconds:.1f} s ({self.changes} of {counted(self.files, 'file')}){limit}"


def find_project(path: Path, home: Path) -> Project:
    """The project a path belongs to.

    The nearest git root (also of a worktree or submodule) is a project, if it is the caller's own: somebody else's
    `.git` in a shared folder decides nothing. Outside of git it is the nearest folder that already is one, else the
    folder itself. The file system's root is not: it holds far more than code.
    """
    folder = path.expanduser().resolve()
    if not folder.exists():
        raise InputError(f"{path} is not there", "name a folder that exists")
    if not folder.is_dir():
        folder = folder.parent
    upwards, own_home = (folder, *folder.parents), user_home()
    root = next((one for one in upwards if one != own_home and _is_git_root(one)), None)  # there `.git` is of dotfiles
    if root is None:
        root = next((one for one in upwards[:-1] if state_file(one, home).exists()), folder)
        if root == Path(root.anchor):
            raise InputError(f"{root} is the file system's root, not a project", NO_PROJECT)
        if root == own_home and not state_file(root, home).exists():
            raise InputError(f"{root} is your home folder, which has more than one project", NO_PROJECT)
    if not os.access(root, os.R_OK | os.X_OK):
        raise InputError(f"{root} may not be read", NO_PROJECT)
    return _project(root)


def projects(home: Path) -> list[Project]:
    """Every indexed project by its root, including those whose folder is gone."""
    result = []
    for file in sorted((home / FOLDER).glob("*.sqlite")):
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            row = database.execute("SELECT root FROM project").fetchone()
            if row is not None:
                result.append(_project(Path(os.fsdecode(row[0]))))
    return sorted(result, key=lambda project: project.root)


def last_refreshed(project: Project, home: Path) -> float:
    """When a refresh last wrote something, in seconds since 1970; 0 if none did."""
    try:
        return state_file(project.root, home).stat().st_mtime
    except OSError:
        return 0.0


def forget(project: Project, store: Store, home: Path) -> None:
    """Drop the project's index and its file stamps."""
    with suppress(IndexMissing):
        store.drop(project.index)
    for suffix in ("", "-journal"):
        file = state_file(project.root, home)
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    for other in (history_file(home, project.index), progress_file(project, home)):
        other.unlink(missing_ok=True)


def refresh(
    project: Project,
    store: Store,
    home: Path,
    options: ReadOptions | None = None,
    *,
    encoders: tuple[str, ...] = (),
    max_files: int = MAX_FILES,
    fresh: bool = False,
    patience: float = PATIENCE_S,
    progress: Progress = no_progress,
) -> Refreshed:
    """Update the project's index, or (`fresh`) rebuild it; if another process is doing so, use it as it is.

    Without an index it waits for that process, unless `patience` (seconds) is 0.
    """
    options = options or ReadOptions()
    fingerprint = f"{options.fingerprint}|{max_files}"
    with open_state(state_file(project.root, home), home) as database:
        generation = current_generation(project, store)
        if not lock(database, 0 if generation else patience):
            if generation or not patience:
                return Refreshed(project, is_busy=True)
            raise TreelineError(f"another process is indexing {project.root}", "ask again when it has finished")
        refreshing = _Refreshing(project, store, home, options, encoders, max_files, progress, fingerprint)
        return refreshing.run(database, "" if fresh else generation or current_generation(project, store))


def listed(project: Project, options: ReadOptions) -> Folder:
    """The folder of a project, for a list of its files."""
    from treeline.ingest.sources.folder import Folder

    return Folder(readable(str(project.root)), project.root, project.repo, options, max_files=MAX_FILES)


def copies_of(project: Project, home: Path) -> list[Project]:
    """The projects of other copies of a repository, the last refreshed first."""
    others = [one for one in projects(home) if one.index != project.index]
    copies = [one for one in others if repo_in(state_file(one.root, home)) == project.repo]
    return sorted(copies, key=lambda one: -last_refreshed(one, home))


def left_to_read(project: Project, folder: Folder, home: Path) -> int:
    """The bytes that a first index has to read beside what it shares with another copy, going by paths and sizes."""
    files = folder.listing.files.items()
    copies = (set(files_in(state_file(one.root, home), skipped=True)) for one in copies_of(project, home)[:MOST_COPIES])
    sizes = (sum(one.size for path, one in files if (os.fsencode(path), one.size) not in copy) for copy in copies)
    return min(sizes, default=folder.size)


def is_under_way(project: Project, home: Path) -> bool:
    """Whether another process is refreshing the project."""
    with open_state(state_file(project.root, home), home) as database:
        return not lock(database, 0)


def watch(
    project: Project,
    store: Store,
    home: Path,
    options: ReadOptions | None = None,
    *,
    interval: float = 1.0,
    encoders: tuple[str, ...] = (),
) -> Iterator[Refreshed]:
    """Refresh again and again; yields the first refresh and each that changed something.

    It compares time stamps, and pauses twenty times as long as that took.
    """
    first = True
    while True:
        start = time.perf_counter()
        result = refresh(project, store, home, options, encoders=encoders)
        if first or result.published:
            yield result
        first = False
        time.sleep(max(interval, 20 * (time.perf_counter() - start - (result.seconds if result.published else 0))))


def indexed_files(index: str, home: Path) -> list[tuple[bytes, int]]:
    """The path and size of every file in a project's index, as of its last refresh."""
    return files_in(home / FOLDER / f"{index}.sqlite")


def current_generation(project: Project, store: Store) -> str:
    """The current generation of the project's index, '' if there is none that this version reads."""
    try:
        return store.info(project.index).generation
    except (IndexMissing, IndexOutdated):
        return ""


@frozen
class _Refreshing:
    project: Project
    store: Store
    home: Path
    options: ReadOptions
    encoders: tuple[str, ...]
    max_files: int
    progress: Progress
    fingerprint: str

    def run(self, database: sqlite3.Connection, generation: str) -> Refreshed:
        start = time.perf_counter()
        known = Stamps(database)
        known.repo = known.repo or self.project.repo
        copies = {} if generation else self._copies(known.repo)
        if self.options.history:  # mostly done before the first index is
            for other in list(copies)[:1]:
                history.share(self.home, self.project.index, self.project.root, other.index)
            history.update_behind(self.home, self.project.index, {known.repo: self.project.root})
        if known.fingerprint != self.fingerprint or (generation and self._has_other_encoders()):
            known.forget()
        checked_ns = time.time_ns()
        listing = known.listing(self.project.root)
        if listing is not None and known.generation == generation and known.has_read(listing):
            seconds = time.perf_counter() - start
            return Refreshed(self.project, len(known.files), seconds=seconds, skipped=known.skips())
        return self._update(database, known, listing, generation, copies, checked_ns, start)

    def _has_other_encoders(self) -> bool:
        """Whether the index was made with other encoders than those asked for."""
        return bool(self.encoders) and not self._is_made_with(self.project.index, self.encoders)

    def _is_made_with(self, index: str, encoders: Sequence[str]) -> bool:
        from treeline.encoder.protocol import NO_ENCODER
        from treeline.encoder.registry import is_shipped, without_version

        names = [spec.name for spec in self.store.info(index).encoders]
        wants = [name for name in encoders if name != NO_ENCODER]
        return wants == [without_version(name) if is_shipped(name) else name for name in names]

    def _copies(self, repo: str) -> dict[Project, dict[str, str]]:
        """The projects of other copies of the repository, the last refreshed first, each with the digests of its files;
        those whose indexes are made with the encoders that this one will have."""
        from treeline.encoder.protocol import DEFAULT_ENCODER

        copies: dict[Project, dict[str, str]] = {}
        for other in copies_of(replace(self.project, repo=repo), self.home):
            with suppress(TreelineError):
                if self._is_made_with(other.index, self.encoders or (DEFAULT_ENCODER,)):
                    copies[other] = self._digests(other.index)
            if len(copies) == MOST_COPIES:
                break
        return copies

    def _adopt(self, copies: Mapping[Project, Mapping[str, str]], digests: Mapping[str, str]) -> str:
        """The generation of the copy that has most of these files, linked into this index; '' if none has half."""
        from treeline.engine.embedded import EmbeddedStore
        from treeline.ingest.sources.folder import url_of

        differences = {_difference(theirs, digests): one for one, theirs in copies.items()}
        least = min(differences, default=len(digests))
        if not differences or not isinstance(self.store, EmbeddedStore) or least > len(digests) // 2:
            return ""
        one = differences[least]
        with suppress(TreelineError, OSError):
            return self.store.adopt(self.project.index, one.index, url_of(one.root), url_of(self.project.root))
        return ""

    def _branch(self, branches: Sequence[str], digests: Mapping[str, str], difference: int) -> str:
        """The generation of a branch that was left, if fewer files differ from it than from the current one."""
        best = (difference, "")
        for generation in branches:
            with suppress(TreelineError):
                theirs = self._digests(self.project.index, generation)
                best = min(best, (_difference(theirs, digests), generation))
        return best[1]

    def _digests(self, index: str, generation: str = "") -> dict[str, str]:
        """The digests of the files of a generation."""
        from treeline.ingest.state import ARTIFACT, State

        with closing(State(self.store.artifact(index, ARTIFACT, generation) or b"")) as state:
            return state.digests()

    def _update(
        self,
        database: sqlite3.Connection,
        known: Stamps,
        listing: Listing | None,
        generation: str,
        copies: Mapping[Project, Mapping[str, str]],
        checked_ns: int,
        start: float,
    ) -> Refreshed:
        """Walk the folder if needed, hash files that may have changed, and load those that did."""
        from treeline.ingest.sources.folder import Folder
        from treeline.ingest.state import save_skipped

        root = self.project.root
        name = readable(str(root))
        folder = Folder(
            name,
            root,
            known.repo,
            self.options,
            max_files=self.max_files,
            known_listing=listing,
            digests_of_copy=next(iter(copies.values()), {}),
        )
        before = known.digests
        reliable = known.reliable_digests(folder.listing)
        known.digests = dict(reliable)
        for path in folder.listing.files.keys() - known.digests.keys():
            known.digests[path] = folder.digest_of(path)
        folder.digests.update(known.digests)
        new = len(known.digests.keys() - before.keys())
        gone_count = len(before.keys() - known.digests.keys())
        changes = sum(before.get(path, digest) != digest for path, digest in known.digests.items())
        is_new = not (generation and before)
        functions, rebuilt_with = 0, ""
        if is_new or known.generation != generation or new or gone_count or changes:
            to_read = [stamp.size for path, stamp in folder.listing.files.items() if path not in reliable]
            difference = new + gone_count + changes
            base = ""
            if not generation:
                base, known.branches = self._adopt(copies, known.digests), []
            elif before and difference >= MANY_FILES:
                base = self._branch(known.branches, known.digests, difference)
                known.branches = [generation, *(one for one in known.branches if one != base)][: self.options.branches]
            summary, is_rebuilt = self._load(folder, base, is_new=not generation, resumable=sum(to_read) > SMALL_BYTES)
            with suppress(TreelineError):
                self.store.prune(self.project.index, keep=1, spare=known.branches)
            generation, functions = summary.generation, summary.total
            rebuilt_with = (" + ".join(summary.encoders) or "none") if is_rebuilt else ""
        known.skipped = folder.listing.skips
        with suppress(sqlite3.OperationalError, DiskFailure, OSError):  # what is lost costs only time
            known.save(database, root, self.fingerprint, generation, checked_ns, folder.listing)
            save_skipped(self.home / LOADING, self.project.index, [name], {name: known.skips()})
            progress_file(self.project, self.home).unlink(missing_ok=True)
        return Refreshed(
            self.project,
            len(folder.listing.files),
            0 if is_new else new,
            changes,
            gone_count,
            functions,
            time.perf_counter() - start,
            is_new,
            rebuilt_with,
            skipped=known.skips(),
        )

    def _load(self, folder: Folder, base: str, *, is_new: bool, resumable: bool) -> tuple[Summary, bool]:
        """The summary of the load, and whether an index of another encoder or version was rebuilt for it."""
        from treeline.ingest.pipeline import LoadOptions, load

        options = LoadOptions(
            work=self.home / LOADING,
            encoders=self.encoders,
            fresh=is_new and not base,
            base=base,
            lazy_artifacts=True,
            may_empty=True,
            resumable=resumable,
        )
        try:
            return load(self.store, self.project.index, [folder], options, self.progress), False
        except IndexDamaged:
            if not base:
                raise
            options = replace(options, base="", fresh=is_new)
            return load(self.store, self.project.index, [folder], options, self.progress), False
        except (IndexOutdated, EncoderMismatch):  # of another version or setting: rebuild it without asking
            options = replace(options, base="", fresh=True)
            return load(self.store, self.project.index, [folder], options, self.progress), not base


def _difference(some: Mapping[str, str], others: Mapping[str, str]) -> int:
    """The number of files in which two folders differ, by their digests."""
    same = sum(some.get(path) == digest for path, digest in others.items())
    return len(some) + len(others) - 2 * same


def _is_git_root(folder: Path) -> bool:
    git = folder / ".git"
    # `is_dir` raises in a folder without permission; `access` returns False.
    return os.access(git, os.F_OK) and (git.is_dir() or git.is_file()) and is_own(folder, git)


def _project(root: Path) -> Project:
    name = _name(root)
    return Project(root, name, _index(root), readable(repository_name(root)) or name)


def _name(root: Path) -> str:
    return readable(root.name) or "root"


def _index(root: Path) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", _name(root).lower()).strip("-")[:40] or "project"
    return f"{slug}.{blake2b(os.fsencode(root), digest_size=5).hexdigest()}"


def progress_file(project: Project, home: Path) -> Path:
    """Says how far the process that makes the first index is, in percent, or why it failed."""
    return state_file(project.root, home).with_suffix(".progress")


def state_file(root: Path, home: Path) -> Path:
    """Of the project around a folder, see `ingest/stamps.py`."""
    return home / FOLDER / f"{_index(root)}.sqlite"
