"""A source of made-up functions, as many as a test wants: the loading pipeline without any reader."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from treeline.corpus.function import Function
from treeline.graph.references import FileFacts, Reference, Symbol
from treeline.ingest.source import Chunk, Parsed, Unit

VERBS = "parse read write open close sort merge split join send fetch retry build encode decode copy move count".split()
NOUNS = "json file folder list tree graph socket header request answer index token vector matrix date path url".split()


def made_up(number: int, version: int = 0) -> Function:
    """Function number so-and-so: the same on every run; another version has another text and so another id."""
    verb, noun = VERBS[number % len(VERBS)], NOUNS[number // len(VERBS) % len(NOUNS)]
    name = f"{verb}_{noun}_{number}"
    docstring = f"{verb.capitalize()} the {noun} with backoff."
    body = f"    value = {verb}({noun}, retries={number})\n    return value + {version}"
    repo, path = f"owner/repo{number % 7}", f"src/{noun}/{verb}.py"
    first = number * 10 + 1
    url = f"https://example.org/{repo}/blob/main/{path}#L{first}-L{first + 3}"
    code = f"def {name}({noun}):\n{body}"
    original = f'def {name}({noun}):\n    """{docstring}"""\n{body}'
    words = tuple(docstring.split())
    return Function(
        repo, path, name, original, "python", code, tuple(code.split()), docstring, words, "main", "train", url
    )


@dataclass(frozen=True, slots=True)
class MadeUpChunk:
    first: int
    last: int
    version: int

    @property
    def size(self) -> int:
        return (self.last - self.first) * 200

    def parse(self) -> Parsed:
        functions = tuple(made_up(number, self.version) for number in range(self.first, self.last))
        return Parsed(functions, tuple(self._facts(functions)))

    def _facts(self, functions: tuple[Function, ...]) -> Iterator[FileFacts]:
        """Every function calls the one before it in its chunk that lives in the same repository."""
        before: dict[str, Function] = {}
        for function in functions:
            first, last = function.address.lines or (1, 1)
            symbol = Symbol(function.func_name, "function", first, last)
            called = before.get(function.repo)
            references = (Reference("calls", function.func_name, called.func_name, first + 1),) if called else ()
            yield FileFacts(function.repo, function.path, "python", (symbol,), (), references)
            before[function.repo] = function


@dataclass(frozen=True, slots=True)
class MadeUpUnit:
    number: int
    first: int
    last: int
    version: int
    chunk_size: int

    @property
    def key(self) -> str:
        return f"unit {self.number}"

    @property
    def digest(self) -> str:
        return f"{self.first}-{self.last} v{self.version}"

    @property
    def size(self) -> int:
        return (self.last - self.first) * 200

    def chunks(self) -> Iterator[Chunk]:
        for first in range(self.first, self.last, self.chunk_size):
            yield MadeUpChunk(first, min(first + self.chunk_size, self.last), self.version)


@dataclass(frozen=True, slots=True)
class MadeUpSource:
    """`count` functions in units of `unit_size`."""

    count: int
    version: int = 0
    unit_size: int = 500
    chunk_size: int = 100
    name: str = "made-up"

    @property
    def size(self) -> int:
        return self.count * 200

    @property
    def left_out(self) -> Mapping[str, int]:
        return {}

    def units(self) -> Iterator[Unit]:
        for number, first in enumerate(range(0, self.count, self.unit_size)):
            last = min(first + self.unit_size, self.count)
            yield MadeUpUnit(number, first, last, self.version, self.chunk_size)
