"""A handful of functions to put into an index, and what an index needs beside them."""

import zlib
from collections.abc import Sequence

import numpy as np

from treeline.corpus.analysis import analyse
from treeline.corpus.function import Function
from treeline.engine.hits import Vectors
from treeline.engine.protocol import EncoderSpec, IndexInfo, Store, Writer

DIMENSION = 16
ENCODER = EncoderSpec("made-up", DIMENSION)
OTHER_ENCODER = EncoderSpec("other", 8)


def function(
    name: str,
    *,
    repo: str = "ada/engine",
    path: str = "src/text.py",
    language: str = "python",
    partition: str = "train",
    kind: str = "function",
    docstring: str = "",
    code: str = "",
    line: int = 1,
) -> Function:
    code = code or f"def {name.rpartition('.')[2]}(value):\n    return value\n"
    return Function(
        repo=repo,
        path=path,
        func_name=name,
        original_string=code,
        language=language,
        code=code,
        code_tokens=tuple(code.split()),
        docstring=docstring,
        docstring_tokens=tuple(docstring.split()),
        sha="0" * 40,
        partition=partition,
        url=f"https://example.org/{repo}/blob/main/{path}#L{line}-L{line + 2}",
        kind=kind,
    )


SAMPLE = (
    function("parse_json", docstring="Read a JSON document.", code="def parse_json(text):\n    return loads(text)\n"),
    function("int_to_string", docstring="Convert an integer to text.", path="src/numbers.py", line=10),
    function("Sorter.quick_sort", docstring="Sort a list in place.", path="src/sort/quick.py", kind="method"),
    function("sort", docstring="", repo="bob/tools", path="lib/sort.py", partition="test"),
    function(
        "HttpClient.getUrl", docstring="Fetch a page over HTTP.", repo="bob/tools", path="lib/http.py", kind="class"
    ),
    function("readFile", repo="eve/script", path="src/read.js", language="javascript", partition="valid"),
)


def vectors(functions: Sequence[Function], dimension: int = DIMENSION) -> Vectors:
    """A unit vector for each, the same for the same name on every run."""
    rows = [np.random.default_rng(zlib.crc32(one.func_name.encode())).standard_normal(dimension) for one in functions]
    made = np.array(rows, dtype=np.float32).reshape(len(functions), dimension)
    return np.asarray(made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def terms_of(functions: Sequence[Function]) -> list[str]:
    return [analyse(one) for one in functions]


def write(writer: Writer, functions: Sequence[Function]) -> int:
    return writer.write(functions, terms_of(functions), {ENCODER.name: vectors(functions)})


def build(
    store: Store, name: str, functions: Sequence[Function] = SAMPLE, *, fingerprint: str = "f", fresh: bool = True
) -> IndexInfo:
    with store.begin(name, [ENCODER], fingerprint, fresh=fresh) as writer:
        write(writer, functions)
        return writer.publish()
