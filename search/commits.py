"""Asks the history: commits by what they are about, the last ones about a subject, and the people who know it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from treeline.corpus.analysis import terms
from treeline.corpus.counting import day_of
from treeline.corpus.frozen import frozen
from treeline.corpus.function import NAMES, Function, from_values
from treeline.encoder.registry import is_light, load
from treeline.engine.hits import Hit
from treeline.engine.patterns import path_test
from treeline.engine.protocol import NO_FILTERS, Engine, Filters
from treeline.graph.history import Commit, History
from treeline.graph.touched import touched_lines
from treeline.rerank.candidates import Candidate
from treeline.search.answer import Member, Result, signature_of
from treeline.search.location import Locations, holding
from treeline.search.query import COMMIT

WHO = re.compile(
    r"\s*who(?:\s+(?:knows?|wrote|writes|maintains?|owns?|understands?|works? on|worked on))?\b", re.IGNORECASE
)
LATELY = re.compile(
    r"\b(?:lately|recent(?:ly)?|newest|(?:in the |the )?(?:last|past|this) (?:few )?(?:day|week|month|year)s?)\b",
    re.IGNORECASE,
)
# Words that ask: they say nothing about the subject.
ASKING = re.compile(
    r"\b(?:(?:since )?when|why|which (?:commits?|changes?)|what (?:commits?|changes?|changed)|(?:did|do|does) we|did"
    r"|does|beg[ai]n|longer)\b",
    re.IGNORECASE,
)
# Messages say that something is dropped, questions that it stopped.
ENDING, ENDS = re.compile(r"\b(?:stop(?:ped)?|end(?:ed)?|no longer)\b", re.IGNORECASE), "drop remove"
CANDIDATES = 200  # commits near the words that are compared by meaning
MEANING = 1.5  # weight of the cosine beside the BM25 score in parts of the best
VOTED_FILES = 5  # about the subject, where no path has its words
MOST_FILES = 500  # of a subject
LAST = 1_000  # commits of a subject's files that say who knows it
PEOPLE = 5
WITH_UNITS = 20  # commits, each of which git is asked for
NO_DEFINITIONS = frozenset({"file", "section", "config"})
PATHS_SAID, UNITS_SAID = 4, 8  # of a commit that is a result
SHALLOW = "the clone is shallow, so the history is too (git fetch --unshallow)"
NO_COMMITS = "there is no history: this is no git checkout, its commits are being read, or TREELINE_HISTORY is off"


@frozen
class Person:
    """An author of commits to the files of a subject, and the time of the last one."""

    name: str
    commits: int
    time: int


class CommitRow(NamedTuple):
    """A commit, its repository, and the current paths and definitions that it touched."""

    commit: Commit
    repo: str
    paths: Sequence[str]
    units: Sequence[Hit] = ()


@frozen
class CommitAnswer:
    """Commits, best first, of so many; for a question about people these, most commits first."""

    rows: tuple[CommitRow, ...]
    people: tuple[Person, ...] = ()
    total: int = 0


def ask_history(
    history: History, question: str, path: str, k: int, encoder: str, filters: Filters = NO_FILTERS
) -> CommitAnswer:
    """The best `k` commits for a question, or the last that touched a file. What changed lately is answered by the
    last commits of the subject's files, newest first. `encoder`: the name of the index's; a slow one is not loaded.
    With `filters`, those that touched a path that passes."""
    if path:
        ids = [id_ for repo in history.repositories() for id_ in history.last_commits(repo, path, k)]
        return CommitAnswer(_rows(history, ids, k, filters))
    subject = LATELY.sub(" ", ASKING.sub(" ", WHO.sub(" ", question, count=1)))
    is_lately, is_who = LATELY.search(question) is not None, WHO.match(question) is not None
    last = history.last_of(_files(history, subject), LAST) if is_lately or is_who else []
    near = last if is_lately and last else _near(history, subject, question, encoder)
    return CommitAnswer(_rows(history, near, k, filters), _people(history, last) if is_who else ())


def _near(history: History, subject: str, question: str, encoder: str) -> list[int]:
    """The commits whose messages are nearest, by their words and their subject's meaning."""
    words = terms(f"{subject} {ENDS}" if ENDING.search(question) else subject)
    rows = history.search(words, CANDIDATES)
    ids = [id_ for id_, _ in rows]
    meaning = load(encoder) if is_light(encoder) and len(ids) > 1 else None
    if meaning is None:
        return ids
    commits = history.commits(ids)
    vectors = meaning.encode_queries([question, *(commits[id_].subject for id_ in ids)])
    scores = np.array([score for _, score in rows]) / max(rows[0][1], 1e-9) + MEANING * (vectors[1:] @ vectors[0])
    return [ids[at] for at in np.argsort(-scores, kind="stable")]


def _files(history: History, subject: str) -> list[int]:
    """The files whose paths have every word of the subject, or those that commits about it touched most."""
    words = [word.lower().rstrip("s") for word in re.findall(r"\w+", subject) if terms(word)]
    files = history.files()
    matches = [id_ for id_, (_, path) in files.items() if words and all(word in path.lower() for word in words)]
    if matches:
        return matches[:MOST_FILES]
    votes = list(history.votes(terms(subject)))[:VOTED_FILES]
    return [id_ for id_, key in files.items() if key in votes]


def _people(history: History, ids: Sequence[int]) -> tuple[Person, ...]:
    commits = list(history.commits(ids).values())
    counts = Counter(commit.author for commit in commits)
    last = {commit.author: commit.time for commit in sorted(commits, key=lambda commit: commit.time)}
    return tuple(Person(name, count, last[name]) for name, count in counts.most_common(PEOPLE))


def _rows(history: History, ids: Sequence[int], k: int, filters: Filters) -> tuple[CommitRow, ...]:
    ids = ids if filters else ids[:k]
    commits, repos, paths, passes = history.commits(ids), history.repos(ids), history.paths(ids), path_test(filters)
    rows = [CommitRow(commits[id_], repos[id_], paths.get(id_, [])) for id_ in ids]
    if filters:
        rows = [row for row in rows if filters.passes(repo=row.repo) and any(map(passes, row.paths))]
    return tuple(rows[:k])


def with_units(answer: CommitAnswer, history: History, engine: Engine, locations: Locations) -> CommitAnswer:
    """The answer; its first commits with the definitions that hold today what they changed."""
    roots = {repo: one.root for repo, one in history.repositories().items()}
    rows = list(answer.rows)
    for repo in {row.repo for row in rows[:WITH_UNITS]}:
        own = {row.commit.hash: row.paths for row in rows[:WITH_UNITS] if row.repo == repo}
        touched = touched_lines(roots[repo], own)
        paths = {path for lines in touched.values() for path in lines}
        units = locations.by_path(engine, paths, Filters(repo=repo))
        for at, row in enumerate(rows[:WITH_UNITS]):
            if row.repo == repo and (lines := touched.get(row.commit.hash)):
                inside = chain.from_iterable(holding(units.get(path, ()), own) for path, own in lines.items())
                rows[at] = row._replace(units=[hit for hit in inside if hit.address.kind not in NO_DEFINITIONS])
    return replace(answer, rows=tuple(rows))


def commit_result(rank: int, row: CommitRow, bodies: Mapping[str, Function]) -> Result:
    """A commit as a result: its message is the docstring, and inside it is what it touched, by id in `bodies`."""
    values = dict.fromkeys(NAMES, "") | {"code_tokens": (), "docstring_tokens": ()}
    own = {"repo": row.repo, "func_name": row.commit.title, "docstring": row.commit.body, "sha": row.commit.hash}
    unit = from_values([(values | own | {"kind": COMMIT, "id": row.commit.hash})[name] for name in NAMES])
    said = f"{row.commit.author}, {day_of(row.commit.time)}: {', '.join(row.paths[:PATHS_SAID])}"
    members = tuple(
        Member(hit.id, hit.address, f"{hit.address.path}: {signature_of(bodies[hit.id])}", 0.0)
        for hit in row.units[:UNITS_SAID]
        if hit.id in bodies
    )
    return Result(rank, unit, Candidate(unit.id, unit.address, 1.0 / rank, reason=said), members)
