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
    "a C# class is whole although an expression in it has an #if": (
        "Converter.cs",
        """
        namespace Text
        {
            static class Converter
            {
                static object Convert(Type type)
                {
                    Func<Type> inner = () =>
        #if !SKIP_OPTIONS
                        isOption
                            ? Options.Inner(type) :
        #endif
                            Nullable.Inner(type);
        #if FAST
                    Func<object> empty = () => isOption ? Options.None(type) : null;
        #else
                    Func<object> empty = () => null;
        #endif
                    return inner() ?? empty();
                }

                static bool IsOption(Type type) { return type != null; }
            }
        }
        """,
        [
            ("class", "Converter", ""),
            ("method", "Converter.Convert", ""),
            ("method", "Converter.IsOption", ""),
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
    "TypeScript's overloads share the first one's doc, and declared functions are functions": (
        "store.d.ts",
        """
        /** Finds by id. */
        export function find(id: string): Item;
        export function find(id: number): Item;
        export function find(id: any): Item { return load(id); }
        /** Adds. */
        declare function add(a: number): number;
        export declare const VERSION: string;
        """,
        [("function", "find", "Finds by id."), ("function", "add", "Adds."), ("constant", "VERSION", "")],
    ),
    "Ruby's structs are classes, and blocks of tests, routes and tasks are functions": (
        "store.rb",
        """
        # A point.
        Point = Struct.new(:x) do
          # Its length.
          def length; x; end
        end
        class Store
          # Shouts.
          define_method(:shout) { |x| x.upcase }
        end
        RSpec.describe Store do
          it "adds an item" do
            expect(add(1)).to eq 1
          end
        end
        get "/items" do
          "items"
        end
        desc "Migrates it"
        task migrate: :environment do
          run
        end
        """,
        [
            ("class", "Point", "A point."),
            ("method", "Point.length", "Its length."),
            ("class", "Store", ""),
            ("method", "Store.shout", "Shouts."),
            ("method", "describe(Store).it(adds an item)", ""),
            ("function", "get(/items)", ""),
            ("function", "task(migrate)", "Migrates it"),
        ],
    ),
    "members of a C# extension block belong to the class around it": (
        "Extensions.cs",
        """
        public static class Extensions
        {
            extension(string text)
            {
                /// <summary>Shouts.</summary>
                public string Shout() => text.ToUpper();
            }
            public static int After() => 1;
        }
        """,
        [
            ("class", "Extensions", ""),
            ("method", "Extensions.Shout", "Shouts."),
            ("method", "Extensions.After", ""),
        ],
    ),
    "PHP's tests and routes that are closures are functions": (
        "routes.php",
        """
        <?php
        it('adds numbers', function () { expect(add(1))->toBe(1); });
        // All users.
        $app->get('/users', function ($request, $response) { return $response; });
        """,
        [("function", "it(adds numbers)", ""), ("function", "get(/users)", "All users.")],
    ),
    "Emacs Lisp documents values behind them, and modes are functions": (
        "store.el",
        """
        (defcustom store-limit 3
          "How many items."
          :type 'integer)
        (defconst store-version "1.0")
        ;;;###autoload
        (cl-defun store-remove (item &key (n 1))
          "Remove ITEM."
          (message "x"))
        (define-minor-mode store-mode "Toggle it." :lighter " S")
        (ert-deftest store-adds () (should t))
        """,
        [
            ("constant", "store-limit", "How many items."),
            ("constant", "store-version", ""),
            ("function", "store-remove", "Remove ITEM."),
            ("function", "store-mode", "Toggle it."),
            ("function", "store-adds", ""),
        ],
    ),
    "Common Lisp documents with a string or with :documentation": (
        "store.lisp",
        """
        (defvar *items* nil "The items.")
        (defun add (item &key (n 1))
          "Adds ITEM."
          (push item *items*))
        (defclass store (base)
          ((name :initarg :name))
          (:documentation "A store."))
        (deftest adds (is (= 1 1)))
        """,
        [
            ("constant", "*items*", "The items."),
            ("function", "add", "Adds ITEM."),
            ("class", "store", "A store."),
            ("function", "adds", ""),
        ],
    ),
    "Clojure's metadata documents, and any top-level def is a definition": (
        "store.clj",
        """
        (def ^:private limit "How many." 3)
        (defn ^{:doc "Adds."} add [x] x)
        (defstate conn :start (connect))
        (extend-type String Closing (close [s] s))
        """,
        [
            ("constant", "limit", "How many."),
            ("function", "add", "Adds."),
            ("function", "conn", ""),
            ("class", "String", ""),
        ],
    ),
    "Scheme's variables are constants": (
        "store.scm",
        """
        ;; How many.
        (define limit 3)
        (define (add x)
          "Adds."
          (+ x 1))
        (define twice (lambda (x) (* 2 x)))
        """,
        [("constant", "limit", "How many."), ("function", "add", "Adds."), ("function", "twice", "")],
    ),
    "Erlang's and Elixir's functions of another arity are other functions": (
        "store.erl",
        """
        %%---------------------
        %% @doc Adds one.
        %% @end
        %%---------------------
        add(X) -> add(X, 1).

        -doc "Adds several.".
        add(X, 0) -> X;
        add(X, N) -> X + N.
        """,
        [("function", "add", "Adds one."), ("function", "add", "Adds several.")],
    ),
    "Elixir's operators have names, and a second doc attribute hides nothing": (
        "store.ex",
        """
        defmodule Store do
          @doc "Starts it."
          @doc since: "1.0"
          def start(x), do: x
          def a + b, do: a
          property "always", do: true
        end
        """,
        [
            ("class", "Store", ""),
            ("method", "Store.start", "Starts it."),
            ("method", "Store.+", ""),
            ("method", "Store.property always", ""),
        ],
    ),
    "F#'s types and functions after `and` stand for themselves": (
        "Store.fs",
        """
        module Store
        type Tree =
            | Leaf
        and Forest() =
            member _.Go() = 1
        [<Literal>]
        let Limit = 3
        let rec even n = n = 0
        and odd n = n <> 0
        let ``adds one item`` () = 1
        """,
        [
            ("enum", "Tree", ""),
            ("class", "Forest", ""),
            ("method", "Forest.Go", ""),
            ("constant", "Limit", ""),
            ("function", "even", ""),
            ("function", "odd", ""),
            ("function", "adds one item", ""),
        ],
    ),
    "Nim documents inside and behind what it defines": (
        "store.nim",
        """
        const
          Limit* = 3  ## How many.
        type
          Point* = object ## A point.
            x*: int
        proc add*(a: int): int =
          ## Adds
          ## one.
          a + 1
        test "adds":
          check add(1) == 2
        """,
        [
            ("constant", "Limit", "How many."),
            ("class", "Point", "A point."),
            ("function", "add", "Adds\none."),
            ("function", "test(adds)", ""),
        ],
    ),
    "D's aliases, constants and tests": (
        "store.d",
        """
        enum limit = 3;
        alias Items = int[];
        unittest { assert(add(1) == 2); }
        """,
        [("constant", "limit", ""), ("type", "Items", ""), ("function", "tests.unittest", "")],
    ),
    "Solidity's receive and fallback": (
        "Store.sol",
        """
        contract Store { receive() external payable { emit Got(); } fallback() external { } }
        uint constant LIMIT = 3;
        """,
        [
            ("class", "Store", ""),
            ("method", "Store.receive", ""),
            ("method", "Store.fallback", ""),
            ("constant", "LIMIT", ""),
        ],
    ),
    "tests of R and Julia are named by what they say": (
        "test-store.R",
        """
        test_that("adding works", {
          expect_equal(add(1), 2)
        })
        """,
        [("function", "test_that(adding works)", "")],
    ),
    "Julia's operators and test sets": (
        "store.jl",
        """
        function ⊕(a, b) a end
        a ⊗ b = a * b
        @testset "adds" begin
            @test add(1) == 2
        end
        """,
        [("function", "⊕", ""), ("function", "⊗", ""), ("function", "testset(adds)", "")],
    ),
    "PowerShell's help is in the body, and Pester's tests have names": (
        "Store.ps1",
        """
        function Get-Store {
            <#
            .SYNOPSIS
                Gets a store.
            .PARAMETER Name
                The name.
            #>
            param([string]$Name)
        }
        Describe 'Get-Store' {
            It 'gets one' { Get-Store }
        }
        """,
        [
            ("function", "Get-Store", "Gets a store.\nName\nThe name."),
            ("method", "Describe(Get-Store).It(gets one)", ""),
        ],
    ),
    "Bats' tests are functions": (
        "store.bats",
        """
        @test "adds one" {
          run add 1
        }
        """,
        [("function", "adds_one", "")],
    ),
    "Perl's packages own their functions, and POD documents them": (
        "Store.pm",
        """
        package Shop::Store;

        =head1 NAME

        Shop::Store - keeps items

        =head2 add

        Adds an item.

            sub example { 1 }

        =cut

        sub add {
            my ($self) = @_;
        }
        sub forward;
        package Shop::Other { sub close { 1 } }
        """,
        [
            ("class", "Shop::Store", "Shop::Store - keeps items"),
            ("method", "Shop::Store.add", "Adds an item.\n\n    sub example { 1 }"),
            ("class", "Shop::Other", ""),
        ],
    ),
    "Spock's quoted methods, constructors and tasks": (
        "StoreSpec.groovy",
        """
        /** Keeps items. */
        @CompileStatic
        class Store {
            Store(String name) { this.name = name }
            def "adds an item"() {
                expect: true
            }
            int[] all(Map options = [:]) { [1] }
        }
        tasks.register('deploy') {
            group = 'x'
        }
        """,
        [
            ("class", "Store", "Keeps items."),
            ("method", "Store.Store", ""),
            ("method", "Store.adds an item", ""),
            ("method", "Store.all", ""),
            ("function", "register(deploy)", ""),
        ],
    ),
    "a query of sqlc has its name": (
        "query.sql",
        "-- name: GetUser :one\nSELECT * FROM users;\n" + "-- filler\n" * 30 + "CREATE TABLE users (id INT);\n",
        [("config", "GetUser", ""), ("config", "users", "")],
    ),
    "inline tests and operators of OCaml": (
        "store.ml",
        """
        let%test "adds" = add 1 = 2
        let _ = start ()
        """,
        [("function", "test(adds)", "")],
    ),
    "tests of Scala and Lua are named by what they say": (
        "StoreSpec.scala",
        """
        class StoreSpec {
          test("adds") { assert(true) }
          "A store" should "open" in {
            assert(true)
          }
        }
        """,
        [
            ("class", "StoreSpec", ""),
            ("method", "StoreSpec.test(adds)", ""),
            ("method", "StoreSpec.test(A store open)", ""),
        ],
    ),
    "Busted's tests": (
        "store_spec.lua",
        """
        describe("store", function()
          it("adds", function()
            assert(add(1))
          end)
        end)
        """,
        [("method", "describe(store).it(adds)", "")],
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


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("a.js", "const a = require();"),
        ("a.go", "package a\nfunc f() { x := new() }"),
        ("a.rb", "require()\nload()"),
        ("a.php", "<?php define();"),
        ("a.scm", "(define)(define x)()"),
        ("a.clj", "(ns)(defn)()"),
        ("a.el", "(cl-defun)(defvar)"),
        ("a.lisp", "(defun)(defclass)"),
    ],
)
def test_a_call_without_the_expected_arguments_is_no_fault(file: str, source: str) -> None:
    assert all(unit.kind != "function" or unit.func_name for unit in units(file, source))
