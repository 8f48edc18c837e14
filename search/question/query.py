"""What is asked of the searcher: one question with its switches."""

from __future__ import annotations

from dataclasses import dataclass, field

from treeline.engine.protocol import NO_FILTERS, Filters
from treeline.search.votes import Votes

MODES = ("keyword", "dense", "tfidf", "graph", "hybrid")
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Query:
    """One question with its switches; `default` stands for the method that has earned it."""

    text: str
    k: int = 10
    offset: int = 0
    mode: str = "hybrid"
    fusion: str = DEFAULT
    rerank: str = DEFAULT
    filters: Filters = NO_FILTERS
    without: tuple[str, ...] = ()  # words that no result may contain
    expand: bool = False
    callees: bool = False
    as_typed: bool = False  # whether words that look mistyped are looked for as they are
    # Whether the results are to say why they are where they are, which takes a while to find out. It is the same
    # question either way, so that it is no part of what is told of it.
    explain: bool = field(default=True, repr=False)
    feedback: bool = True  # whether people's thumbs and opens for the same question may lift a result
    votes: tuple[Votes, ...] | None = None  # those thumbs and opens, where they have been read already

    @property
    def narrowed(self) -> str:
        """`only repo flask, path src/; without “xml”`; nothing where all functions may be results."""
        asked = self.filters
        values = {
            "language": asked.language,
            "repo": asked.repo,
            "path": asked.path_prefix,
            "partition": asked.partition,
        }
        only = ", ".join(f"{name} {value}" for name, value in values.items() if value)
        excluded = ", ".join(f"“{word}”" for word in self.without)
        return "; ".join(filter(None, (only and f"only {only}", excluded and f"without {excluded}")))
