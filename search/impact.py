"""Finds what a change touches: the definitions it changes, what depends on them, their tests, and the files that it
likely has to change as well.

Such a file shares commits with the changed ones, has the words of the change, calls what it changes, or has a changed
file's name. `python -m benchmarks.impact` measures this: one file of a commit is hidden, and looked for.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from treeline.corpus.analysis import parts, terms
from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.engine.hits import Hit
from treeline.engine.protocol import Engine, Filters
from treeline.graph.callgraph import POSSIBLE
from treeline.graph.history import Companion, History
from treeline.search.lanes.graph import text_calls_lane
from treeline.search.location import holding
from treeline.search.relatives import Neighbour, Relatives
from treeline.search.searcher import Searcher
from treeline.search.structure import EVERYTHING, is_test

HEADER = re.compile(r"(?:diff --git |\+\+\+ |--- |rename (?:from|to) )")
HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
ESCAPE = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))", re.DOTALL)  # in a name that git has quoted
ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,60}")
DECLARATION = re.compile(
    r"^\s*(?:(?:pub|public|private|protected|static|export|default|async|abstract|final|override|open|internal)\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|trait|enum|module|type)\s+(?:\([^)]{0,80}\)\s*)?([A-Za-z_]\w{1,60})"
)
LONGEST_LINE = 1_000  # of a changed line that is read
MOST_LINES = 20_000  # changed lines of one file
MOST_WORDS = 250  # of a change, the most particular ones: what the keyword search takes
MOST_LOST = 100  # names no longer declared whose calls are looked for, each by a search
MOST_FILES = 300  # of a change, the most changed ones: what else the commits changed that touched them
WORD_HITS = 200  # units with words of the change that are counted
TEST_DEPTH = 3  # calls from a test to what it tests
SAME_NAME = re.compile(r"^(?:tests?|spec)[_.-]|[_.-](?:tests?|specs?|unit)(?=[._-]|$)|(?<=[a-z])(?:Tests?|Spec)$")
NAMELESS = frozenset({"__init__", "index", "mod", "lib", "main", "init"})  # named by their folder


@frozen
class FileChange:
    """One file of a diff: lines of its new text, the words on all changed lines, those that only removed lines have,
    and the names no longer declared."""

    path: str
    lines: tuple[int, ...] = ()
    words: frozenset[str] = frozenset()
    lost_words: frozenset[str] = frozenset()
    lost_names: tuple[str, ...] = ()


@frozen
class Dependent:
    """A symbol that depends on a changed definition."""

    neighbour: Neighbour
    is_certain: bool
    is_test: bool
    is_changed: bool


@frozen
class Likely:
    """A file that the change does not touch and may have to: its score, and why."""

    path: str
    score: float
    commits: int
    reasons: tuple[str, ...]


@frozen
class Impact:
    """The definitions that a change touches, the names that it no longer declares with the units that still call them
    (and how many more were not looked for), what depends on the definitions, and the files that likely have to change
    too."""

    definitions: tuple[Hit, ...]
    lost_names: tuple[tuple[str, tuple[Hit, ...]], ...]
    more_lost: int
    dependents: tuple[Dependent, ...]
    files: tuple[Likely, ...]


def parse_diff(text: str) -> list[FileChange]:
    """The files of a unified diff, with or without context lines."""
    lines: dict[str, list[int]] = defaultdict(list)
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: {"+": [], "-": []})
    path, number, old, new = "", 0, 0, 0  # the next line of the new text, and how many are left of either in the hunk
    for line in text.split("\n"):
        sign = line[:1]
        if old <= 0 and new <= 0:
            if hunk := HUNK.match(line):
                number = int(hunk[2])
                old, new = (int(count or 1) for count in hunk.group(1, 3))
                if not new:
                    lines[path].append(number)  # of a deletion, the line before it
            elif HEADER.match(line) and (name := _path(line)):
                path = name
                texts[path]
        elif sign == "+":
            if line[1:].strip():
                lines[path].append(number)
            texts[path][sign].append(line[1:LONGEST_LINE])
            number, new = number + 1, new - 1
        elif sign == "-":
            texts[path][sign].append(line[1:LONGEST_LINE])
            old -= 1
        elif sign != "\\":  # `\ No newline at end of file`
            number, old, new = number + 1, old - 1, new - 1
    return [_file_change(path, lines[path], one) for path, one in texts.items()]


def _path(header: str) -> str:
    """The path of a header line; '' if it names none."""
    if header.startswith(("--- ", "+++ ")):
        name = header[4:].split("\t")[0].strip()
        if name == "/dev/null":
            return ""
        if name.startswith('"'):
            inner = name.removeprefix('"').removesuffix('"').encode("utf-8", "replace")
            name = ESCAPE.sub(_unescape, inner).decode("utf-8", "backslashreplace")  # as `readable`
        return re.sub(r"^[abciow]/", "", name)
    return header.removeprefix("rename to ").strip() if header.startswith("rename to ") else ""


def _unescape(escape: re.Match[bytes]) -> bytes:
    octal, letter = escape.groups()
    return bytes([int(octal, 8)]) if octal else ESCAPED.get(letter, letter)


def _file_change(path: str, lines: Sequence[int], texts: Mapping[str, Sequence[str]]) -> FileChange:
    words = {
        sign: frozenset(word for line in some for word in IDENTIFIER.findall(line)) for sign, some in texts.items()
    }
    declarations = {sign: {name[1] for name in map(DECLARATION.match, some) if name} for sign, some in texts.items()}
    names = tuple(sorted(declarations["-"] - declarations["+"]))
    return FileChange(path, tuple(lines[:MOST_LINES]), words["-"] | words["+"], words["-"] - words["+"], names)


def change_of(function: Function) -> FileChange:
    """The change of one whole definition."""
    first, last = function.address.lines or (1, 1)
    return FileChange(function.path, tuple(range(first, last + 1)), frozenset(IDENTIFIER.findall(function.func_name)))


def only_repository(engine: Engine) -> str:
    """The repository of an index that has only one; '' for an empty index."""
    repos = sorted(engine.facets().get("repo", {}))
    if len(repos) > 1:
        raise InputError(f"the index has {len(repos):,} repositories", "name one as repo")
    return repos[0] if repos else ""


def impact_of(searcher: Searcher, changes: Sequence[FileChange], repo: str, k: int) -> Impact:
    """The impact of the changes of a repository, with the `k` likeliest other files."""
    history = searcher.history
    names = list(dict.fromkeys(name for change in changes for name in change.lost_names))
    definitions = units_of(searcher, changes, repo)
    dependents = tuple(dependents_of(searcher.relatives, definitions))
    shares = evidence_for(searcher.engine, history, changes, dependents, repo)
    together = changed_with(history, changes, repo) if history else {}
    files = tuple(
        Likely(path, score, together[path].commits if path in together else 0, tuple(_reasons(shares[path])))
        for path, score in rank_files(shares)[:k]
    )
    calls = tuple(_still_called(searcher, names[:MOST_LOST], repo))
    return Impact(tuple(definitions), calls, max(0, len(names) - MOST_LOST), dependents, files)


def units_of(searcher: Searcher, changes: Sequence[FileChange], repo: str) -> list[Hit]:
    """The innermost definitions that hold changed lines, in their order."""
    locations = searcher.locations
    if locations is None:
        return []
    units = locations.by_path(searcher.engine, {change.path for change in changes}, Filters(repo=repo))
    return [hit for change in changes for hit in holding(units.get(change.path, ()), change.lines)]


def dependents_of(relatives: Relatives, definitions: Sequence[Hit]) -> Iterator[Dependent]:
    """Callers, subclasses and users of the changed definitions, and the tests that reach them over more calls."""
    ids = {hit.id for hit in definitions}
    for one in relatives.around(ids, EVERYTHING, "in", TEST_DEPTH):
        is_a_test = is_test(one.path, one.name)
        if one.depth == 1 or is_a_test:
            yield Dependent(one, one.how != POSSIBLE, is_a_test, one.id in ids)


def _still_called(searcher: Searcher, names: Sequence[str], repo: str) -> Iterator[tuple[str, tuple[Hit, ...]]]:
    """Names that are no longer declared anywhere, each with the functions whose code still calls it."""
    engine, depth, filters = searcher.engine, searcher.settings.lane_depth, Filters(repo=repo)
    for name in names:
        if not engine.named(name, 1, filters):
            yield name, tuple(text_calls_lane(engine, name, depth, filters).hits)


@frozen
class Evidence:
    """One kind of evidence for a file: its weight, and the reason as the user reads it."""

    weight: float
    reason: str


# Fitted to 2,793 commits of fourteen repositories (docs/research/history.md).
EVIDENCE = {
    "together": Evidence(1.0, ""),  # says how often
    "share": Evidence(1.2, ""),
    "words": Evidence(1.2, "has words of the change"),
    "lost": Evidence(0.6, "has words that the change removes"),
    "mention": Evidence(0.5, "named in the change"),
    "name": Evidence(0.7, "named like a changed file"),
    "calls": Evidence(0.3, "uses what is changed"),
    "lately": Evidence(0.6, "changed lately"),
}
PART_OF_NAME, LEAST_PART = 0.5, 4  # of a whole name; letters of a part that says something
LEAST_SAID = 0.3  # of the best value; a reason that is weaker is not given


def evidence_for(
    engine: Engine,
    history: History | None,
    changes: Sequence[FileChange],
    dependents: Sequence[Dependent],
    repo: str,
) -> dict[str, dict[str, float]]:
    """For each file that the changes do not touch, the evidence of each kind in parts of the most that any has."""
    paths = {change.path for change in changes}
    words = frozenset[str]().union(*(change.words for change in changes))
    others = frozenset[str]().union(*(change.words - change.lost_words for change in changes))
    values: dict[str, Mapping[str, float]] = {
        "words": _by_words(engine, words, repo),
        "lost": _by_words(engine, words - others, repo),
        "calls": Counter(one.neighbour.path for one in dependents if one.neighbour.depth == 1),
    }
    if history:
        together = changed_with(history, changes, repo)
        values["together"] = {path: one.weight for path, one in together.items()}
        values["share"] = {path: one.share for path, one in together.items()}
        values["lately"] = history.changed_lately(repo)
    files = set().union(*values.values(), history.paths_of(repo) if history else ()) - paths
    stems = set(map(_stem, paths))
    values["name"] = {path: float(_stem(path) in stems) for path in files}
    names = {word.lower() for word in words}
    pieces = {part.lower() for word in words for part in parts(word)}
    values["mention"] = {path: _mention(_stem(path), names, pieces) for path in files}
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for kind, own in values.items():
        most = max((value for path, value in own.items() if path in files), default=0.0)
        for path in files.intersection(own):
            if own[path] > 0:
                shares[path][kind] = own[path] / most
    return dict(shares)


def changed_with(history: History, changes: Sequence[FileChange], repo: str) -> dict[str, Companion]:
    """The files that commits changed together with those of a change."""
    largest = sorted(changes, key=lambda change: -len(change.lines))[:MOST_FILES]
    return history.changed_with(repo, [change.path for change in largest])


def rank_files(
    shares: Mapping[str, Mapping[str, float]], evidence: Mapping[str, Evidence] = EVIDENCE
) -> list[tuple[str, float]]:
    """The files with their scores, best first."""
    scores = {
        path: sum(evidence[kind].weight * share for kind, share in own.items() if kind in evidence)
        for path, own in shares.items()
    }
    return sorted(scores.items(), key=lambda row: (-row[1], row[0]))


def _reasons(shares: Mapping[str, float]) -> Iterator[str]:
    for kind, evidence in EVIDENCE.items():
        if evidence.reason and shares.get(kind, 0.0) >= LEAST_SAID:
            yield evidence.reason


def _by_words(engine: Engine, words: Collection[str], repo: str) -> dict[str, float]:
    """Files by these words: the sum of the scores of their units."""
    # A name of several parts says more than a word.
    particular = sorted(words, key=lambda word: (-len(parts(word)), -len(word), word))[:MOST_WORDS]
    scores: dict[str, float] = defaultdict(float)
    for hit in engine.keyword([_term(word) for word in particular], WORD_HITS, Filters(repo=repo)):
        scores[hit.address.path] += hit.score
    return scores


def _term(word: str) -> str:
    """The term of a whole identifier, which is rarer than those of its parts."""
    own = terms(word)
    return own[-1] if own else word.lower()


def _stem(path: str) -> str:
    """The name of a file without its ending and what marks a test: `app` of `tests/test_app.py`."""
    *folders, name = path.split("/")
    stem = name.split(".")[0] or name
    if stem in NAMELESS and folders:
        stem = folders[-1]
    return (SAME_NAME.sub("", stem) or stem).lower()


def _mention(stem: str, names: Collection[str], pieces: Collection[str]) -> float:
    """1 if the stem is one of the names, less if all of its parts are parts of them."""
    if len(stem) < LEAST_PART:
        return 0.0
    if stem in names:
        return 1.0
    return PART_OF_NAME * all(part in pieces for part in parts(stem))
