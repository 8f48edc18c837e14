"""A small real index for tests: a made-up repository in a folder of the embedded engine, with the shipped encoder."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from tests.graph.parsed import parse
from treeline.corpus.analysis import analyse
from treeline.corpus.function import Function
from treeline.encoder.protocol import Encoder
from treeline.encoder.registry import load
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit
from treeline.engine.protocol import NO_FILTERS, EncoderSpec, Engine, Filters, IndexInfo, Store
from treeline.graph import callgraph
from treeline.graph.callgraph.build import build
from treeline.graph.references import FileFacts
from treeline.graph.tree import dump, grow
from treeline.rerank.evidence import named_language
from treeline.search.executor import Inline
from treeline.search.plan import Plan, Planner, route
from treeline.search.query import Corrections, Query
from treeline.search.settings import Settings

NAME = "small"
FILES = {
    "web/url.py": '''
def parse_url(text):
    """Split an address into scheme, host and path."""
    scheme, rest = text.split("://")
    return scheme, rest

def join_url(base, path):
    """Put a path behind the address of a host."""
    return normalise(base) + path

def normalise(base):
    return base.rstrip("/") + "/"
''',
    "web/client.py": '''
from web.url import parse_url

class Client:
    def send(self, url):
        """Send a request and wait for the reply."""
        return self.open(parse_url(url))

    def open(self, parts):
        """Open a connection to the host."""
        return connect(parts)

def fetch_page(url):
    """Download a web page."""
    return Client().send(url)
''',
    "text/numbers.py": '''
def int_to_string(number):
    """Convert an int to a string."""
    return str(number)

def read_csv(path):
    """Read rows from a comma separated file."""
    with open(path) as lines:
        return [line.split(",") for line in lines]

def retry_with_backoff(call, attempts):
    """Call again after ever longer pauses when it fails."""
    for attempt in range(attempts):
        try:
            return call()
        except OSError:
            sleep(2 ** attempt)
''',
}


@cache
def shipped() -> Encoder:
    encoder = load("static")
    assert encoder is not None
    return encoder


def parsed(files: Mapping[str, str] = FILES, repo: str = "owner/repo") -> tuple[list[Function], list[FileFacts]]:
    functions: list[Function] = []
    facts: list[FileFacts] = []
    for path, source in files.items():
        found, fact = parse(path, source, "python", repo)
        functions += found
        facts.append(fact)
    return functions, facts


def publish(
    store: Store,
    functions: Sequence[Function],
    facts: Sequence[FileFacts] = (),
    *,
    name: str = NAME,
    encoders: Sequence[Encoder] | None = None,
) -> IndexInfo:
    """A fresh generation of these functions."""
    encoders = [shipped()] if encoders is None else encoders
    specs = [EncoderSpec(encoder.name, encoder.dimension) for encoder in encoders]
    with store.begin(name, specs, "test", fresh=True) as writer:
        vectors = {encoder.name: encoder.encode_functions(functions) for encoder in encoders}
        writer.write(functions, [analyse(function) for function in functions], vectors)
        addresses = [(function.id, function.address) for function in functions]
        writer.put_artifact(callgraph.ARTIFACT, build(facts, addresses))
        writer.put_artifact("tree", dump(grow(addresses)))
        return writer.publish()


def small_store(home: Path) -> EmbeddedStore:
    store = EmbeddedStore(home)
    publish(store, *parsed())
    return store


def plan_of(text: str, *, unsure: bool = False) -> Plan:
    """The plan of a query in words, as if an index had made it."""
    way = route(text)
    corrections = Corrections(text, unsure=unsure)
    return Plan(
        Query(text), text, NO_FILTERS, (), (), "", corrections, named_language(text), way, way.lanes(), 300, 100
    )


class EmptyIndex:
    """Stands for an index that has no functions: a plan needs no more of it."""

    info = IndexInfo("empty", "embedded", "1", 0, (), "")

    def facets(self) -> dict[str, dict[str, int]]:
        return {}

    def spellings(self, word: str) -> dict[str, int]:
        return {}

    def named(self, name: str, k: int, filters: Filters) -> list[Hit]:
        return []


def plan_for(query: Query) -> Plan:
    """The plan that an empty index makes of a query."""
    return Planner(cast(Engine, EmptyIndex()), Settings()).plan(query, Inline().run)
