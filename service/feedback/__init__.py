"""Thumbs and opens: kept per (question, function), and used as a small, explained lift."""

from __future__ import annotations

from treeline.engine.names import check_name
from treeline.search.feedback import FeedbackStore, NoFeedback
from treeline.search.settings import Settings


def open_feedback(settings: Settings) -> FeedbackStore:
    """SQLite beside the embedded indexes, an index of its own on Elasticsearch, or nothing when switched off."""
    if not settings.feedback:
        return NoFeedback()
    check_name(settings.index)  # it becomes a part of a path
    if settings.engine == "elasticsearch":
        from treeline.service.feedback.elastic import ElasticsearchFeedback

        return ElasticsearchFeedback.from_settings(settings)
    from treeline.service.feedback.sqlite import SqliteFeedback

    return SqliteFeedback(settings.home_path / ".feedback" / f"{settings.index}.sqlite3")
