"""Treeline: code search that knows the repository tree.

    import treeline

    with treeline.open_project(".") as index:       # indexes the repository you stand in, or refreshes its index
        for match in index.search("how are cookies signed", k=5):
            print(match.rank, match.name, f"{match.path}:{match.first_line}", match.why)
        index.similar(match)
        index.callers(match)

`open_index` opens an index by name, `make_index` loads sources into one, `evaluate` scores a ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypedDict, Unpack

from treeline.corpus.errors import IndexMissing, InputError, TreelineError
from treeline.corpus.frozen import frozen

if TYPE_CHECKING:
    import networkx as nx

    from treeline.corpus.function import Function
    from treeline.search.live import LiveSearcher
    from treeline.search.relatives import Neighbour
    from treeline.search.settings import Settings

__version__ = "0.2.0"
__all__ = [
    "Index",
    "IndexMissing",
    "InputError",
    "Match",
    "Member",
    "Neighbor",
    "Switches",
    "TreelineError",
    "evaluate",
    "make_index",
    "open_index",
    "open_project",
]


class Switches(TypedDict, total=False):
    """The switches of a search, as on the command line; `treeline.search.query.SWITCHES` says what each does."""

    offset: int
    mode: Literal["hybrid", "keyword", "dense", "graph"]
    fusion: str
    rerank: str
    quality: Literal["fast", "best"]
    diversity: float
    language: str
    repo: str
    path: str
    file: str
    ext: str
    kind: str
    role: str
    partition: str
    expand: bool
    as_typed: bool
    feedback: bool


@frozen
class Member:
    """A unit inside a match that fits the query too."""

    id: str
    kind: str
    name: str
    first_line: int
    last_line: int
    signature: str
    score: float

    def __repr__(self) -> str:
        return f"<Member {self.kind} {self.name} lines {self.first_line}-{self.last_line}>"


@frozen
class Match:
    """One result of a search. `first_line` and `last_line` are 0 where they are not known; a file, class or section has
    its best `members`."""

    rank: int
    id: str
    score: float
    kind: str
    name: str
    repo: str
    path: str
    first_line: int
    last_line: int
    language: str
    docstring: str
    code: str
    url: str
    why: str
    members: tuple[Member, ...] = ()

    def __repr__(self) -> str:
        return f"<Match {self.rank}: {self.kind} {self.name} {self.path}:{self.first_line}>"


@frozen
class Neighbor:
    """A function that calls another, or is called by it. `id` is empty where it is outside the index."""

    id: str
    name: str
    repo: str
    path: str
    line: int

    def __repr__(self) -> str:
        return f"<Neighbor {self.name} {self.path}:{self.line}>"


class Index:
    """An open index. Made by `open_project`, `open_index` and `make_index`; close it, or use it in a `with`."""

    def __init__(self, searcher: LiveSearcher) -> None:
        self._searcher = searcher

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Index {self._searcher.info.name!r}, {len(self):,} units>"

    def __len__(self) -> int:
        """How many units (functions, classes, files, …) it holds."""
        return self._searcher.info.functions

    def search(self, query: str, k: int = 10, **switches: Unpack[Switches]) -> list[Match]:
        """The best matches. `switches` are those of the command line: `language=`, `repo=`, `kind=`, `mode=`, …"""
        from treeline.corpus.function import KINDS
        from treeline.search.query import COMMIT, Query

        for kind in filter(None, switches.get("kind", "").split(",")):
            if kind.strip().lstrip("-") not in (*KINDS, COMMIT):
                raise InputError(f"there is no kind {kind.strip()!r}", f"choose from: {', '.join((*KINDS, COMMIT))}")
        answer = self._searcher.search(Query.of(query, {**switches, "k": k}, self._searcher.settings))
        return [
            replace(
                _match(result.rank, result.function, result.candidate.score, result.candidate.reason),
                members=tuple(
                    Member(
                        one.id,
                        one.address.kind,
                        one.address.func_name,
                        *(one.address.lines or (0, 0)),
                        one.signature,
                        one.score,
                    )
                    for one in result.members
                ),
            )
            for result in answer.results
        ]

    def get(self, id: str) -> Match | None:
        """One unit by its id."""
        function = self._searcher.function(id)
        return _match(0, function, 0.0, "") if function else None

    def similar(self, match: Match | str, k: int = 10) -> list[Match]:
        """The units nearest in meaning."""
        hits = self._searcher.similar(self._id(match), k)
        units = {function.id: function for function in self._searcher.engine.fetch([hit.id for hit in hits])}
        return [_match(rank, units[hit.id], hit.score, "") for rank, hit in enumerate(hits, 1) if hit.id in units]

    def callers(self, match: Match | str, depth: int = 1) -> list[Neighbor]:
        """The functions that are known to call this one, directly or through up to `depth` calls."""
        return [_neighbor(one) for one in self._searcher.callers(self._id(match), depth)]

    def callees(self, match: Match | str, depth: int = 1) -> list[Neighbor]:
        """The functions that this one is known to call, directly or through up to `depth` calls."""
        return [_neighbor(one) for one in self._searcher.callees(self._id(match), depth)]

    def tree(self, query: str = "") -> nx.DiGraph[int]:
        """The repository tree as a networkx graph: of the whole index, or of the results of a query.

        Nodes have their place in the Poincaré disk and their cluster, edges their length there and in the tree.
        """
        from treeline.search.query import Query
        from treeline.search.tree import index_graph, result_graph

        if not query:
            return index_graph(self._searcher.engine)
        settings = self._searcher.settings
        found = self._searcher.rank(Query.of(query, {}, settings)).candidates[: settings.rerank_depth]
        return result_graph(found, clusters=settings.clusters)

    def close(self) -> None:
        self._searcher.close()

    def _id(self, match: Match | str) -> str:
        id_ = match if isinstance(match, str) else match.id
        if self._searcher.function(id_) is None:
            raise InputError(f"no unit has the id {id_!r}", "give a match of this index, or its id")
        return id_


def open_project(path: str | Path = ".", *, home: str | Path | None = None) -> Index:
    """The index of the repository or folder at `path`, made or refreshed first."""
    from treeline.service.projects import refresh_project

    return open_index(refresh_project(_settings(home), Path(path)).project.index, home=home)


def open_index(name: str = "", *, home: str | Path | None = None) -> Index:
    """An existing index by name (default: `TREELINE_INDEX`); raises `IndexMissing`."""
    from treeline.search.live import open_searcher

    return Index(open_searcher(_settings(home), name))


def make_index(*sources: str | Path, name: str, home: str | Path | None = None, fresh: bool = False) -> Index:
    """Load sources (folders, git URLs, archives, `codesearchnet:DIR`, …) into an index, or bring it up to date."""
    from treeline.ingest.history import update_sources
    from treeline.ingest.pipeline import LoadOptions, load
    from treeline.ingest.sources import open_source
    from treeline.search.settings import open_store
    from treeline.service.projects import reading_of

    settings = _settings(home)
    opened = [open_source(str(source), reading_of(settings)) for source in sources]
    load(open_store(settings), name, opened, LoadOptions(work=settings.home_path / ".loading", fresh=fresh))
    if settings.history:
        update_sources(settings.home_path, name, opened)
    return open_index(name, home=home)


def evaluate(
    judgements: Mapping[str, Mapping[str, float]], ranking: Mapping[str, Sequence[str]], metric: str = "ndcg@10"
) -> float:
    """The mean of a metric (`ndcg@10`, `mrr`, `recall@10`) over the judged queries.

    `judgements` has the relevance of each result of a query, `ranking` the results of each query, best first.
    """
    from treeline.eval import metrics

    measure, _, cut = metric.lower().partition("@")
    if measure not in ("ndcg", "mrr", "recall") or (cut and not cut.isdigit()) or (measure == "recall" and not cut):
        raise InputError(f"there is no metric {metric!r}", "choose ndcg@K, mrr or recall@K")
    depth = int(cut) if cut else None
    values = []
    for query, judged in judgements.items():
        relevant = {one for one, relevance in judged.items() if relevance > 0}
        ranked = list(ranking.get(query, ()))
        if not relevant:
            continue
        if measure == "ndcg":
            values.append(metrics.ndcg(ranked[:depth], judged, k=depth))
        elif measure == "mrr":
            values.append(metrics.reciprocal_rank(ranked, relevant, depth))
        else:
            values.append(metrics.recall(ranked, relevant, depth or 0))
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


def _settings(home: str | Path | None) -> Settings:
    from treeline.search.settings import from_environment

    settings = from_environment()
    return replace(settings, home=str(home)) if home is not None else settings


def _match(rank: int, function: Function, score: float, why: str) -> Match:
    first, last = function.address.lines or (0, 0)
    return Match(
        rank=rank,
        id=function.id,
        score=score,
        kind=function.kind,
        name=function.func_name,
        repo=function.repo,
        path=function.path,
        first_line=first,
        last_line=last,
        language=function.language,
        docstring=function.docstring,
        code=function.original_string,
        url=function.url,
        why=why,
    )


def _neighbor(one: Neighbour) -> Neighbor:
    return Neighbor(one.id, one.name, one.repo, one.path, one.line)
