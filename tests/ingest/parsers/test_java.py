"""Java: methods and constructors with a body, Javadoc, and who extends and implements whom."""

from __future__ import annotations

from tests.ingest.parsers.parsing import see

SOURCE = """
    import java.util.List;
    import static org.junit.Assert.*;

    public class Queue<T> extends Base implements Sized, Closeable {
        /**
         * Makes an empty one.
         */
        public Queue() { super(1); }

        /**
         * Adds one.
         *
         * @param item what to add
         */
        @Override
        public void add(T item) throws Full {
            items.stream().forEach(x -> check(x));
            Runnable later = new Runnable() { public void run() { flush(); } };
        }

        abstract int size();

        static class Node { int value() { return new Node().value(); } }
    }
    interface Sized extends Countable { int size(); default boolean empty() { return size() == 0; } }
"""


def test_methods_with_a_body_are_found_under_their_class() -> None:
    assert see(".java", SOURCE).names == ["Queue.Queue", "Queue.add", "Queue.Node.value", "Sized.empty"]


def test_the_range_begins_with_the_annotation_and_the_javadoc_is_the_docstring() -> None:
    add = see(".java", SOURCE).functions["Queue.add"]
    assert add.address.lines == (15, 19)
    assert add.docstring == "Adds one.\n\n@param item what to add"
    assert "Adds one" not in add.code


def test_blanks_behind_a_comment_do_not_part_it_from_its_method_and_an_empty_line_does() -> None:
    for behind, docstring in ((" ", "Adds."), ("\t\r", "Adds."), ("\n", ""), (" \n  ", "")):
        seen = see(".java", f"class A {{\n  /** Adds. */{behind}\n  void add() {{ }}\n}}\n")
        assert seen.functions["A.add"].docstring == docstring


def test_what_is_extended_implemented_called_and_imported() -> None:
    seen = see(".java", SOURCE)
    assert seen.targets("extends") == ["Base", "Countable"]
    assert seen.targets("implements") == ["Sized", "Closeable"]
    assert seen.targets("calls", "Queue.add") == [
        "items.stream().forEach",
        "items.stream",
        "check",
        "Runnable",
        "flush",
    ]
    assert seen.imports == [("java.util", "List", "List"), ("org.junit.Assert", "*", "")]
    assert ("Queue", "class") in seen.symbols
    assert ("Sized", "interface") in seen.symbols
    assert ("Sized.size", "function") in seen.symbols
