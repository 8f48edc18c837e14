"""Feedback in one SQLite file beside the embedded indexes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from treeline.corpus.errors import EngineUnavailable, TreelineError
from treeline.search.feedback import COLUMNS, SIMILAR_FROM, Signal, Votes, question_terms, similarity

SCHEMA = """
CREATE TABLE IF NOT EXISTS questions (id INTEGER PRIMARY KEY, terms TEXT NOT NULL UNIQUE, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS words (
    term TEXT NOT NULL, question INTEGER NOT NULL REFERENCES questions, PRIMARY KEY (term, question)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS votes (
    question INTEGER NOT NULL REFERENCES questions, function TEXT NOT NULL,
    ups INTEGER NOT NULL DEFAULT 0, downs INTEGER NOT NULL DEFAULT 0, opens INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (question, function)
) WITHOUT ROWID;
"""
BUSY_SECONDS = 2.0  # how long a writer waits for another one
MOST_QUESTIONS = 64  # similar questions looked at for one search


class SqliteFeedback:
    """Counts per (question, function). One connection a thread; WAL, so that readers never wait for a writer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._voted = False  # no vote is ever removed
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._connection() as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.executescript(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise TreelineError(
                f"feedback cannot be kept in {path}: {error}", "check the folder's permissions"
            ) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS)
            connection.execute("PRAGMA synchronous=NORMAL")
            self._local.connection = connection
        return connection

    def record(self, question: str, function: str, signal: Signal, amount: int = 1) -> None:
        try:
            self._count(question_terms(question), function, COLUMNS[signal], amount)
        except sqlite3.Error as error:
            raise EngineUnavailable(f"feedback could not be kept in {self._path.name}: {error}", "try again") from error

    def _count(self, words: Sequence[str], function: str, column: str, amount: int) -> None:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            number = self._question(connection, words)
            connection.execute("INSERT OR IGNORE INTO votes (question, function) VALUES (?, ?)", (number, function))
            connection.execute(
                f"UPDATE votes SET {column} = max(0, {column} + ?) WHERE question = ? AND function = ?",  # noqa: S608
                (amount, number, function),
            )

    @staticmethod
    def _question(connection: sqlite3.Connection, words: Sequence[str]) -> int:
        key = " ".join(words)
        cursor = connection.execute("INSERT OR IGNORE INTO questions (terms, size) VALUES (?, ?)", (key, len(words)))
        (number,) = connection.execute("SELECT id FROM questions WHERE terms = ?", (key,)).fetchone()
        if cursor.rowcount:
            rows = [(word, number) for word in words]
            connection.executemany("INSERT OR IGNORE INTO words (term, question) VALUES (?, ?)", rows)
        return int(number)

    def _any_votes(self) -> bool:
        """Whether anybody ever voted; where nobody did, that is quicker told than what similar questions got."""
        if not self._voted:
            self._voted = self._connection().execute("SELECT 1 FROM votes LIMIT 1").fetchone() is not None
        return self._voted

    def votes(self, question: str) -> list[Votes]:
        if not self._any_votes() or not (words := question_terms(question)):
            return []
        ours = frozenset(words)
        holes = ", ".join("?" * len(words))
        # Two questions with a Jaccard similarity of s share at least s × the terms of the longer one.
        rows = self._connection().execute(
            f"""SELECT q.terms, v.function, v.ups, v.downs, v.opens FROM (
                    SELECT w.question AS id, count(*) AS shared FROM words w WHERE w.term IN ({holes})
                    GROUP BY w.question HAVING shared >= ? ORDER BY shared DESC LIMIT ?
                ) AS near JOIN questions q ON q.id = near.id JOIN votes v ON v.question = near.id""",  # noqa: S608
            (*words, len(words) * SIMILAR_FROM, MOST_QUESTIONS),
        )
        found = [
            Votes(function, ups, downs, opens, similarity(ours, frozenset(terms.split())))
            for terms, function, ups, downs, opens in rows
        ]
        return [votes for votes in found if votes.similarity >= SIMILAR_FROM]
