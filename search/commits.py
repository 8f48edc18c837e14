"""Asks the history: commits by what they are about, the last ones about a subject, and the people who know it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from treeline.corpus.analysis import terms
from treeline.corpus.frozen import frozen
from treeline.encoder.registry import is_light, load
from treeline.graph.history import Commit, History

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


@frozen
class Person:
    """An author of commits to the files of a subject, and the time of the last one."""

    name: str
    commits: int
    time: int


@frozen
class CommitAnswer:
    """Commits with the files that they touched, best first; for a question about people these, most commits first."""

    rows: tuple[tuple[Commit, Sequence[str]], ...]
    people: tuple[Person, ...] = ()


def ask_history(history: History, question: str, path: str, k: int, encoder: str) -> CommitAnswer:
    """The best `k` commits for a question, or the last that touched a file. What changed lately is answered by the
    last commits of the subject's files, newest first. `encoder`: the name of the index's; a slow one is not loaded."""
    if path:
        ids = [id_ for repo in history.repositories() for id_ in history.last_commits(repo, path, k)]
        return CommitAnswer(_rows(history, ids[:k]))
    subject = LATELY.sub(" ", ASKING.sub(" ", WHO.sub(" ", question, count=1)))
    is_lately, is_who = LATELY.search(question) is not None, WHO.match(question) is not None
    last = history.last_of(_files(history, subject), LAST) if is_lately or is_who else []
    near = last if is_lately and last else _near(history, subject, question, encoder)
    return CommitAnswer(_rows(history, near[:k]), _people(history, last) if is_who else ())


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


def _rows(history: History, ids: Sequence[int]) -> tuple[tuple[Commit, Sequence[str]], ...]:
    commits, paths = history.commits(ids), history.paths(ids)
    return tuple((commits[id_], paths.get(id_, [])) for id_ in ids)
