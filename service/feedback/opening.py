"""The feedback store that the settings name."""

from __future__ import annotations

from engine.names import check_name
from service.feedback.protocol import FeedbackStore, NoFeedback
from service.settings import Settings


def open_feedback(settings: Settings) -> FeedbackStore:
    """SQLite beside the embedded indexes, an index of its own on Elasticsearch, or nothing when switched off."""
    if not settings.feedback:
        return NoFeedback()
    check_name(settings.index)  # it becomes a part of a path
    if settings.engine == "elasticsearch":
        from service.feedback.elastic import ElasticsearchFeedback

        return ElasticsearchFeedback.from_settings(settings)
    from service.feedback.sqlite import SqliteFeedback

    return SqliteFeedback(settings.home_path / ".feedback" / f"{settings.index}.sqlite3")
