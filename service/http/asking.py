"""One way for API and pages to ask the searcher: the question's tag, the feedback stage, and what the metrics see."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from treeline.rerank.candidates import Candidate
from treeline.search.answer import Answer
from treeline.search.query import Query
from treeline.search.searcher import Adjust
from treeline.search.settings import Settings
from treeline.search.votes import FeedbackStore, Votes
from treeline.service.feedback import lift
from treeline.service.http import observe
from treeline.service.http.context import context
from treeline.service.http.reply import entity_tag

log = logging.getLogger(__name__)


def ask(query: Query, tag: str = "") -> Answer:
    """The answer, searched for or kept from before."""
    here = context()
    generation = here.searcher.info.identity
    search = partial(here.searcher.search, query)
    answer = here.answers.get(tag or tag_of(query), generation, search, explain=query.explain)
    observe.answered(answer)
    return answer


def with_votes(query: Query) -> Query:
    """The question with the feedback on it: its tag and its ranking both depend on it, and it is read once."""
    return query if query.votes is not None else replace(query, votes=tuple(votes_on(context().feedback, query)))


def tag_of(query: Query) -> str:
    """What an answer depends on: the index's generation, the question, and the feedback on it."""
    here = context()
    info = here.searcher.info
    return entity_tag(info.identity, with_votes(query))


def votes_on(store: FeedbackStore, query: Query) -> Sequence[Votes]:
    if not query.feedback:
        return []
    if query.votes is not None:
        return query.votes
    try:
        return store.votes(query.text)
    except sqlite3.Error as error:  # a broken file must not take the search down with it
        log.warning("searching without feedback: %s", error)
        return []


def adjuster(store: FeedbackStore, settings: Settings) -> Adjust:
    """The searcher's last stage: feedback's lift, within the part of the list that every page of it has in common."""

    def adjust(query: Query, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        earned = lift.lifts(votes_on(store, query), settings.feedback_places)
        if not earned:
            return candidates
        depth = settings.rerank_depth
        return [*lift.apply(candidates[:depth], earned), *candidates[depth:]]

    return adjust
