"""Facts that the rules read off a candidate's path, name and code, and what a query asks for.

Documents, tests and lists of changes lose unless the query asks for them; so do names that say the opposite of the
query and other languages than the one it names (`rules.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from treeline.corpus.analysis import STOP_WORDS, WORD, parts, terms
from treeline.corpus.roles import ASIDE_WORDS, is_aside
from treeline.graph.hyperbolic import Floats

ENOUGH_FILES = 5  # of a repository among the candidates, to tell which words are rare in its names
QUERY_WORD = re.compile(r"[^\W_]+")
LONGEST_COMPOUND = 3  # query words that may be joined in a name: `threadpool`
# A folder `v3/` or `version-3.x/`, or a name with a version: `busted-2.0.0-1.rockspec`.
VERSION = re.compile(
    r"(?:^|(?<=/))(?:v|version-)(?P<folder>\d{1,3})(?:\.[\dx]{1,4}){0,3}(?=/)"
    r"|(?<=[-_])v?(?P<name>\d{1,4}(?:\.\d{1,6}){1,3}(?:-\d{1,3})?)(?=[./])"
)
OUTDATED = re.compile(r"(?:^|/)(deprecated|legacy|old|obsolete|attic|versioned_docs)/")
FIRST_VERSION = re.compile(r"(?:^|(?<=/))v[01]/")  # old beside the same file without it
# Who does something, and what it does: a `formatter` formats, a `router` routes. Stemming keeps these endings.
AGENT = re.compile(r"(?<=[a-z]{4})[eo]r$|(?<=[a-z]{4})e$")
DOUBLED = re.compile(r"([b-df-hj-np-tv-z])\1$")
RE_EXPORTING = re.compile(r"(?:^|/)(?:__init__\.pyi?|index\.[cm]?[jt]sx?)$")
FOLDER_NAMES = frozenset({"__init__", "index", "mod", "init"})
NAMELESS = FOLDER_NAMES | {"lib", "main"}  # named by their folder
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
    facade: str  # the folder that it stands for, if there is one: `a/b/` for `a/b.rb` and `a/b/mod.rs`
    parents: tuple[str, ...]  # the folders around it


@lru_cache(maxsize=50_000)
def path_facts(path: str) -> PathFacts:
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0] or name
    parents = tuple("/".join(folders[:depth]) + "/" for depth in range(1, len(folders) + 1))
    facade = parents[-1] if stem.lower() in FOLDER_NAMES and parents else f"{path.rpartition('.')[0]}/"
    if stem.lower() in NAMELESS and folders:
        stem = folders.pop()
    return PathFacts(
        label_words(stem),
        tuple(map(label_words, folders)),
        is_aside(path),
        bool(RE_EXPORTING.search(path)),
        bool(CHANGES_PATH.search(path)),
        facade,
        parents,
    )


@lru_cache(maxsize=50_000)
def label_words(label: str) -> frozenset[str]:
    """The roots of a name's terms."""
    return frozenset(map(root, terms(label)))


@lru_cache(maxsize=50_000)
def root(term: str) -> str:
    """The term without the ending of an agent, so that `formatter` meets "formats"."""
    return DOUBLED.sub(r"\1", AGENT.sub("", term)) if len(term) > 3 else term


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
    """The roots of the query's terms, and of neighbours joined: a file for a "thread pool" may be `threadpool`."""
    spellings = QUERY_WORD.findall(query)
    result = set(terms(query))
    for length in range(2, LONGEST_COMPOUND + 1):
        for start in range(len(spellings) - length + 1):
            result.update(terms("".join(spellings[start : start + length]).lower()))
    return frozenset(map(root, result))


def old_versions(paths: Sequence[str], repo_names: Sequence[str], query: str) -> list[bool]:
    """For each file, whether it is an old version that the query does not name: in `v3/` beside `v4/`, `v1/a.go` beside
    `a.go`, `tool-1.9.spec` beside `tool-1.10.spec`, in `legacy/`, or documents of a release in `versioned_docs/`."""
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
    files = set(zip(repo_names, paths, strict=True))
    words = query.lower()
    return [
        (
            ((outdated := OUTDATED.search(path)) is not None and outdated[1] not in words)
            or version < newest[key]
            or (one is not None and (repo, FIRST_VERSION.sub("", path, count=1)) in files - {(repo, path)})
        )
        and not (one and re.search(rf"\bv?{re.escape(one['folder'] or one['name'])}\b", query, re.IGNORECASE))
        for key, version, one, repo, path in zip(series, versions, matches, repo_names, paths, strict=True)
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


# The programming language that a query names. To the lanes "python" is a word like any other: some names and docstrings
# have it (`check_python_help`), while most code written in Python does not.

LANGUAGES = {
    "python": "python",
    "python2": "python",
    "python3": "python",
    "javascript": "javascript",
    "js": "javascript",
    "nodejs": "javascript",
    "node.js": "javascript",
    "typescript": "typescript",
    "golang": "go",
    "java": "java",
    "ruby": "ruby",
    "php": "php",
}
WORDS = {"go": "go", "node": "javascript", "py": "python", "ts": "typescript", "rb": "ruby"}  # after "in" alone
INTERCHANGEABLE = {"javascript": "typescript", "typescript": "javascript"}  # each is useful to users of the other
ENOUGH_WORDS = 2  # other words that make a language at either end a wish for that language, not the topic
ANY = "|".join(map(re.escape, LANGUAGES))
SHORT = "|".join(WORDS)
MENTION = re.compile(rf"(?<![\w.])(?:{ANY})(?![\w.])", re.IGNORECASE)
FIRST = re.compile(rf"^\s*({ANY})[\s:,]+(?=\w)", re.IGNORECASE)
IN = re.compile(rf"[\s,(](?:in|using|with)\s+({ANY})(?![\w.-])[)?!]*", re.IGNORECASE)
LAST = re.compile(rf"[\s,(](?:(?:for\s+)?({ANY})|(?:in|using|with)\s+({SHORT}))[)?!.]*\s*$", re.IGNORECASE)


class NamedLanguage(NamedTuple):
    """The language that a query asks for (empty: none), and the query without it.

    For "python version" the rest keeps the language, because it may be the topic.
    """

    language: str
    rest: str


@lru_cache(maxsize=256)
def named_language(question: str) -> NamedLanguage:
    """Detect a language at the start, at the end or after "in"; none if several are named or nothing else is."""
    if len({LANGUAGES[word.lower()] for word in MENTION.findall(question)}) > 1:
        return NamedLanguage("", question)
    for pattern in (IN, FIRST, LAST):
        match = pattern.search(question)
        rest = f"{question[: match.start()]} {question[match.end() :]}".strip() if match else ""
        said = len(terms(rest))
        if match and said:
            word = next(filter(None, match.groups())).lower()
            sure = said >= ENOUGH_WORDS or pattern is IN or word in WORDS
            return NamedLanguage(LANGUAGES.get(word) or WORDS[word], rest if sure else question)
    return NamedLanguage("", question)


def others(question: str, languages: Callable[[], Sequence[str]]) -> list[bool]:
    """For each unit's language, whether it differs from the one that the query names.

    Empty if the query names none, or if no unit is written in it.
    """
    own = named_language(question).language
    if not own:
        return []
    welcome = {own, INTERCHANGEABLE.get(own, "")}
    result = [language not in welcome for language in languages()]
    return [] if all(result) or not any(result) else result


# Names that say the opposite of a query: "int to string", `string_to_int`; "is empty", `is_not_empty`. The
# keyword lane drops "to" and "not" as stop words and the static encoder hardly knows word order, so a third of the
# conversions and a quarter of the negations had the opposite first (docs/research/rerankers.md, encoder-static-10.md).

FORWARD = frozenset({"to", "into", "2"})  # x to y
BACKWARD = frozenset({"from"})  # y from x
JOINT = re.compile(r"to|2|from", re.IGNORECASE)
CONVERTING = frozenset({"convert", "cast", "parse", "transform", "change", "turn", "get", "as"})  # no source
SHORTEST_PREFIX = 3  # letters that make `int` an integer, `str` a string, `dict` a dictionary
SHORTEST_VERB = 4  # letters before -ing that make an action and not a thing: pushing, but not string
CACHE_SIZE = 50_000  # parsed names
NEGATIONS = frozenset({"not", "no", "non", "without", "except"})
NEGATION = re.compile(rf"\b(?:{'|'.join(sorted(NEGATIONS))})\b", re.IGNORECASE)
NEGATED_NAME = re.compile(r"no[nt]?(?![a-z])|No[nt]?(?![a-z])|[Ww]ithout|[Ee]xcept(?!i)")
SKIPPED_WORDS = STOP_WORDS | NEGATIONS | {"with"}  # words that a negation does not deny
# The C library's conversions, whose names have no visible "to".
C_NAMES = {
    **dict.fromkeys(("atoi", "atol", "atoll", "strtol", "strtoul", "strtoll"), ("string", "to", "int")),
    **dict.fromkeys(("atof", "strtod", "strtof"), ("string", "to", "float")),
    **dict.fromkeys(("itoa", "ltoa", "lltoa"), ("int", "to", "string")),
    **dict.fromkeys(("ftoa", "dtoa"), ("float", "to", "string")),
}


class Words(NamedTuple):
    """Words and their prefixes. Two words meet if one is a prefix of the other."""

    whole: frozenset[str]
    prefixes: frozenset[str]

    @classmethod
    def of(cls, words: Iterable[str]) -> Words:
        whole = frozenset(words) - STOP_WORDS
        cut = (
            word[:end]
            for word in whole
            for end in range(SHORTEST_PREFIX, len(word))
            # `push` is not a prefix of "pushing" here: an action is not what is converted.
            if not (word[end:] == "ing" and end >= SHORTEST_VERB)
        )
        return cls(whole, whole.union(cut))

    def meet(self, others: Words) -> bool:
        return not (self.whole.isdisjoint(others.prefixes) and self.prefixes.isdisjoint(others.whole))


class Way(NamedTuple):
    """A conversion: its source (may be empty, as in `to_int`) and its target."""

    source: Words
    target: Words

    def distinct(self) -> Way:
        """Without the words that both sides share: "camel case to snake case" is camel to snake."""
        both = self.source.whole & self.target.whole
        source, target = self.source.whole - both, self.target.whole - both
        return Way(Words.of(source), Words.of(target)) if both and source and target else self


def opposite(question: str, names: Callable[[], Sequence[str]]) -> list[bool]:
    """For each name, whether it converts the other way than the query; empty for a query without direction."""
    query_ways = [way.distinct() for way in ways(_words(question)) if way.source.whole]
    if not query_ways:
        return []
    return [_reverses(query_ways, name_ways) if (name_ways := _ways_of(name)) else False for name in names()]


def contradictions(question: str, names: Sequence[str]) -> dict[int, int]:
    """The places of names that deny what the query does not deny, or the other way round, each with the place of the
    first name that says the same without that fault: `is_not_empty` and `is_empty`. Only such twins are compared, so a
    negation that has no part in the choice moves nothing."""
    if NEGATION.search(question) is None and NEGATED_NAME.search("\n".join(names)) is None:
        return {}
    query_polarity = Polarity.of(_words(question))
    polarities = [_polarity(name) for name in names]
    first: dict[frozenset[str], int] = {}
    for position, one in enumerate(polarities):
        if query_polarity.agrees(one):
            first.setdefault(one.words, position)
    return {
        position: first[one.words]
        for position, one in enumerate(polarities)
        if not query_polarity.agrees(one) and one.words in first
    }


def _words(text: str) -> list[str]:
    return [part.lower() for word in WORD.findall(text) for part in parts(word)]


def known(name: str) -> bool:
    """Whether this is a C library function, whose direction is known and not guessed from its words."""
    return name.rpartition(".")[2].lower() in C_NAMES


def ways(words: Sequence[str]) -> Iterator[Way]:
    """Every "x to y" and "y from x" with content words on both sides, and every "to y"."""
    joints = [position for position, word in enumerate(words) if word in FORWARD or word in BACKWARD]
    ends = [-1, *joints, len(words)]
    for number, joint in enumerate(joints):
        before, after = Words.of(words[ends[number] + 1 : joint]), Words.of(words[joint + 1 : ends[number + 2]])
        if after.whole and words[joint] in FORWARD:
            yield Way(before, after)
        elif after.whole and before.whole:
            yield Way(after, before)


class Polarity(NamedTuple):
    """The content words of a text, and those that a negation stands before."""

    words: frozenset[str]
    denied_words: frozenset[str]

    @classmethod
    def of(cls, words: Sequence[str]) -> Polarity:
        denied_words: set[str] = set()
        for position, word in enumerate(words):
            if word in NEGATIONS:
                after = [other for other in words[position + 1 :] if other not in SKIPPED_WORDS]
                # `lineNo` has a number; `present_not` denies the word before.
                next_words = after[:1] or (list(words[:position])[-1:] if word == "not" else [])
                denied_words.update(map(_stem, next_words))
        return cls(frozenset(_stem(word) for word in words if word not in SKIPPED_WORDS), frozenset(denied_words))

    def agrees(self, other: Polarity) -> bool:
        """Whether another text denies those of these words that this one denies, and no others of them."""
        return not (self.words & other.words) & (self.denied_words ^ other.denied_words)


@lru_cache(maxsize=CACHE_SIZE)
def _polarity(name: str) -> Polarity:
    return Polarity.of([part.lower() for part in parts(name.rpartition(".")[2].rstrip("?!"))])


@lru_cache(maxsize=CACHE_SIZE)
def _stem(word: str) -> str:
    return (terms(word) or [word])[0]


@lru_cache(maxsize=CACHE_SIZE)
def _ways_of(name: str) -> tuple[Way, ...]:
    owner, _, own = name.rpartition(".")
    if own.lower() in C_NAMES:
        return tuple(ways(C_NAMES[own.lower()]))
    if not JOINT.search(own):
        return ()
    words = [word for part in parts(own) if (word := part.lower()) not in CONVERTING]
    if words[:1] == ["from"]:  # `Json.from_csv` makes what its class is
        words = [*(part.lower() for part in parts(owner.rpartition(".")[2])), *words]
    return tuple(ways(words))


def _reverses(query_ways: Sequence[Way], name_ways: Sequence[Way]) -> bool:
    reverses = False
    for source, target in query_ways:
        for other in name_ways:
            if _fits(source, target, other):
                return False
            reverses = reverses or _fits(target, source, other)
    return reverses


def _fits(source: Words, target: Words, way: Way) -> bool:
    return target.meet(way.target) and (not way.source.whole or source.meet(way.source))
