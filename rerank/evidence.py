"""What speaks for the files of the candidates: their other matches, names, repositories, lengths and roles.

It needs an index of whole repositories, where files and classes are units too. Documents, tests and lists of changes
lose unless the query asks for them. All units of a file share what it gains (`tree.py`).
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
from treeline.corpus.function import lines_in
from treeline.corpus.roles import ASIDE_WORDS, is_aside
from treeline.graph.hyperbolic import Floats
from treeline.rerank.candidates import Candidates, Positions

# In parts of the span of the scores, chosen by five-fold cross-validation over repositories
# (docs/research/tree-ranking.md).
SUPPORT, FADING = 0.5, 0.5  # what the second unit of a file adds, and the factor for each further one
DOCUMENT_SUPPORT = 0.5  # of that for a document, which mentions the same thing in many sections
NAME = 0.6  # a file whose whole name is in the query
FOLDER = 0.5  # the same for the repository or a folder
HOME = 1.5  # a repository that defines all names in the query, if others do not: more than a file's name and matches
LENGTH = 0.05  # a file that is e times as long: the prior that longer documents answer more questions
ASIDE = 0.5  # a test, an example, a vendored or generated file that the query does not ask for
DOCUMENT = 0.3  # a document: code that answers as well goes first
CHANGES = 1.0  # a changelog or the like, which mentions everything and explains nothing
REEXPORT = 0.15  # an `__init__` or `index`, which re-exports what other files define
OLD_VERSION = 0.5  # a copy in the folder of an older version
ENOUGH_FILES = 5  # of a repository among the candidates, to tell which words are rare in its names
USUAL_LENGTH = 400  # lines of a file that neither gains nor loses

BY_KIND = dict.fromkeys(("class", "interface", "type", "enum"), 0.2) | {"constant": -0.5}  # a type rather than a value
FUNCTIONS = frozenset({"function", "method"})
DEFINES = FUNCTIONS | BY_KIND.keys()
NAME_IN_SENTENCE = re.compile(r"(?<=\w\s)[A-Z][a-z]\w*")  # `Blueprint` in "how Blueprint inherits routing"
SYMBOL = re.compile(r"[\w$@]+(?:(?:\.|::|#|->)[\w$@?!]+)*(?:\(\))?")  # one name, however qualified
JOINTS = re.compile(r"::|#|->")
QUERY_WORD = re.compile(r"[^\W_]+")
LONGEST_COMPOUND = 3  # query words that may be joined in a name: `threadpool`
# A folder `v3/`, or a name with a version: `busted-2.0.0-1.rockspec`.
VERSION = re.compile(
    r"(?:^|(?<=/))v(?P<folder>\d{1,3})(?=/)|(?<=[-_])v?(?P<name>\d{1,4}(?:\.\d{1,6}){1,3}(?:-\d{1,3})?)(?=[./])"
)
HANDS_ON = re.compile(r"(?:^|/)(?:__init__\.pyi?|index\.[cm]?[jt]sx?)$")
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


class LocalTree(NamedTuple):
    """The tree of the candidates as far as ranking needs it: for each candidate its repository, file and class."""

    repos: Positions
    files: Positions
    classes: Positions
    paths: list[str]  # one per file
    repo_names: list[str]  # one per file
    languages: list[str]  # one per file
    whole: bool  # files and classes are units too


def local_tree(head: Candidates) -> LocalTree:
    numbers: dict[tuple[str, str], int] = {}
    keys = list(zip(head.parts("repo"), head.parts("path"), strict=True))
    files = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    languages = list(dict(zip(keys, head.parts("language"), strict=True)).values())
    repos = np.unique(head.groups("repo"), return_inverse=True)[1]
    whole = any(kind not in FUNCTIONS for kind in head.parts("kind"))
    owners: dict[tuple[int, str], int] = {}
    names = (name.rpartition(".")[0] for name in head.parts("func_name"))
    inner = [owners.setdefault(key, len(owners)) for key in zip(files.tolist(), names, strict=True)]
    classes = np.array(inner, dtype=np.int64)
    paths, repo_names = [path for _, path in numbers], [repo for repo, _ in numbers]
    return LocalTree(repos, files, classes, paths, repo_names, languages, whole)


def before(groups: Positions, order: Positions) -> Positions:
    """For each candidate, how many of its group come before it in this order."""
    ordered = groups[order]
    by_group = ordered.argsort(kind="stable")
    sorted_groups = ordered[by_group]
    found = np.empty_like(order)
    found[order[by_group]] = np.arange(len(order)) - np.searchsorted(sorted_groups, sorted_groups)
    return found


class PathFacts(NamedTuple):
    """What the path alone says about a file."""

    stem: frozenset[str]  # terms of the file's name
    folders: tuple[frozenset[str], ...]
    aside: bool
    hands_on: bool
    changes: bool  # a list of changes, if it is a document


@lru_cache(maxsize=50_000)
def path_facts(path: str) -> PathFacts:
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0] or name
    if stem.lower() in NAMELESS and folders:
        stem = folders.pop()
    return PathFacts(
        _words(stem),
        tuple(map(_words, folders)),
        is_aside(path),
        bool(HANDS_ON.search(path)),
        bool(CHANGES_PATH.search(path)),
    )


@lru_cache(maxsize=50_000)
def _words(label: str) -> frozenset[str]:
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
    written = QUERY_WORD.findall(query)
    found = set(terms(query))
    for length in range(2, LONGEST_COMPOUND + 1):
        for start in range(len(written) - length + 1):
            found.update(terms("".join(written[start : start + length]).lower()))
    return frozenset(found)


def superseded(paths: Sequence[str], repo_names: Sequence[str], query: str) -> list[bool]:
    """For each file, whether it is an old version that the query does not name: in `v3/` beside `v4/`, or
    `tool-1.9.spec` beside `tool-1.10.spec`."""
    found = [VERSION.search(path) for path in paths]
    versions = [tuple(map(int, re.findall(r"\d+", one[0]))) if one else () for one in found]
    # Files in the folders of two versions may have other names; two versions of a file have the same name but for them.
    series = [
        one and (repo, path[: one.start()], "" if one["folder"] else path[one.end() :])
        for repo, path, one in zip(repo_names, paths, found, strict=True)
    ]
    newest: dict[object, tuple[int, ...]] = {}
    for key, version in zip(series, versions, strict=True):
        newest[key] = max(newest.get(key, ()), version)
    return [
        one is not None
        and version < newest[key]
        and not re.search(rf"\bv?{re.escape(one['folder'] or one['name'])}\b", query, re.IGNORECASE)
        for key, version, one in zip(series, versions, found, strict=True)
    ]


class FileEvidence(NamedTuple):
    """What each file gains or loses as a whole, by reason."""

    support: Floats
    name: Floats
    folder: Floats
    home: Floats
    length: Floats
    aside: Floats


def file_evidence(
    head: Candidates, scores: Floats, tree: LocalTree, query: str, symbols: Sequence[str] = ()
) -> FileEvidence:
    """The evidence from a file's matching units, its path and its repository."""
    count = len(tree.paths)
    facts = [path_facts(path) for path in tree.paths]
    documents = np.array([language in DOCUMENTS for language in tree.languages]) & (not asks_for_documents(query))
    earlier = before(tree.files, (-scores).argsort(kind="stable"))
    added = np.where(earlier > 0, SUPPORT * FADING ** (earlier - 1.0) * scores**2, 0.0)
    last = np.array([(lines_in(fragment) or (1, 1))[1] for fragment in head.parts("fragment")], dtype=np.float64)
    longest = np.ones(count)
    np.maximum.at(longest, tree.files, last)
    words = query_words(query)
    # Most questions that name the project mean all of it, not the file that is called like it.
    stems = [(fact.stem - _words(repo.rpartition("/")[2]),) for repo, fact in zip(tree.repo_names, facts, strict=True)]
    around = [(_words(repo), *fact.folders) for repo, fact in zip(tree.repo_names, facts, strict=True)]
    return FileEvidence(
        np.bincount(tree.files, added, count).astype(np.float64) * np.where(documents, DOCUMENT_SUPPORT, 1.0),
        NAME * label_match(stems, words, tree.repo_names),
        FOLDER * label_match(around, words),
        HOME * homes(head, tree, query, symbols),
        LENGTH * np.log(longest / USUAL_LENGTH),
        -np.array(roles(tree, facts, query)),
    )


def asks_for_documents(query: str) -> bool:
    """Whether documents answer the query as well as code does."""
    return any(asked.search(query) for asked in (ASKED_FOR, DOCUMENTS_ASKED_FOR, CHANGES_ASKED_FOR))


def roles(tree: LocalTree, facts: Sequence[PathFacts], query: str) -> list[float]:
    """What each file pays for its role: as a test, a re-export, a document, a list of changes or an old version."""
    asked_for, documents_too = ASKED_FOR.search(query) is not None, asks_for_documents(query)
    old = superseded(tree.paths, tree.repo_names, query)
    paid = []
    for path, language, fact, is_old in zip(tree.paths, tree.languages, facts, old, strict=True):
        document = language in DOCUMENTS
        role = 0.0
        if not (documents_too if document else asked_for):
            role = ASIDE if fact.aside else REEXPORT if fact.hands_on else DOCUMENT if document else 0.0
        if is_old:
            role = max(role, OLD_VERSION)
        paid.append(CHANGES if lists_changes(path, language, query) else role)
    return paid


def label_match(labels: Sequence[Sequence[frozenset[str]]], words: frozenset[str], repos: Sequence[str] = ()) -> Floats:
    """For each node, how much of its best label the query names, from 0 to 1, with words weighted by rarity.

    A word in the labels of all nodes counts for nothing, and one in many labels of the same repository (of all nodes,
    without `repos`) for less: if half of the files are about options, `Option.kt` is hardly the one that is asked for.
    """
    count = len(labels)
    found = np.zeros(count)
    met = [node for node, own in enumerate(labels) if any(not label.isdisjoint(words) for label in own)]
    if not met or count == 1:
        return found
    rarity = rarities(labels)
    groups: dict[str, list[Sequence[frozenset[str]]]] = {}
    for repo, own in zip(repos, labels, strict=True) if repos else ():
        groups.setdefault(repo, []).append(own)
    rare_in = {repo: rarities(own) if len(own) >= ENOUGH_FILES else {} for repo, own in groups.items()}
    for node in met:
        among = rare_in[repos[node]] if repos else rarity
        rarest = max(among.values(), default=1.0) or 1.0
        found[node] = max(
            sum(rarity[word] for word in named)
            / (sum(rarity[word] for word in label) or 1.0)
            # The square root is between no weight, 1, and full weight; chosen on other repositories than the 21.
            * sqrt(max(among.get(word, rarest) for word in named) / rarest)
            for label in labels[node]
            if (named := label & words)
        )
    return found


def rarities(labels: Sequence[Sequence[frozenset[str]]]) -> dict[str, float]:
    """The inverse document frequency of each word."""
    frequency = Counter(word for own in labels for word in frozenset().union(*own))
    return {word: log((len(labels) + 0.5) / (nodes + 0.5)) for word, nodes in frequency.items()}


def homes(head: Candidates, tree: LocalTree, query: str, symbols: Sequence[str]) -> Floats:
    """For each file, how many of the names in a sentence its repository defines, from 0 to 1.

    `symbols` are names that are written like identifiers. A capital letter inside a sentence marks a name too. Names
    that nothing defines are left out.
    """
    names = {JOINTS.sub(".", symbol).rpartition(".")[2] for symbol in symbols} | {*NAME_IN_SENTENCE.findall(query)}
    found = np.zeros(len(tree.paths))
    if not names or not tree.repos.any() or SYMBOL.fullmatch(query):
        return found
    defined: dict[str, set[str]] = {}
    for repo, name, kind in zip(head.parts("repo"), head.parts("func_name"), head.parts("kind"), strict=True):
        if kind in DEFINES and (own := name.rpartition(".")[2]) in names:
            defined.setdefault(repo, set()).add(own)
    if defined:
        every = len(set().union(*defined.values()))
        found[:] = [len(defined.get(repo, ())) / every for repo in tree.repo_names]
    return found
