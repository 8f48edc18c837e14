"""A result that is a whole, such as a file or class, shows which units inside it match best."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import pytest

from tests.ingest.loading import NAME, loaded, project
from treeline.corpus.function import Address, Function
from treeline.ingest.pipeline import LoadOptions, load
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source
from treeline.search.answer import MEMBERS, contains, signature_of
from treeline.search.live import LiveSearcher, open_searcher
from treeline.search.query import Query
from treeline.search.settings import Settings, open_store

FILES = {
    "net/pool.py": '''
"""Connection pooling."""

class ConnectionPool:
    """Keeps open connections for the next request."""

    def __init__(self, size):
        self.size = size

    @property
    def idle_connections(self):
        """Connections of the pool that nobody uses."""
        return self.free

    def acquire(self):
        """Take a connection out of the pool."""
        return self.free.pop()

    def release(self, connection):
        """Put a connection back into the pool."""
        self.free.append(connection)

    def close(self):
        """Close all connections of the pool."""
        for connection in self.free:
            connection.close()
''',
    "net/url.py": 'def parse_url(text):\n    """Split an address into scheme, host and path."""\n    return text\n',
    "docs/guide.md": "# Guide\n\n## Retries\n\nHow requests are retried.\n\n### Waiting\n\nRetries wait ever longer.\n",
}


@pytest.fixture(scope="module", params=["embedded", pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)])
def searcher(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSearcher]:
    """Over each engine, so that every claim below holds on both."""
    folder = tmp_path_factory.mktemp("members")
    source, home = project(folder / "http", FILES), folder / "home"
    settings = Settings(home=str(home), index=NAME, lane_timeout=30)
    if request.param == "elasticsearch":
        urls = request.getfixturevalue("elasticsearch_cluster").urls
        name = f"members-{uuid.uuid4().hex[:8]}"
        settings = replace(settings, engine="elasticsearch", elasticsearch_url=",".join(urls), index=name)
        load(open_store(settings), name, [open_source(str(source))], LoadOptions(work=home / ".loading", workers=0))
    else:
        loaded(home, source, read=ReadOptions())
    found = open_searcher(settings, once=True)
    yield found
    found.close()
    if request.param == "elasticsearch":
        open_store(settings).drop(settings.index)


def test_a_class_shows_its_best_members_with_the_line_that_names_them(searcher: LiveSearcher) -> None:
    results = searcher.search(Query("connections of the pool", k=50)).results
    pool = next(result for result in results if result.function.kind == "class")
    assert 0 < len(pool.members) <= MEMBERS
    assert all(member.address.func_name.startswith("ConnectionPool.") for member in pool.members)
    assert [member.score for member in pool.members] == sorted((one.score for one in pool.members), reverse=True)
    idle = next(member for member in pool.members if member.address.func_name.endswith("idle_connections"))
    assert idle.signature == "def idle_connections(self):" and idle.address.lines == (10, 13)


def test_a_file_shows_members_and_a_function_none(searcher: LiveSearcher) -> None:
    results = searcher.search(Query("connections of the pool", k=50)).results
    file = next(result for result in results if result.function.func_name == "pool.py")
    assert len(file.members) == MEMBERS
    assert all(not result.members for result in results if result.function.kind == "method")


def test_members_are_the_same_on_every_page(searcher: LiveSearcher) -> None:
    every = {one.function.id: one.members for one in searcher.search(Query("connections of the pool", k=50)).results}
    second = searcher.search(Query("connections of the pool", k=1, offset=1)).results[0]
    assert second.members == every[second.function.id]


def test_a_question_about_the_whole_is_answered_by_the_class(searcher: LiveSearcher) -> None:
    first = searcher.search(Query("connection pooling", k=1)).results[0]
    assert first.function.kind in ("class", "file") and len(first.members) == MEMBERS
    detail = searcher.search(Query("put a connection back into the pool when done", k=1)).results[0]
    assert detail.function.func_name == "ConnectionPool.release"


def unit(name: str, kind: str, lines: str) -> Address:
    return Address("r", "a.go", name, "go", f"#{lines}", kind)


def test_a_method_outside_of_its_type_is_inside_by_its_name() -> None:
    engine = unit("Engine", "type", "L5-L9")
    assert contains(engine, unit("Engine.Run", "method", "L20-L30"))
    assert contains(engine, unit("option", "constant", "L6-L7"))
    assert not contains(engine, unit("EngineOption", "type", "L12-L13"))
    assert not contains(engine, engine)
    assert contains(unit("Retries", "section", "L3-L5"), unit("Retries > Waiting", "section", "L7-L9"))


def test_the_explanation_names_the_other_matches_in_the_file(searcher: LiveSearcher) -> None:
    first = searcher.search(Query("connections of the pool", k=1)).results[0]
    assert "more matches in its file +" in first.candidate.reason
    assert "(ConnectionPool.close, " in first.candidate.reason


def function(code: str, name: str = "send") -> Function:
    return Function("r", "a.py", name, code, "python", code, (), "", (), "", "", "")


@pytest.mark.parametrize(
    ("code", "signature"),
    [
        (
            "def send(\n    self,\n    to: str = '(',  # who (\n) -> None:\n    pass",
            "def send(self, to: str = '(') -> None:",
        ),
        ("@retry(\n    3\n)\ndef send(to):\n    pass", "def send(to):"),
        ("pub fn send(&self) -> Reply {\n}", "pub fn send(&self) -> Reply"),
        ("send = call(\n" + "    1,\n" * 30 + ")", "send = call("),
        ("def send(to):  # noqa\n    pass", "def send(to):  # noqa"),
    ],
)
def test_a_signature_is_on_one_line_up_to_its_closing_bracket(code: str, signature: str) -> None:
    assert signature_of(function(code)) == signature


def test_to_an_issue_a_person_reads_what_is_in_one_file_together(searcher: LiveSearcher) -> None:
    text = "Close is slow\n\n`parse_url` and `ConnectionPool.acquire` are slow too.\nSo is `release`.\nAnd all of it.\n"
    answer = searcher.search(Query(text, k=20))
    assert answer.route == "issue"
    paths = [path for path, _ in groupby(answer.results, lambda result: result.function.path)]
    together = [path for path, _ in groupby(answer.by_file, lambda result: result.function.path)]
    assert len(paths) > len(together) == len(set(paths)) and together[0] == paths[0]
    assert sorted(result.rank for result in answer.by_file) == [result.rank for result in answer.results]
    question = searcher.search(Query("connections of the pool", k=20))
    assert question.by_file == question.results
