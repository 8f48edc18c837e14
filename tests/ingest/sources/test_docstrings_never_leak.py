"""A docstring is its own field: a query equal to one finds nothing through the code of a function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.ingest.reading import SHARED, read
from treeline.corpus.analysis import analyse, terms
from treeline.corpus.function import Function
from treeline.engine.embedded import EmbeddedStore
from treeline.engine.hits import Hit

WORDS = "marmalade penguins juggle quietly"
SOURCES = {
    "a.py": f'def f():\n    """{WORDS}"""\n    return g()\n',
    "b.java": f"class B {{\n  /** {WORDS} */\n  void f() {{ g(); }}\n}}\n",
    "c.go": f"package c\n\n// {WORDS}\nfunc f() {{ g() }}\n",
    "d.js": f"/**\n * {WORDS}\n */\nconst f = () => {{ g(); }};\n",
    "e.ts": f"// {WORDS}\nexport function f(): void {{ g(); }}\n",
    "f.php": f"<?php\n/** {WORDS} */\nfunction f() {{ g(); }}\n",
    "g.rb": f"# {WORDS}\ndef f\n  g\nend\n",
}


def found(home: Path, functions: Sequence[Function], query: str) -> list[Hit]:
    """Search for all the words of a query in an index of these functions."""
    store = EmbeddedStore(home)
    with store.begin("leak", (), "leak", fresh=True) as writer:
        writer.write(functions, [analyse(function) for function in functions], {})
        writer.publish()
    engine = store.open("leak")
    try:
        return [*engine.keyword(terms(query), 100), *engine.fuzzy(query, 100)]
    finally:
        engine.close()


def without_docstrings(functions: Sequence[Function]) -> list[Function]:
    """As an index built without the docstring field would have them."""
    return [replace(function, docstring="", docstring_tokens=()) for function in functions]


def test_in_every_language_the_docstring_is_found_by_its_own_field_alone(tmp_path: Path) -> None:
    for name, text in SOURCES.items():
        (tmp_path / "code").mkdir(exist_ok=True)
        (tmp_path / "code" / name).write_text(text)
    functions = read(str(tmp_path / "code")).functions
    assert [function.docstring for function in functions] == [WORDS] * len(SOURCES)
    assert {hit.id for hit in found(tmp_path / "with", functions, WORDS)} == {function.id for function in functions}
    assert found(tmp_path / "without", without_docstrings(functions), WORDS) == []


def test_nor_does_the_docstring_of_a_stored_record_whose_code_field_contains_it(tmp_path: Path) -> None:
    code = SOURCES["a.py"]
    record = {
        "repo": "r",
        "path": "a.py",
        "func_name": "f",
        "language": "python",
        "original_string": code,
        "code": code,
    }
    (tmp_path / "records.jsonl").write_text(json.dumps(record | {"docstring": WORDS}))
    functions = read(str(tmp_path / "records.jsonl")).functions
    assert functions[0].docstring == WORDS
    assert found(tmp_path / "without", without_docstrings(functions), WORDS) == []


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="CodeSearchNet's data is not in ../shared")
def test_no_stored_function_keeps_its_docstring_in_its_code() -> None:
    (shard,) = SHARED.glob("python/final/jsonl/test/*.jsonl.gz")
    with_docstring = [function for function in read(f"codesearchnet:{shard}").functions if function.docstring]
    assert len(with_docstring) > 5_000
    # One line may well stand in the code too (`"""Close."""` above `self.close()`); whole paragraphs do not.
    long = [function for function in with_docstring if len(function.docstring) > 80]
    assert not [function.url for function in long if function.docstring in function.code]
