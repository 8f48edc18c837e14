"""Feedback in one SQLite file beside the embedded indexes."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from treeline.corpus.errors import EngineUnavailable, TreelineError
from treeline.search.feedback import COLUMNS, SIMILAR_FROM, Signal, Votes, question_terms, similarity
from treeline.service.feedback import SALT_BYTES, pseudonym

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
CREATE TABLE IF NOT EXISTS voters (
    question INTEGER NOT NULL REFERENCES questions, function TEXT NOT NULL, pseudonym TEXT NOT NULL,
    signal TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (question, function, pseudonym, signal)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS salt (one INTEGER PRIMARY KEY CHECK (one = 1), salt BLOB NOT NULL);
"""
BUSY_SECONDS = 2.0  # a writer waits for another one
MOST_QUESTIONS = 64  # similar queries read for one search


class SqliteFeedback:
    """Counts per (query, unit). One connection per thread; WAL, so readers never wait for a writer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._voted = False  # votes are never removed, so True stays True
        try:
            self._connection()
        except (OSError, sqlite3.Error) as error:
            raise TreelineError(
                f"feedback cannot be kept in {path}: {error}", "check the folder's permissions"
            ) from error

    def _connection(self) -> sqlite3.Connection:
        """This thread's connection. A removed or replaced file is opened again: a write to the old one would
        succeed and be lost."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None or _inode(self._path) != self._local.inode:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS)
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(SCHEMA)
            connection.execute("INSERT OR IGNORE INTO salt VALUES (1, ?)", (secrets.token_bytes(SALT_BYTES),))
            connection.commit()
            self._local.connection, self._local.inode = connection, _inode(self._path)
        return connection

    def record(
        self, question: str, function: str, signal: Signal, amount: int = 1, voter: str = "", most: int = 0
    ) -> None:
        try:
            with self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                words = question_terms(question)
                number = self._question(connection, words)
                if voter:
                    (salt,) = connection.execute("SELECT salt FROM salt").fetchone()
                    who = pseudonym(salt, voter, words, function)
                    amount = self._own(connection, (number, function, who, signal), amount, most)
                self._count(connection, number, function, COLUMNS[signal], amount)
        except (OSError, sqlite3.Error) as error:
            raise EngineUnavailable(f"feedback could not be kept in {self._path.name}: {error}", "try again") from error

    @staticmethod
    def _own(connection: sqlite3.Connection, row: tuple[object, ...], amount: int, most: int) -> int:
        """The part of the amount that the voter may still use; recorded as used."""
        key = "question = ? AND function = ? AND pseudonym = ? AND signal = ?"
        votes = connection.execute(f"SELECT count FROM voters WHERE {key}", row).fetchone()  # noqa: S608
        before = votes[0] if votes else 0
        after = max(0, min(most, before + amount))
        connection.execute("INSERT OR REPLACE INTO voters VALUES (?, ?, ?, ?, ?)", (*row, after))
        return int(after - before)

    @staticmethod
    def _count(connection: sqlite3.Connection, number: int, function: str, column: str, amount: int) -> None:
        if amount:
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
        """Whether there are any votes: quicker than looking for similar queries."""
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
        similar = [
            Votes(function, ups, downs, opens, similarity(ours, frozenset(terms.split())))
            for terms, function, ups, downs, opens in rows
        ]
        return [votes for votes in similar if votes.similarity >= SIMILAR_FROM]


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0
