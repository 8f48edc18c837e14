"""The rules of the default ranking, as a table: what each adds to a candidate's score, or to its divisor.

A rule is a function over the columns of the candidates. Its weight is in parts of the span of the fused scores. Those
of the rules about files are learnt (`python -m lab.weights`, docs/research/tree-ranking.md). Some rules need an index
of whole repositories, where files and classes are units too; in an index of functions alone, as CodeSearchNet is, a
file's other functions say nothing about one of them (docs/research/rerankers.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.frozen import frozen
from treeline.corpus.function import FUNCTION_KINDS, lines_in
from treeline.graph.hyperbolic import Floats
from treeline.rerank.candidates import Candidates, Positions, RerankContext, min_max
from treeline.rerank.evidence import (
    ASKED_FOR,
    DOCUMENTS,
    PathFacts,
    asks_for_documents,
    contradictions,
    is_heading,
    known,
    label_match,
    label_words,
    lists_changes,
    old_versions,
    opposite,
    others,
    path_facts,
    query_words,
)

PAGE = 10  # ranks to divide up
REPOSITORY, FILE, CLASS = 1, 2, 3  # radii, in edges from the root: chains of folders are contracted

TYPES = frozenset({"class", "interface", "type", "enum"})
DEFINES = FUNCTION_KINDS | TYPES | {"constant"}
BY_KIND = dict.fromkeys(TYPES, 0.2) | {"constant": -0.5}  # a type rather than a value

SYMBOL = re.compile(r"[\w$@]+(?:(?:\.|::|#|->)[\w$@?!]+)*(?:\(\))?")  # one name, however qualified
JOINTS = re.compile(r"::|#|->")
NO_LETTER = re.compile(r"[^0-9a-z]")
NAME_IN_SENTENCE = re.compile(r"(?<=\w\s)[A-Z][a-z]\w*")  # `Blueprint` in "how Blueprint inherits routing"
# "How does routing work", "connection pooling": questions that no single function answers.
BROAD = re.compile(r"how\s+(?!to\b)|\S+(?:\s+\S+){1,2}$", re.IGNORECASE)
# Re-exports in Rust, JavaScript and TypeScript, and Python's `__all__`, up to the end of the statement.
RE_EXPORT = r"\b(?:pub\s+use|export|__all__)\b[^;=]{{0,2000}}?=?[^;=]{{0,2000}}?\b{}\b"
RE_EXPORT_FILES = 20  # file units that are searched for a re-export of a name that nothing defines
# A test inside a file of code, as Rust has them, or a callback of a test framework.
INLINE_TEST = re.compile(r"tests?\.|(?:.*\.)?(?:test_|(?:describe|it|test)\()")

RE_EXPORTS = 2.0  # more than all evidence of files that mention the name
MODULE = 1.4  # the file of the name that the query is: as much as a type
HEADING = 0.5  # a section whose heading is the query: code that answers as well stays before it
TOP_LEVEL = 0.2  # a definition that is no member
OTHER_CLASS = 0.5  # the factor if the query names another class or module
FADING = 0.5  # the factor for each further unit of a file
DOCUMENT_SUPPORT = 0.5  # the factor for a document, which mentions the same thing in many sections
WHOLE_FILE = (3, 10), (1 / 3, 1.0)  # words of a query, and the factor for the score of a whole file
USUAL_LENGTH = 400  # lines of a file that neither gains nor loses
SHORT_CONSTANT = 3  # lines
CERTAIN = 2.5  # the factor if a conversion's direction is known, as for `atoi`, and not guessed from the name
MEMBERS = 3  # of the type that the query names, before other results
MOST_STEPS = 3  # of a repository, so one that is full of answers is not shut out
NAMES_SHOWN = 3  # of the other matches in a file
ISSUE_FILES = 0.25  # of the usual distance between the results of a file
DISTANCE = (3, 12), (1.2, 0.4)  # words of a query, and that factor: a longer one describes a function, not a file
GROWTH = 0.25  # the power with which that distance grows: the third result of a file is hardly further than the second
LONG = 50  # lines of a unit; a longer one gains no more
JUST = 1e-9  # puts one candidate right before or after another


class Columns:
    """The candidates of one query as columns, and what several rules need to know about them."""

    def __init__(self, head: Candidates, fused: Floats, context: RerankContext) -> None:
        self.head, self.fused, self.context = head, fused, context
        self.query = context.query.strip()
        self.scores = fused.copy()  # the sum so far
        self.names, self.kinds = head.parts("func_name"), head.parts("kind")
        self._keys = list(zip(head.parts("repo"), head.parts("path"), strict=True))
        numbers: dict[tuple[str, str], int] = {}
        self.files: Positions = np.array([numbers.setdefault(key, len(numbers)) for key in self._keys], dtype=np.int64)
        self.repo_of_file, self.paths = [repo for repo, _ in numbers], [path for _, path in numbers]
        self.repos: Positions = np.unique(head.groups("repo"), return_inverse=True)[1]

    def __len__(self) -> int:
        return len(self.fused)

    @cached_property
    def classes(self) -> Positions:
        """A number for each candidate's class."""
        numbers: dict[tuple[int, str], int] = {}
        keys = zip(self.files.tolist(), (name.rpartition(".")[0] for name in self.names), strict=True)
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)

    @cached_property
    def spans(self) -> list[tuple[int, int] | None]:
        """The first and last line of each candidate, where they are known."""
        return [lines_in(fragment) for fragment in self.head.parts("fragment")]

    @cached_property
    def has_files(self) -> bool:
        """Whether files and classes are units too."""
        return any(kind not in FUNCTION_KINDS for kind in self.kinds)

    @cached_property
    def language_of_file(self) -> list[str]:
        return list(dict(zip(self._keys, self.head.parts("language"), strict=True)).values())

    @cached_property
    def facts(self) -> list[PathFacts]:
        """The facts of each file's path."""
        return [path_facts(path) for path in self.paths]

    @cached_property
    def words(self) -> frozenset[str]:
        return query_words(self.query)

    @cached_property
    def is_symbol(self) -> bool:
        """Whether the query is one name."""
        return SYMBOL.fullmatch(self.query) is not None

    @cached_property
    def symbol(self) -> str:
        """The query as a dotted name."""
        return JOINTS.sub(".", self.query.removesuffix("()"))

    @cached_property
    def symbols_in_sentence(self) -> frozenset[str]:
        """The names in a sentence: those that are written like identifiers, or with a capital letter."""
        names = (last_part(JOINTS.sub(".", symbol)) for symbol in self.context.symbols)
        return frozenset([*names, *NAME_IN_SENTENCE.findall(self.query)])

    @cached_property
    def is_broad(self) -> bool:
        """Whether the question is about a class or file rather than one function."""
        return BROAD.match(self.query) is not None and not self.is_symbol and not self.is_issue

    @property
    def is_issue(self) -> bool:
        return self.context.kind == "issue"

    @cached_property
    def spreads(self) -> bool:
        """Whether repositories and classes share the page. The call graph's order is kept."""
        return "graph" not in self.head.lanes

    @property
    def order(self) -> Positions:
        """The positions by the sum so far."""
        return (-self.scores).argsort(kind="stable")

    @cached_property
    def definitions(self) -> Floats:
        """From 0 to 1.4, how surely each candidate defines the name that the query is, or has it as its heading."""
        if not self.is_symbol:
            columns = zip(self.names, self.kinds, strict=True)
            return HEADING * np.array([kind == "section" and is_heading(name, self.query) for name, kind in columns])
        result = np.zeros(len(self))
        last = last_part(self.symbol)
        rows = zip(self.names, self.kinds, self.head.parts("language"), strict=True)
        for position, (name, kind, language) in enumerate(rows):
            if kind == "file" and language not in DOCUMENTS and letters(name.rpartition(".")[0]) == letters(last):
                result[position] = MODULE
            own = last_part(name)
            if kind in DEFINES and letters(own) == letters(last):
                same = 1.0 if own == last else 0.9 if own.strip("$_@") == last.strip("$_@") else 0.8
                if not (f".{name}".endswith(f".{self.symbol}") or f".{self.symbol}".endswith(f".{name}")):
                    same *= OTHER_CLASS if "." in self.symbol else 1.0
                result[position] = same + BY_KIND.get(kind, 0.0) + TOP_LEVEL * (name == self.symbol)
        return result

    @cached_property
    def roles(self) -> NDArray[np.object_]:
        """The role that each file loses most for unless the query asks for it, by the name of its rule; or empty."""
        asks_for_tests, documents = ASKED_FOR.search(self.query) is not None, asks_for_documents(self.query)
        old = old_versions(self.paths, self.repo_of_file, self.query)
        roles = np.full(len(self.paths), "", dtype=np.object_)
        rows = zip(self.paths, self.language_of_file, self.facts, old, strict=True)
        for number, (path, language, fact, is_old) in enumerate(rows):
            is_document = language in DOCUMENTS
            role = ""
            if not (documents if is_document else asks_for_tests):
                role = "tests" if fact.is_test_like else "index-files" if fact.re_exports else "documents" * is_document
            if is_old and role != "tests":
                role = "old-versions"
            roles[number] = "changelogs" if lists_changes(path, language, self.query) else role
        return roles

    @cached_property
    def radius(self) -> int:
        """The radius at which to cut the tree: the smallest with as many clusters as the page has ranks.

        A node of depth d lies at radius d; two candidates diverge at the radius of their last common node.
        """
        if self.has_files:
            return FILE if self.files.any() else CLASS
        for radius, groups in ((REPOSITORY, self.repos), (FILE, self.files)):
            if effective(shares(groups, self.fused)) >= PAGE:
                return radius
        return CLASS


def letters(name: str) -> str:
    return NO_LETTER.sub("", name.lower())


def last_part(name: str) -> str:
    return name.rpartition(".")[2]


def shares(groups: Positions, mass: Floats) -> Floats:
    """The part of the relevance that each group holds."""
    sums = np.bincount(groups, mass).astype(np.float64)
    return sums / (sums.sum() or 1.0)


def effective(parts: Floats) -> float:
    """The effective number of clusters: the exponential of the entropy of their shares."""
    some = parts[parts > 0.0]
    return float(np.exp(-(some * np.log(some)).sum()))


def before(groups: Positions, order: Positions) -> Positions:
    """For each candidate, how many of its group come before it in this order."""
    by_group = groups[order].argsort(kind="stable")
    in_groups = groups[order][by_group]
    result = np.empty_like(order)
    result[order[by_group]] = np.arange(len(order)) - np.searchsorted(in_groups, in_groups)
    return result


Scope = Literal["any", "files", "functions"]  # the indexes that a rule is for; `files`: files are units too


@frozen
class Rule:
    """A row of a table. `measure` returns a number for each candidate, or None if the rule has no part in the query;
    times the weight, it is added. `detail` is shown behind the reason."""

    name: str
    weight: float
    measure: Callable[[Columns], Floats | None]
    reason: str = ""
    loss: str = ""  # the reason if it subtracts, where that is another
    scope: Scope = "any"
    detail: Callable[[Columns, int], str] | None = None

    def said(self, columns: Columns, position: int, amount: float) -> str:
        """`more matches in its file +0.31 (load, save)`."""
        reason = self.loss if self.loss and amount < 0 else self.reason
        return f"{reason} {amount:+.2f}{self.detail(columns, position) if self.detail else ''}"


def re_exports(columns: Columns) -> Floats | None:
    """1 for the files that re-export a name that no candidate defines; what has a similar name loses its gain."""
    context, last = columns.context, last_part(columns.symbol)
    if context.texts is None or not columns.is_symbol:
        return None
    rows = list(zip(columns.names, columns.kinds, strict=True))
    if any(kind in DEFINES and last_part(name) == last for name, kind in rows):
        return None
    files = [position for position, (_, kind) in enumerate(rows) if kind == "file"][:RE_EXPORT_FILES]
    statement = re.compile(RE_EXPORT.format(re.escape(last)))
    texts = context.texts([columns.head.ids[position] for position in files]) if files else []
    positions = [position for position, text in zip(files, texts, strict=True) if statement.search(text)]
    if not positions:
        return None
    result = -columns.definitions / RE_EXPORTS
    result[positions] += 1.0
    return result


def support(columns: Columns) -> Floats:
    """The squares of the scores of a file's further units, each counting half of the one before."""
    earlier = before(columns.files, (-columns.fused).argsort(kind="stable"))
    gains = np.where(earlier > 0, FADING ** (earlier - 1.0) * columns.fused**2, 0.0)
    sums = np.bincount(columns.files, gains, len(columns.paths)).astype(np.float64)
    if not asks_for_documents(columns.query):
        sums *= np.where([language in DOCUMENTS for language in columns.language_of_file], DOCUMENT_SUPPORT, 1.0)
    return sums[columns.files]


def other_matches(columns: Columns, position: int) -> str:
    """The names of the file's other matches."""
    inside = np.flatnonzero(columns.files == columns.files[position])  # by score, because the list is in fusion order
    names = dict.fromkeys(columns.names[other] for other in inside[inside != position][:NAMES_SHOWN])
    return f" ({', '.join(names)})" if names else ""


def whole_file(columns: Columns) -> Floats | None:
    """The keyword score of the whole file, on the scale of the candidates' files; the more words, the more it says."""
    keys = zip(columns.repo_of_file, columns.paths, strict=True)
    scores = np.array([columns.context.files.get(key, 0.0) for key in keys])
    if not scores.any():
        return None
    return np.interp(len(columns.query.split()), *WHOLE_FILE) * min_max(scores)[columns.files]


def file_name(columns: Columns) -> Floats:
    # Most questions that name the project mean all of it, not the file that is called like it.
    labels = [
        (fact.stem - label_words(repo.rpartition("/")[2]),)
        for repo, fact in zip(columns.repo_of_file, columns.facts, strict=True)
    ]
    return label_match(labels, columns.words, columns.repo_of_file)[columns.files]


def folder_name(columns: Columns) -> Floats:
    rows = zip(columns.repo_of_file, columns.facts, strict=True)
    labels = [(label_words(repo), *fact.folders) for repo, fact in rows]
    return label_match(labels, columns.words)[columns.files]


def facade(columns: Columns) -> Floats | None:
    """The best score in the folder that a file stands for, of the same language: a facade is asked for its parts."""
    best = np.zeros(len(columns.paths))
    np.maximum.at(best, columns.files, columns.fused)
    owners = list(zip(columns.repo_of_file, columns.language_of_file, strict=True))
    parts: dict[tuple[tuple[str, str], str], float] = {}
    for owner, fact, score in zip(owners, columns.facts, best.tolist(), strict=True):
        for folder in fact.parents:
            if folder != fact.facade:
                parts[owner, folder] = max(parts.get((owner, folder), 0.0), score)
    result = np.array([parts.get((owner, fact.facade), 0.0) for owner, fact in zip(owners, columns.facts, strict=True)])
    return result[columns.files] if result.any() else None


def home(columns: Columns) -> Floats | None:
    """The share of the names in a sentence that each repository defines; names that nothing defines do not count."""
    names = columns.symbols_in_sentence
    if not names or not columns.repos.any() or columns.is_symbol:
        return None
    by_repo: dict[str, set[str]] = {}
    repos = columns.head.parts("repo")
    for repo, name, kind in zip(repos, columns.names, columns.kinds, strict=True):
        if kind in DEFINES and (own := last_part(name)) in names:
            by_repo.setdefault(repo, set()).add(own)
    every = len(set().union(*by_repo.values()))
    return np.array([len(by_repo.get(repo, ())) / every for repo in repos]) if every else None


def history(columns: Columns) -> Floats | None:
    """The votes that each file got from commits about the same."""
    changes = columns.context.changes
    if not changes:
        return None
    keys = zip(columns.repo_of_file, columns.paths, strict=True)
    return np.array([changes[key].share if key in changes else 0.0 for key in keys])[columns.files]


def commit(columns: Columns, position: int) -> str:
    """The commit that changed the file for a like reason."""
    file = columns.files[position]
    vote = columns.context.changes.get((columns.repo_of_file[file], columns.paths[file]))
    return f" ({vote.commit.title})" if vote else ""


def length(columns: Columns) -> Floats:
    """The logarithm of the length of the file: longer documents answer more questions (Kraaij et al., SIGIR 2002)."""
    last = [span[1] if span else 1 for span in columns.spans]
    longest = np.ones(len(columns.paths))
    np.maximum.at(longest, columns.files, np.array(last, dtype=np.float64))
    return np.log(longest / USUAL_LENGTH)[columns.files]


def test(columns: Columns) -> Floats:
    """1 for what lies in a test, example, vendored or generated file, and for a test inside a file of code."""
    inside = np.array([INLINE_TEST.match(name) is not None for name in columns.names])
    return np.maximum(role("tests")(columns), inside & (not ASKED_FOR.search(columns.query)))


def value(columns: Columns) -> Floats | None:
    """1 for short constants, such as aliases and type variables: their names have the words, and they say no more."""
    if columns.is_symbol:
        return None
    rows = zip(columns.kinds, columns.spans, strict=True)
    is_short = [kind == "constant" and span is not None and span[1] - span[0] < SHORT_CONSTANT for kind, span in rows]
    return np.array(is_short, dtype=np.float64)


def role(name: str) -> Callable[[Columns], Floats]:
    return lambda columns: (columns.roles == name).astype(np.float64)[columns.files]


def opposite_direction(columns: Columns) -> Floats | None:
    reverse = opposite(columns.query, lambda: columns.names)
    if not any(reverse):
        return None
    return np.array(reverse) * np.where([known(name) for name in columns.names], CERTAIN, 1.0)


def twin(columns: Columns) -> Floats | None:
    """Puts a name that denies what the query does not deny right behind its twin."""
    pairs = contradictions(columns.query, columns.names)
    if not pairs:
        return None
    result, scores = np.zeros(len(columns)), columns.scores
    for position, other in pairs.items():
        result[position] = min(0.0, scores[other] - JUST - scores[position])
    return result


def other_language(columns: Columns) -> Floats | None:
    foreign = others(columns.query, lambda: columns.head.parts("language"))
    return np.array(foreign, dtype=np.float64) if foreign else None


# In this order: the last ones compare the sums of those before them.
RULES = (
    Rule("definitions", 1.0, lambda columns: columns.definitions, "the query is its name"),
    Rule("re-exports", RE_EXPORTS, re_exports, "it re-exports the name", "another file has the exact name", "files"),
    Rule("support", 0.33, support, "more matches in its file", scope="files", detail=other_matches),
    Rule("whole-file", 0.67, whole_file, "its file has the words", scope="files"),
    Rule("file-name", 0.6, file_name, "its file's name", scope="files"),
    Rule("folder-name", 0.35, folder_name, "its folder's name", scope="files"),
    Rule("facade", 0.22, facade, "its folder's parts match", scope="files"),
    Rule("home", 1.5, home, "its repository defines names in the query", scope="files"),
    Rule("history", 0.4, history, "changed by commits about the same", scope="files", detail=commit),
    Rule("length", 0.07, length, "a long file", "a short file", "files"),
    Rule("tests", -0.6, test, "a test, example, vendored or generated code", scope="files"),
    Rule("constants", -0.2, value, "a short constant", scope="files"),
    Rule("changelogs", -1.1, role("changelogs"), "a list of changes", scope="files"),  # mentions all, explains nothing
    Rule("documents", -0.35, role("documents"), "a document", scope="files"),  # code that answers as well goes first
    Rule("index-files", -0.17, role("index-files"), "a file that re-exports others", scope="files"),
    Rule("old-versions", -0.6, role("old-versions"), "an older version", scope="files"),
    Rule("direction", -0.2, opposite_direction, "its name says the opposite"),  # .5: −.001 on the 99 (p = .05)
    Rule("negation", 1.0, twin, loss="its name says the opposite"),
    Rule("language", -0.5, other_language, "written in another language than the query names"),
)


def repository(columns: Columns) -> Floats | None:
    """Earlier results of the repository, which is entitled to one rank. By its share the 99 questions lose .004 of NDCG
    within (p = .01), because a repository with many weak matches holds more than it should."""
    return steps(columns, columns.repos) if columns.spreads and columns.repos.any() else None


def file(columns: Columns) -> Floats:
    """Earlier results of the file. What an issue or a long query asks for is often among several functions of one."""
    earlier: Floats = before(columns.files, columns.order) ** np.float64(GROWTH)
    return earlier * (ISSUE_FILES if columns.is_issue else np.interp(len(columns.query.split()), *DISTANCE))


def file_of_functions(columns: Columns) -> Floats | None:
    return steps(columns, columns.files) if columns.spreads and columns.radius >= FILE else None


def owner(columns: Columns) -> Floats | None:
    return steps(columns, columns.classes) if columns.spreads and columns.radius >= CLASS else None


def steps(columns: Columns, groups: Positions) -> Floats:
    return np.minimum(before(groups, columns.order), MOST_STEPS).astype(np.float64)


def members(columns: Columns) -> Floats | None:
    """For each member of a type that the query names, its number among them, counted after the first `MEMBERS`.

    The type itself goes first and names its best members; half of the page were others of them.
    """
    defined_at = np.flatnonzero(columns.definitions > 0.0)
    types = tuple(f"{columns.names[at]}." for at in defined_at if columns.kinds[at] in TYPES)
    if not types:
        return None
    positions = [at for at in columns.order.tolist() if columns.names[at].startswith(types)]
    result = np.zeros(len(columns))
    result[positions] = np.maximum(np.arange(len(positions)) + 1 - MEMBERS, 0)
    return result


# What the divisor of a score grows by for each earlier result of the same cluster. A price that is subtracted instead
# lifts results of other clusters however weak they are (docs/research/tree-ranking.md). For files the step lies between
# the divisors of D'Hondt (1, 2, 3 …) and Sainte-Laguë (1, 3, 5 …); a broad question asks for files.
DIVISORS = (
    Rule("spread-repositories", 0.16, repository, scope="functions"),
    Rule("spread-files", 1.5, file, scope="files"),
    Rule("broad-questions", 1.0, lambda columns: file(columns) if columns.is_broad else None, scope="files"),
    Rule("spread-files", 0.16, file_of_functions, scope="functions"),
    Rule("spread-classes", 0.16, owner),
    Rule("members", 10.0, members),
)


def whole(columns: Columns) -> Floats | None:
    """The fused scores of files and types of code, which have the words of all that they hold. A broad question asks
    for them."""
    if columns.is_broad:
        return None
    is_code = ~np.isin(columns.language_of_file, list(DOCUMENTS))[columns.files]
    return columns.fused * (is_code & np.isin(columns.kinds, ["file", *TYPES]))


def unit_length(columns: Columns) -> Floats:
    """The logarithm of a unit's lines: one that only returns a field has the question's words in its name too."""
    return np.log(np.minimum([span[1] - span[0] + 1 if span else 1 for span in columns.spans], LONG))


# What decides which units of a file take the ranks that the file has; no file moves by it.
INSIDE = (
    Rule("wholes", -0.3, whole, scope="files"),
    Rule("unit-length", 0.1, unit_length, scope="files"),
)
RULE_NAMES = tuple(dict.fromkeys(rule.name for rule in (*RULES, *DIVISORS, *INSIDE)))
