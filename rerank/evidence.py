"""Facts about a file from its path, and what a query asks for: tests, documents, changes, an old version.

Documents, tests and lists of changes lose unless the query asks for them (`rules.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from treeline.corpus.analysis import terms
from treeline.corpus.roles import ASIDE_WORDS, is_aside
from treeline.graph.hyperbolic import Floats

ENOUGH_FILES = 5  # of a repository among the candidates, to tell which words are rare in its names
QUERY_WORD = re.compile(r"[^\W_]+")
LONGEST_COMPOUND = 3  # query words that may be joined in a name: `threadpool`
# A folder `v3/`, or a name with a version: `busted-2.0.0-1.rockspec`.
VERSION = re.compile(
    r"(?:^|(?<=/))v(?P<folder>\d{1,3})(?=/)|(?<=[-_])v?(?P<name>\d{1,4}(?:\.\d{1,6}){1,3}(?:-\d{1,3})?)(?=[./])"
)
RE_EXPORTING = re.compile(r"(?:^|/)(?:__init__\.pyi?|index\.[cm]?[jt]sx?)$")
NAMELESS = frozenset({"__init__", "index", "mod", "lib", "main", "init"})  # named by their folder
ASKED_FOR = re.compile(
    rf"\b(?:{'|'.join(ASIDE_WORDS)}|tested|vendored|generated\s+(?:code|files?|sources?)|stubs?)\b", re.IGNORECASE
)
DOCUMENTS = frozenset({"markdown", "restructuredtext", "asciidoc", "org", "latex", "typst", "text"})  # languages
DOCUMENTS_ASKED_FOR = re.compile(
    r"\b(?:how\s+(?:to|(?:do|can|should|would)\s+(?:i|we|you|one))|install\w*|getting\s+started|quick\s?start|tutorials?"
    r"|guides?|usage|readme|document(?:s|ed|ation)|contribut\w+|licen[cs]e|faq)\b",
    re.IGNORECASE,
)
# Changelogs, release notes and the like. They have the subjects of commits word for word.
CHANGES_PATH = re.compile(
    r"(?:^|/)(?:change[-_]?logs?|changes|history|news|news[-_]?fragments?|releases|release[-_]?(?:notes|history)"
    r"|what[-_']?s[-_]?new)(?:[-_.\d][^/]*)?(?:/|$)",
    re.IGNORECASE,
)
CHANGES_ASKED_FOR = re.compile(
    r"\b(?:change\s?logs?|release\s+(?:notes?|history)|news|history|breaking\s+changes?|deprecat\w+|upgrad\w+|migrat\w+"
    r"|(?:which|what|since)\s+(?:version|release)|what(?:'s|\s+(?:is|has|was))?\s+(?:new|changed))\b",
    re.IGNORECASE,
)


class PathFacts(NamedTuple):
    """Facts about a file from its path alone."""

    stem: frozenset[str]  # terms of the file's name
    folders: tuple[frozenset[str], ...]
    is_test_like: bool
    re_exports: bool
    changes: bool  # a list of changes, if it is a document


@lru_cache(maxsize=50_000)
def path_facts(path: str) -> PathFacts:
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0] or name
    if stem.lower() in NAMELESS and folders:
        stem = folders.pop()
    return PathFacts(
        label_words(stem),
        tuple(map(label_words, folders)),
        is_aside(path),
        bool(RE_EXPORTING.search(path)),
        bool(CHANGES_PATH.search(path)),
    )


@lru_cache(maxsize=50_000)
def label_words(label: str) -> frozenset[str]:
    return frozenset(terms(label))


@lru_cache(maxsize=5_000)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(terms(text))


def lists_changes(path: str, language: str, query: str) -> bool:
    """Whether a file is a changelog or the like, and the query does not ask for one."""
    return language in DOCUMENTS and path_facts(path).changes and not CHANGES_ASKED_FOR.search(query)


def is_heading(name: str, query: str) -> bool:
    """Whether a section of this name has the query as its heading."""
    return _terms(name.rpartition(" > ")[2]) == _terms(query)


def query_words(query: str) -> frozenset[str]:
    """The query's terms, and neighbouring words joined: a file for a "thread pool" may be called `threadpool`."""
    spellings = QUERY_WORD.findall(query)
    result = set(terms(query))
    for length in range(2, LONGEST_COMPOUND + 1):
        for start in range(len(spellings) - length + 1):
            result.update(terms("".join(spellings[start : start + length]).lower()))
    return frozenset(result)


def old_versions(paths: Sequence[str], repo_names: Sequence[str], query: str) -> list[bool]:
    """For each file, whether it is an old version that the query does not name: in `v3/` beside `v4/`, or
    `tool-1.9.spec` beside `tool-1.10.spec`."""
    matches = [VERSION.search(path) for path in paths]
    versions = [tuple(map(int, re.findall(r"\d+", one[0]))) if one else () for one in matches]
    # Files in the folders of two versions may have other names; two versions of a file have the same name but for them.
    series = [
        one and (repo, path[: one.start()], "" if one["folder"] else path[one.end() :])
        for repo, path, one in zip(repo_names, paths, matches, strict=True)
    ]
    newest: dict[object, tuple[int, ...]] = {}
    for key, version in zip(series, versions, strict=True):
        newest[key] = max(newest.get(key, ()), version)
    return [
        one is not None
        and version < newest[key]
        and not re.search(rf"\bv?{re.escape(one['folder'] or one['name'])}\b", query, re.IGNORECASE)
        for key, version, one in zip(series, versions, matches, strict=True)
    ]


def asks_for_documents(query: str) -> bool:
    """Whether documents answer the query as well as code does."""
    return any(pattern.search(query) for pattern in (ASKED_FOR, DOCUMENTS_ASKED_FOR, CHANGES_ASKED_FOR))


def label_match(labels: Sequence[Sequence[frozenset[str]]], words: frozenset[str], repos: Sequence[str] = ()) -> Floats:
    """For each node, how much of its best label the query names, from 0 to 1, with words weighted by rarity.

    A word in the labels of all nodes counts for nothing, and one in many labels of the same repository (of all nodes,
    without `repos`) for less: if half of the files are about options, `Option.kt` is hardly the one that is asked for.
    """
    count = len(labels)
    result = np.zeros(count)
    nodes = [node for node, own in enumerate(labels) if any(not label.isdisjoint(words) for label in own)]
    if not nodes or count == 1:
        return result
    rarity = rarities(labels)
    groups: dict[str, list[Sequence[frozenset[str]]]] = {}
    for repo, own in zip(repos, labels, strict=True) if repos else ():
        groups.setdefault(repo, []).append(own)
    rare_in = {repo: rarities(own) if len(own) >= ENOUGH_FILES else {} for repo, own in groups.items()}
    for node in nodes:
        among = rare_in[repos[node]] if repos else rarity
        rarest = max(among.values(), default=1.0) or 1.0
        result[node] = max(
            sum(rarity[word] for word in shared)
            / (sum(rarity[word] for word in label) or 1.0)
            # The square root is between no weight, 1, and full weight; chosen on other repositories than the 21.
            * sqrt(max(among.get(word, rarest) for word in shared) / rarest)
            for label in labels[node]
            if (shared := label & words)
        )
    return result


def rarities(labels: Sequence[Sequence[frozenset[str]]]) -> dict[str, float]:
    """The inverse document frequency of each word."""
    frequency = Counter(word for own in labels for word in frozenset().union(*own))
    return {word: log((len(labels) + 0.5) / (nodes + 0.5)) for word, nodes in frequency.items()}
