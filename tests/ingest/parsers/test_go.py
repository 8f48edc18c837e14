"""Go: functions, methods under their receiver's type, comments, embedding."""

from __future__ import annotations

from tests.ingest.parsers.parsing import see

SOURCE = """
    package queue

    import (
        "fmt"
        str "strings"
    )

    type Queue[T any] struct {
        Base
        items []T
    }

    type Reader interface { Closer; Read() }

    // Push adds an item
    // at the end.
    func (q *Queue[T]) Push(item T) error {
        fmt.Println(str.ToUpper("x"), handler)
        return q.grow()
    }

    var x = 1 // trailing
    func New() *Queue { return &Queue{} }

    func external(a int) int
"""


def test_functions_with_a_body_are_found_and_methods_stand_under_the_receivers_type() -> None:
    assert see(".go", SOURCE).names == ["Queue.Push", "New"]


def test_the_comment_above_is_the_docstring_and_a_trailing_one_is_not() -> None:
    seen = see(".go", SOURCE)
    assert seen.functions["Queue.Push"].docstring == "Push adds an item\nat the end."
    assert seen.functions["Queue.Push"].address.lines == (17, 20)
    assert seen.functions["New"].docstring == ""


def test_embedding_calls_uses_and_imports() -> None:
    seen = see(".go", SOURCE)
    assert seen.targets("extends") == ["Base", "Closer"]
    assert seen.targets("calls", "Queue.Push") == ["fmt.Println", "str.ToUpper", "self.grow"]
    assert "handler" in seen.targets("uses", "Queue.Push")
    assert ("Reader.Read", "function") in seen.symbols
    assert ("Queue", "class") in seen.symbols
    assert seen.imports == [("fmt", "", "fmt"), ("strings", "", "str")]
