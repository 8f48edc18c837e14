"""The lanes of a pasted text: definitions of its names, its places, and files that commits about the same changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from treeline.corpus.frozen import frozen
from treeline.corpus.function import FUNCTION_KINDS, lines_in
from treeline.engine.hits import Hit, Hits, concatenate
from treeline.engine.patterns import exactly, path_test
from treeline.engine.protocol import Engine, Filters
from treeline.graph.history import History, Vote
from treeline.graph.references import dotted
from treeline.graph.touched import changes_lately
from treeline.rerank.candidates import Candidate, Candidates
from treeline.rerank.fusion import RankedList
from treeline.search.issue import Issue
from treeline.search.location import Locations, innermost
from treeline.search.plan import DEFINITIONS, EXACT, HISTORY, IN_GRAPH, KEYWORD, PLACES

SAME_NAME = 5  # definitions of a name that are read; one that more have says little
OTHER_OWNER = 0.5  # the factor for a definition in another class or module than the name says
FADING = 0.9  # from one place, name or unit to the next
VOTED_FILES = 10  # whose units are candidates
UNITS = 4  # of each
# A function that the last commits touched moves up by a part of the logarithm of its rank, from the third one on.
FIRST_FILES, FIRST, LIFT, OFTEN = 4, 3, 0.6, 2.0

Changes = Mapping[tuple[str, str], Vote]  # by repository and path


@frozen
class HistoryList(RankedList):
    """The units of the files that have most votes; `changes` has the votes of all files."""

    changes: Changes = field(default_factory=dict, kw_only=True)


def issue_keyword_lane(engine: Engine, issue: Issue, k: int, filters: Filters) -> RankedList:
    """The best `k` by the words of all parts, each as often as it counts."""
    hits = engine.keyword(issue.words, k, filters)
    return RankedList(KEYWORD, hits, [EXACT] * len(hits))


def definitions_lane(engine: Engine, issue: Issue, filters: Filters) -> RankedList:
    """The definitions of the names, the likeliest name's first."""
    scores: dict[str, float] = {}
    lists: list[Sequence[Hit]] = []
    for rank, name in enumerate(issue.names):
        owner, last = ["", *dotted(name).split(".")][-2:]
        hits = Hits.of(engine.named(last, SAME_NAME + 1, IN_GRAPH) if last else [])
        if not 0 < len(hits) <= SAME_NAME:
            continue
        passing = engine.locate(hits.ids, filters)
        lists.append(passing)
        for hit in passing:
            apt = not owner or owner in f"{hit.address.path}/{hit.address.func_name}".replace(".", "/").split("/")
            score = FADING**rank / len(hits) ** 0.5 * (1.0 if apt else OTHER_OWNER)
            scores[hit.id] = max(scores.get(hit.id, 0.0), score)
    return _by_score(DEFINITIONS, lists, scores)


def places_lane(engine: Engine, locations: Locations | None, issue: Issue, filters: Filters) -> RankedList:
    """The innermost unit at each place, then the units around it; for a path without a line, the file."""
    scores: dict[str, float] = {}
    lists: list[Sequence[Hit]] = []
    weight = 1.0
    for place in issue.places if locations is not None else ():
        assert locations is not None
        units = locations.units(engine, place, filters)
        units = innermost(units, place.line) if place.line else [hit for hit in units if hit.address.kind == "file"]
        if not units or (not place.line and len(units) > SAME_NAME):
            continue
        lists.append(units)
        for depth, hit in enumerate(units):
            scores[hit.id] = max(scores.get(hit.id, 0.0), weight * 0.5**depth)
        weight *= FADING
    return _by_score(PLACES, lists, scores)


def _by_score(lane: str, lists: Sequence[Sequence[Hit]], scores: Mapping[str, float]) -> RankedList:
    hits = concatenate(lists, len(scores))[0] if lists else Hits.of([])
    values = np.array([scores[id_] for id_ in hits.ids])
    order = np.argsort(-values, kind="stable")
    return RankedList(lane, hits.with_scores(values).at(order))


def history_lane(engine: Engine, history: History | None, words: Sequence[str], filters: Filters) -> HistoryList:
    """The best units, by these words, of the files that commits with messages near them changed; else the files."""
    if history is None or not (votes := history.votes(words)):
        return HistoryList(HISTORY, [])
    quality = {repo: one.quality for repo, one in history.repositories().items()}
    changes = {key: vote._replace(share=vote.share * quality[key[0]]) for key, vote in votes.items()}
    scores: dict[str, float] = {}
    lists: list[Sequence[Hit]] = []
    passes = path_test(filters)
    for (repo, path), vote in changes.items():
        if len(lists) == VOTED_FILES:
            break
        if not passes(path) or not filters.passes(repo=repo):
            continue
        inside = replace(filters, repo=repo, path=exactly(path))
        hits = Hits.of(engine.keyword(words, UNITS, inside) or engine.named(path.rpartition("/")[2], 1, inside))
        if len(hits):
            lists.append(hits)
            scores |= {id_: vote.share * FADING**rank for rank, id_ in enumerate(hits.ids)}
    ranked = _by_score(HISTORY, lists, scores)
    stages = [_cause(changes.get((hit.address.repo, hit.address.path))) for hit in ranked.hits]
    return HistoryList(HISTORY, ranked.hits, stages, changes=changes)


def put_changes_first(candidates: Sequence[Candidate], history: History) -> Sequence[Candidate]:
    """The ranked units of an issue: functions of the first files that the last commits touched move up."""
    table = Candidates.of(candidates)
    rows = list(
        zip(table.parts("repo"), table.parts("path"), table.parts("kind"), table.parts("fragment"), strict=True)
    )
    files = list(dict.fromkeys(row[:2] for row in rows))[:FIRST_FILES]
    spans: dict[tuple[str, str], dict[int, tuple[int, int]]] = {}
    for at, (repo, path, kind, fragment) in enumerate(rows):
        if (repo, path) in files and kind in FUNCTION_KINDS and (lines := lines_in(fragment)):
            spans.setdefault((repo, path), {})[at] = lines
    counts = np.zeros(len(rows))
    for repo in {repo for repo, _ in spans}:
        own = {path: list(some.values()) for (name, path), some in spans.items() if name == repo}
        for path, values in changes_lately(history, repo, own).items():
            counts[list(spans[repo, path])] = values
    if not counts.any():
        return candidates
    order = np.argsort(np.log(FIRST + np.arange(len(rows))) - LIFT * np.minimum(counts / OFTEN, 1.0), kind="stable")
    reasons = np.array(table.reasons, dtype=np.object_)
    for at in np.flatnonzero(counts).tolist():
        reasons[at] = "; ".join(filter(None, (reasons[at], "touched by the last commits of its file")))
    return table.with_votes(order, reasons)


def _cause(vote: Vote | None) -> str:
    return f"changed by {vote.commit.title}" if vote else ""
