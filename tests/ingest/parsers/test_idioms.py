"""What people write in each language beyond its plain definitions: macros that make functions, blocks that are tests,
documentation in other places. Each sample names the units that must be there, with their docstrings."""

from __future__ import annotations

from textwrap import dedent

import pytest

from treeline.corpus.function import Function
from treeline.ingest.parsers.registry import grammar_of
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import MAX_FUNCTION_BYTES

# What it shows → file, sample, and kind, name and docstring of the units that must be there, in order.
IDIOMS: dict[str, tuple[str, str, list[tuple[str, str, str]]]] = {
    "tests of googletest, Catch and Boost are named by the macro's arguments": (
        "store_test.cc",
        """
        namespace {
        // Opening twice fails.
        TEST(StoreTest, OpensOnce) { EXPECT_EQ(1, open()); }
        TEST_F(StoreFixture,
               Closes) {
          close();
        }
        }  // namespace
        TEST_CASE("it can be resized", "[store]") { resize(); }
        BOOST_AUTO_TEST_CASE(adds_one) { add(); }
        """,
        [
            ("function", "StoreTest.OpensOnce", "Opening twice fails."),
            ("function", "StoreFixture.Closes", ""),
            ("function", "it_can_be_resized", ""),
            ("function", "adds_one", ""),
        ],
    ),
    "functions that C's macros make are named by their arguments": (
        "open.c",
        """
        /* Opens a file. */
        SYSCALL_DEFINE3(open, const char __user *, filename, int, flags, umode_t, mode)
        {
            return do_open(filename, flags);
        }
        PHP_FUNCTION(array_merge)
        {
            merge();
        }
        static int __init store_init(void)
        {
            return 0;
        }
        """,
        [("function", "open", "Opens a file."), ("function", "array_merge", ""), ("function", "store_init", "")],
    ),
    "a conditional that opens a bracket in both branches hides nothing": (
        "store.c",
        """
        int open(int flags) {
        #ifdef WIDE
            if (flags > 1) {
        #else
            if (flags) {
        #endif
                go();
            }
            return 1;
        }
        int close(void) { return 0; }
        """,
        [("function", "open", ""), ("function", "close", "")],
    ),
    "macros behind parameters and fields are no names": (
        "store.h",
        """
        class Store {
         public:
          iterator begin() LIB_LIFETIME_BOUND { return first_; }
          void close() LOCKS_EXCLUDED(mutex_) { done(); }
         private:
          int size_ GUARDED_BY(mutex_);
        };
        """,
        [("class", "Store", ""), ("method", "Store.begin", ""), ("method", "Store.close", "")],
    ),
    "a fault ends with the definition it is in": (
        "store.go",
        """
        package store

        func first() int {
            if x {
                return 1
        }

        // Second is whole.
        func Second() int {
            return 2
        }

        type Store struct {
            size int
        }
        """,
        [("function", "Second", "Second is whole."), ("class", "Store", "")],
    ),
}


def units(file: str, source: str) -> list[Function]:
    text = dedent(source).lstrip("\n").encode()
    grammar = grammar_of(file, text)
    assert grammar is not None
    found = parse_file(grammar, text, FileLocation("o/n", file, "", "https://x"), file, MAX_FUNCTION_BYTES)
    return [unit for unit in found.functions if unit.kind != "file"]


@pytest.mark.parametrize("idiom", IDIOMS)
def test_idiom(idiom: str) -> None:
    file, source, expected = IDIOMS[idiom]
    wanted = {(kind, name) for kind, name, _ in expected}
    found = [(unit.kind, unit.func_name, unit.docstring) for unit in units(file, source)]
    assert [one for one in found if one[:2] in wanted] == expected, found
