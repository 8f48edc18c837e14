"""Every language beyond the seven in depth: what is found in a small sample, with kind, name and docstring."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.ingest.parsers.parsing import see
from treeline.corpus.function import Function
from treeline.ingest.parsers.outline import outline
from treeline.ingest.parsers.registry import grammar_of, grammars, language_of
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import MAX_FUNCTION_BYTES

IN_DEPTH = {"python", "java", "go", "javascript", "typescript", "php", "ruby"}
# File, sample, units (kind and name) in order without the file's own, and the docstring of one of them.
SAMPLES: dict[str, tuple[str, str, list[tuple[str, str]], tuple[str, str]]] = {
    **{
        name: (
            f"Page.{name}",
            """
            <template><p>{{ total }}</p></template>
            <script lang="ts">
            const limit: number = 3;
            // Adds one.
            export function add(item: number) { return next(item); }
            </script>
            """,
            [("constant", "limit"), ("function", "add")],
            ("add", "Adds one."),
        )
        for name in ("vue", "svelte", "astro")
    },
    "rust": (
        "queue.rs",
        """
        //! Queues.
        use std::fmt;

        const LIMIT: usize = 10;

        /// A queue of jobs.
        #[derive(Debug)]
        pub struct Queue<T> { jobs: Vec<T> }

        impl<T> Queue<T> {
            /// Adds a job.
            pub fn push(&mut self, job: T) { self.jobs.push(job); }
        }

        impl<T> fmt::Display for Queue<T> {
            type Ignored = u8;
            fn fmt(&self) -> fmt::Result { write!("queue") }
        }

        pub trait Run { fn run(&self); }
        enum State { Idle, Busy }
        type Jobs = Vec<u8>;
        macro_rules! job { () => {} }

        #[cfg(test)]
        mod tests { fn pushes() {} }
        """,
        [
            ("constant", "LIMIT"),
            ("class", "Queue"),
            ("method", "Queue.push"),
            ("class", "fmt::Display for Queue"),
            ("method", "Queue.fmt"),
            ("interface", "Run"),
            ("enum", "State"),
            ("type", "Jobs"),
            ("function", "job"),
            ("method", "tests.pushes"),
        ],
        ("Queue.push", "Adds a job."),
    ),
    "c": (
        "list.c",
        """
        #include "list.h"
        #define MAX 10
        #define SQUARE(x) ((x) * (x))

        struct node { int value; struct node *next; };
        typedef struct { int size; } list_t;
        typedef int (*compare_t)(int, int);
        enum color { RED, GREEN };
        static const char *names[] = { "a" };

        /* Adds a value. */
        static WINAPI_EXPORT int *list_add(list_t *list, int value) { return grow(list); }
        """,
        [
            ("constant", "MAX"),
            ("function", "SQUARE"),
            ("class", "node"),
            ("class", "list_t"),
            ("type", "compare_t"),
            ("enum", "color"),
            ("constant", "names"),
            ("function", "list_add"),
        ],
        ("list_add", "Adds a value."),
    ),
    "cpp": (
        "shape.cpp",
        """
        LIB_BEGIN_NAMESPACE
        namespace geo {
        /// A shape.
        template <typename T>
        class Shape : public Base {
         public:
          explicit Shape(T size) : size_(size) {}
          ~Shape() {}
          bool operator==(const Shape& other) const { return true; }
          virtual T area() const;
         private:
          T size_;
        };
        using Sizes = std::vector<int>;
        enum class Kind { circle };
        }  // namespace geo

        /// The area.
        int Shape::area() const { return geo::square(size_); }
        """,
        [
            ("class", "Shape"),
            ("method", "Shape.Shape"),
            ("method", "Shape.~Shape"),
            ("method", "Shape.operator=="),
            ("type", "Sizes"),
            ("enum", "Kind"),
            ("function", "Shape.area"),
        ],
        ("Shape", "A shape."),
    ),
    "objc": (
        "Store.m",
        """
        @interface Store : NSObject
        - (int)open:(NSString *)name with:(int)flags;
        @end
        @implementation Store
        // Opens it.
        - (int)open:(NSString *)name with:(int)flags { return [self find:name]; }
        @end
        @protocol Closing
        - (void)close;
        @end
        """,
        [("class", "Store"), ("class", "Store"), ("method", "Store.open:with:"), ("interface", "Closing")],
        ("Store.open:with:", "Opens it."),
    ),
    "swift": (
        "Client.swift",
        """
        import Foundation
        let limit = 3
        /// Talks to a server.
        public final class Client: Base, @unchecked Sendable {
            static let shared = Client()
            init(host: String) { self.host = host }
            /// Sends it.
            func send(_ data: Data) -> Bool { return write(data) }
            var isOpen: Bool { return true }
        }
        enum State { case open, closed }
        protocol Sending { func send() }
        extension Client: Codable { func encode() {} }
        typealias Handler = (Int) -> Void
        func main() {}
        """,
        [
            ("constant", "limit"),
            ("class", "Client"),
            ("constant", "Client.shared"),
            ("method", "Client.init"),
            ("method", "Client.send"),
            ("method", "Client.isOpen"),
            ("enum", "State"),
            ("interface", "Sending"),
            ("class", "Codable for Client"),
            ("method", "Client.encode"),
            ("type", "Handler"),
            ("function", "main"),
        ],
        ("Client.send", "Sends it."),
    ),
    "zig": (
        "point.zig",
        """
        const std = @import("std");
        const limit = 3;
        /// A point.
        pub const Point = struct {
            x: i32,
            /// Its length.
            pub fn length(self: Point) i32 { return root(self.x); }
        };
        pub fn add(a: i32, b: i32) i32 { return a + b; }
        test "adds" {}
        """,
        [
            ("constant", "limit"),
            ("class", "Point"),
            ("method", "Point.length"),
            ("function", "add"),
            ("function", "tests.adds"),
        ],
        ("Point.length", "Its length."),
    ),
    "nim": (
        "point.nim",
        """
        const limit = 3
        type
          Point* = object
            x: int
          Color = enum red, green
        # Adds.
        proc add*(a, b: int): int =
          a + b
        template twice(x) = x
        """,
        [
            ("constant", "limit"),
            ("class", "Point"),
            ("enum", "Color"),
            ("function", "add"),
            ("function", "twice"),
        ],
        ("add", "Adds."),
    ),
    "d": (
        "point.d",
        """
        module point;
        /// A point.
        struct Point { int x; int length() { return x; } }
        interface Shape { int area(); }
        enum Color { red }
        int add(int a, int b) { return a + b; }
        """,
        [
            ("class", "Point"),
            ("method", "Point.length"),
            ("interface", "Shape"),
            ("method", "Shape.area"),
            ("enum", "Color"),
            ("function", "add"),
        ],
        ("Point", "A point."),
    ),
    "odin": (
        "point.odin",
        """
        package point
        LIMIT :: 3
        Point :: struct { x: int }
        // Adds.
        add :: proc(a, b: int) -> int { return a + b }
        """,
        [("constant", "LIMIT"), ("class", "Point"), ("function", "add")],
        ("add", "Adds."),
    ),
    "fortran": (
        "solve.f90",
        """
        module solvers
        contains
        ! Solves it.
        subroutine solve(a)
          real :: a
        end subroutine solve
        end module solvers
        """,
        [("method", "solvers.solve")],
        ("solvers.solve", "Solves it."),
    ),
    "pascal": (
        "point.pas",
        """
        unit Point;
        interface
        const Limit = 3;
        implementation
        // Adds.
        function Add(a, b: Integer): Integer;
        begin
          Add := a + b;
        end;
        end.
        """,
        [("constant", "Limit"), ("function", "Add")],
        ("Add", "Adds."),
    ),
    "ada": (
        "point.adb",
        """
        package body Point is
           -- Adds.
           procedure Add (A : Integer) is
           begin
              null;
           end Add;
        end Point;
        """,
        [("method", "Point.Add")],
        ("Point.Add", "Adds."),
    ),
    "csharp": (
        "Store.cs",
        """
        using System;
        namespace Shop;
        /// <summary>Keeps <see cref="Item"/> records.</summary>
        [Serializable]
        public class Store<T> : Base, IStore
        {
            public const int Limit = 3;
            private int count;
            public Store(int count) { this.count = count; }
            /// <summary>Adds one.</summary>
            public T Add<U>(U item) => Save(item);
            public int Size { get { return count; } }
        }
        public interface IStore { void Close(); }
        public record Item(int Id);
        public enum State { Open }
        public delegate void Changed(int id);
        """,
        [
            ("class", "Store"),
            ("constant", "Store.Limit"),
            ("method", "Store.Store"),
            ("method", "Store.Add"),
            ("method", "Store.Size"),
            ("interface", "IStore"),
            ("class", "Item"),
            ("enum", "State"),
            ("type", "Changed"),
        ],
        ("Store", "Keeps Item records."),
    ),
    "kotlin": (
        "Store.kt",
        """
        package shop
        import java.io.File
        const val LIMIT = 3
        /** Keeps items. */
        data class Store(val count: Int) : Base(count), Closing {
            companion object { fun make() = Store(1) }
            /** Adds one. */
            fun add(item: Int): Int { return save(item) }
        }
        interface Closing { fun close() }
        enum class State { OPEN }
        object Registry { fun find() = 1 }
        fun String.title() = uppercase()
        typealias Items = List<Int>
        """,
        [
            ("constant", "LIMIT"),
            ("class", "Store"),
            ("method", "Store.make"),
            ("method", "Store.add"),
            ("interface", "Closing"),
            ("method", "Closing.close"),
            ("enum", "State"),
            ("class", "Registry"),
            ("method", "Registry.find"),
            ("method", "String.title"),
            ("type", "Items"),
        ],
        ("Store.add", "Adds one."),
    ),
    "scala": (
        "Store.scala",
        """
        package shop
        import java.io.{File, Reader => R}
        /** Keeps items. */
        case class Store(count: Int) extends Base with Closing {
          /** Adds one. */
          def add(item: Int): Int = { save(item) }
        }
        trait Closing { def close: Unit }
        object Registry { val limit = 3 }
        """,
        [
            ("class", "Store"),
            ("method", "Store.add"),
            ("interface", "Closing"),
            ("class", "Registry"),
            ("constant", "Registry.limit"),
        ],
        ("Store.add", "Adds one."),
    ),
    "dart": (
        "store.dart",
        """
        import 'io.dart';
        const limit = 3;
        /// Keeps items.
        class Store extends Base {
          /// Adds one.
          int add(int item) { return save(item); }
        }
        mixin Closing { void close() {} }
        enum State { open }
        typedef Handler = int Function(int);
        int twice(int a) => a * 2;
        """,
        [
            ("constant", "limit"),
            ("class", "Store"),
            ("method", "Store.add"),
            ("class", "Closing"),
            ("method", "Closing.close"),
            ("enum", "State"),
            ("type", "Handler"),
            ("function", "twice"),
        ],
        ("Store.add", "Adds one."),
    ),
    "elixir": (
        "store.ex",
        '''
        defmodule Shop.Store do
          @moduledoc "Keeps items."
          @limit 3
          @type t :: integer

          @doc """
          Adds one.
          """
          @spec add(t, t) :: t
          def add(store, item) when item > 0 do
            save(store, item)
          end

          def add(store, _), do: store
          defp save(a, b), do: Enum.map(a, b)
        end

        defprotocol Closing do
          def close(x)
        end

        defimpl Closing, for: Integer do
          def close(x), do: x
        end
        ''',
        [
            ("class", "Shop.Store"),
            ("constant", "Shop.Store.limit"),
            ("type", "Shop.Store.t"),
            ("method", "Shop.Store.add"),
            ("method", "Shop.Store.save"),
            ("interface", "Closing"),
            ("method", "Closing.close"),
            ("class", "Closing for Integer"),
            ("method", "Integer.close"),
        ],
        ("Shop.Store.add", "Adds one."),
    ),
    "haskell": (
        "Store.hs",
        """
        module Store where
        import qualified Data.Map as M

        -- | Adds one.
        add :: Int -> Int
        add 0 = 1
        add x = next x
          where next = succ

        data Store a = Store { count :: Int } | Empty
        newtype Id = Id Int
        type Items = [Int]
        class Closing a where
          close :: a -> Int
        instance Closing Int where
          close x = x
        """,
        [
            ("function", "add"),
            ("class", "Store"),
            ("class", "Id"),
            ("type", "Items"),
            ("interface", "Closing"),
            ("method", "Closing.close"),
            ("class", "Closing for Int"),
            ("method", "Int.close"),
        ],
        ("add", "Adds one."),
    ),
    "ocaml": (
        "store.ml",
        """
        open List
        (** Adds one. *)
        let add x y = next x
        type t = A | B of int
        module Inner = struct let twice x = x + x end
        module type S = sig val x : int end
        exception Closed of string
        """,
        [
            ("function", "add"),
            ("type", "t"),
            ("class", "Inner"),
            ("method", "Inner.twice"),
            ("interface", "S"),
            ("type", "Closed"),
        ],
        ("add", "Adds one."),
    ),
    "fsharp": (
        "Store.fs",
        """
        module Shop.Store
        open System
        /// Adds one.
        let add x y = next x
        type Item = { Id: int }
        type State = Open | Closed of int
        type Store(count: int) =
            member this.Size x = count
        """,
        [
            ("function", "add"),
            ("class", "Item"),
            ("enum", "State"),
            ("class", "Store"),
            ("method", "Store.Size"),
        ],
        ("add", "Adds one."),
    ),
    "erlang": (
        "store.erl",
        """
        -module(store).
        -record(item, {id, name}).
        -define(LIMIT, 3).
        -type t() :: integer().

        %% Adds one.
        -spec add(integer()) -> integer().
        add(X) when X > 1 -> next(X);
        add(_) -> other:call(1).
        """,
        [("class", "item"), ("constant", "LIMIT"), ("type", "t"), ("function", "add")],
        ("add", "Adds one."),
    ),
    "clojure": (
        "store.clj",
        """
        (ns shop.store)
        (def limit 3)
        (defn add "Adds one." [x] (next x))
        (defprotocol Closing (close [this]))
        (defrecord Store [count])
        (defmulti area :shape)
        (defmethod area :circle [x] x)
        """,
        [
            ("constant", "limit"),
            ("function", "add"),
            ("interface", "Closing"),
            ("class", "Store"),
            ("function", "area"),
            ("function", "area :circle"),
        ],
        ("add", "Adds one."),
    ),
    "elisp": (
        "store.el",
        """
        (defvar store-limit 3 "How many.")
        (defun store-add (item) "Adds one." (next item))
        (defcustom store-path nil "Where.")
        """,
        [("constant", "store-limit"), ("function", "store-add"), ("constant", "store-path")],
        ("store-add", "Adds one."),
    ),
    "commonlisp": (
        "store.lisp",
        """
        (defparameter *limit* 3)
        (defun add (item) "Adds one." (next item))
        (defclass store () ((count)))
        """,
        [("constant", "*limit*"), ("function", "add"), ("class", "store")],
        ("add", "Adds one."),
    ),
    "scheme": (
        "store.scm",
        """
        ;; Adds one.
        (define (add item) (next item))
        (define-record-type point (make x) point?)
        """,
        [("function", "add"), ("class", "point")],
        ("add", "Adds one."),
    ),
    "racket": (
        "store.rkt",
        """
        #lang racket
        ;; Adds one.
        (define (add item) (next item))
        (struct point (x y))
        """,
        [("function", "add"), ("class", "point")],
        ("add", "Adds one."),
    ),
    "lua": (
        "store.lua",
        """
        local M = {}
        M.limit = 3
        --- Adds one.
        function M.add(item) return next(item) end
        function M:close() end
        local function helper() end
        M.twice = function(x) return x * 2 end
        return M
        """,
        [
            ("constant", "M"),
            ("constant", "M.limit"),
            ("function", "M.add"),
            ("function", "M.close"),
            ("function", "helper"),
            ("function", "M.twice"),
        ],
        ("M.add", "Adds one."),
    ),
    "bash": (
        "store.sh",
        """
        #!/bin/bash
        LIMIT=3
        export PLACE=here
        # Adds one.
        add() { next "$1"; }
        function close { echo done; }
        """,
        [("constant", "LIMIT"), ("constant", "PLACE"), ("function", "add"), ("function", "close")],
        ("add", "Adds one."),
    ),
    "r": (
        "store.R",
        """
        limit <- 3
        #' Adds one.
        add <- function(x, y = 1) { next_one(x) }
        setClass("Store", representation(count = "numeric"))
        """,
        [("constant", "limit"), ("function", "add"), ("class", "Store")],
        ("add", "Adds one."),
    ),
    "julia": (
        "store.jl",
        '''
        module Store
        const LIMIT = 3
        """
        Adds one.
        """
        function add(x::Int)
            next(x)
        end
        twice(x) = 2x
        struct Item{T} <: Base
            id::T
        end
        end
        ''',
        [("constant", "LIMIT"), ("function", "add"), ("function", "twice"), ("class", "Item")],
        ("add", "Adds one."),
    ),
    "powershell": (
        "Store.ps1",
        """
        # Adds one.
        function Add-Item {
            param($x)
            Get-Next $x
        }
        class Store { [int]$Count; [int] Size([int]$x) { return 1 } }
        enum State { Open; Closed }
        """,
        [("function", "Add-Item"), ("class", "Store"), ("method", "Store.Size"), ("enum", "State")],
        ("Add-Item", "Adds one."),
    ),
    "vim": (
        "store.vim",
        """
        let g:store_limit = 3
        " Adds one.
        function! s:Add(item) abort
          call Next(a:item)
        endfunction
        """,
        [("constant", "g:store_limit"), ("function", "s:Add")],
        ("s:Add", "Adds one."),
    ),
    "proto": (
        "store.proto",
        """
        syntax = "proto3";
        // An item.
        message Item { string id = 1; enum State { OPEN = 0; } }
        service Store { rpc Add (Item) returns (Item); }
        """,
        [("class", "Item"), ("enum", "Item.State"), ("class", "Store"), ("method", "Store.Add")],
        ("Item", "An item."),
    ),
    "graphql": (
        "store.graphql",
        '''
        """An item."""
        type Item implements Node { id(first: Int): String }
        interface Node { id: String }
        enum State { OPEN }
        union Any = Item | Node
        query Items { items }
        ''',
        [("class", "Item"), ("interface", "Node"), ("enum", "State"), ("type", "Any"), ("function", "Items")],
        ("Item", "An item."),
    ),
    "hcl": (
        "main.tf",
        """
        # The web server.
        resource "aws_instance" "web" { ami = "x" }
        variable "region" { default = "eu" }
        """,
        [("class", "resource.aws_instance.web"), ("class", "variable.region")],
        ("resource.aws_instance.web", "The web server."),
    ),
    "solidity": (
        "Store.sol",
        """
        pragma solidity ^0.8.0;
        /// Keeps items.
        contract Store is Base {
            uint public constant LIMIT = 3;
            event Added(uint id);
            constructor(uint count) {}
            /// Adds one.
            function add(uint item) public returns (uint) { return next(item); }
        }
        interface Closing { function close() external; }
        """,
        [
            ("class", "Store"),
            ("constant", "Store.LIMIT"),
            ("type", "Store.Added"),
            ("method", "Store.constructor"),
            ("method", "Store.add"),
            ("interface", "Closing"),
            ("method", "Closing.close"),
        ],
        ("Store.add", "Adds one."),
    ),
    "thrift": (
        "store.thrift",
        """
        // An item.
        struct Item { 1: string id }
        enum State { OPEN }
        service Store { Item add(1: Item item) }
        """,
        [("class", "Item"), ("enum", "State"), ("class", "Store")],
        ("Item", "An item."),
    ),
    "nix": (
        "store.nix",
        """
        {
          # Adds one.
          add = x: next x;
        }
        """,
        [("function", "add")],
        ("add", "Adds one."),
    ),
    "gleam": (
        "store.gleam",
        """
        pub const limit = 10
        pub type State { Open Closed }
        pub type Items = List(Int)
        /// Adds one.
        @deprecated("x")
        pub fn add(x: Int) -> Int { x + 1 }
        """,
        [("constant", "limit"), ("enum", "State"), ("type", "Items"), ("function", "add")],
        ("add", "Adds one."),
    ),
    "matlab": (
        "Point.m",
        """
        classdef Point < handle
            methods
                function move(obj, dx)
                    % Moves it.
                    obj.x = dx;
                end
            end
        end
        """,
        [("class", "Point"), ("method", "Point.move")],
        ("Point.move", "Moves it."),
    ),
    "tcl": (
        "store.tcl",
        """
        namespace eval ::store {
            # Adds one.
            proc add {x} { return $x }
            namespace export add
        }
        oo::class create Queue {
            method push {item} { return $item }
        }
        """,
        [("method", "store.add"), ("class", "Queue"), ("method", "Queue.push")],
        ("store.add", "Adds one."),
    ),
    "verilog": (
        "counter.sv",
        """
        `define WIDTH 8
        package types;
          typedef enum logic { IDLE, BUSY } state_t;
        endpackage
        // Counts up.
        module counter #(parameter N = 8) (input logic clk);
          function int next(int x);
            return x + 1;
          endfunction
        endmodule
        """,
        [
            ("constant", "WIDTH"),
            ("class", "types"),
            ("type", "types.state_t"),
            ("class", "counter"),
            ("constant", "counter.N"),
            ("method", "counter.next"),
        ],
        ("counter", "Counts up."),
    ),
    "vhdl": (
        "counter.vhd",
        """
        -- Counts up.
        entity counter is
          port (clk : in bit);
        end entity;
        architecture rtl of counter is
          type state_t is (idle, busy);
          function inc(a : integer) return integer is
          begin
            return a + 1;
          end function;
        begin
        end architecture;
        """,
        [("class", "counter"), ("class", "rtl of counter"), ("type", "counter.state_t"), ("method", "counter.inc")],
        ("counter", "Counts up."),
    ),
    "elm": (
        "Store.elm",
        """
        module Store exposing (..)
        type State = Open | Closed
        type alias Item = { id : Int }
        -- Adds one.
        add x = next x
        """,
        [("enum", "State"), ("type", "Item"), ("function", "add")],
        ("add", "Adds one."),
    ),
}


def units(file: str, source: str) -> list[Function]:
    text = dedent(source).lstrip("\n").encode()
    grammar = grammar_of(file, text)
    assert grammar is not None
    place = FileLocation("owner/name", f"src/{file}", "", "https://example.org/file")
    return list(parse_file(grammar, text, place, file, MAX_FUNCTION_BYTES).functions)


def test_every_language_has_a_sample() -> None:
    assert set(SAMPLES) | IN_DEPTH == set(grammars())


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_definitions_are_found_with_their_kinds_and_names(language: str) -> None:
    file, source, expected, _ = SAMPLES[language]
    found = units(file, source)
    assert {unit.language for unit in found} == {language}
    assert [(unit.kind, unit.func_name) for unit in found] == [*expected, ("file", file)]


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_the_text_of_a_definition_is_that_of_its_lines(language: str) -> None:
    file, source, _, _ = SAMPLES[language]
    lines = dedent(source).lstrip("\n").split("\n")
    for unit in units(file, source):
        if unit.kind in ("function", "method", "constant", "type"):
            assert unit.address.lines is not None
            first, last = unit.address.lines
            text = unit.original_string.strip().split("\n")
            assert len(text) == last - first + 1, unit.func_name
            assert all(part.strip() in line for part, line in zip(text, lines[first - 1 : last], strict=True))


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_the_comment_or_string_at_a_definition_is_its_docstring(language: str) -> None:
    file, source, _, (name, docstring) = SAMPLES[language]
    documented = [unit for unit in units(file, source) if unit.func_name == name and unit.docstring]
    assert [unit.docstring for unit in documented] == [docstring]


def test_lines_stay_what_they_are_where_a_macro_over_several_lines_is_blanked() -> None:
    source = b"""int f(const char* text, int x) __attribute__((format(printf,
  1, 2))) ;
static DWORD WINAPI run(void* data) { return 0; }

int after(void) { return 1; }
"""
    found = outline(grammars()["cpp"], source)
    assert ("after", 5) in {(one.name, one.first_line) for one in found.definitions}


# File, sample, and its units besides the file: their kinds and names.
FOUND: dict[str, tuple[str, str, set[tuple[str, str]]]] = {
    "what Lua requires is no constant, what it calls is": (
        "a.lua",
        'local json = require("json")\nlocal server = start()\nLIMIT = 3\n',
        {("constant", "server"), ("constant", "LIMIT")},
    ),
    "every name of let and type in OCaml": (
        "a.ml",
        "let rec even n = odd n\nand odd n = even n\ntype a = A\nand b = B\nlet limit = 10\nlet ( let* ) x f = f x\n",
        {("function", "even"), ("function", "odd"), ("type", "a"), ("type", "b"), ("constant", "limit")}
        | {("function", "let*")},
    ),
    "modules that refer to each other in OCaml": (
        "a.ml",
        "module rec A : S = struct let f x = x end\nand B : S = struct let g x = x end\nclass type t = object end\n",
        {("class", "A"), ("method", "A.f"), ("class", "B"), ("method", "B.g"), ("interface", "t")},
    ),
    "values of an OCaml interface": (
        "a.mli",
        "val push :\n  int ->\n  unit\nmodule Sub : sig\n  val inner : int\nend\n",
        {("function", "push"), ("class", "Sub"), ("method", "Sub.inner")},
    ),
    "constructors and operators in Dart": (
        "a.dart",
        """
        class Point {
          Point.origin() : x = 0 {}
          factory Point.parse(String s) => Point(1);
          Point operator +(Point o) => this;
        }
        extension on int { int twice() => 2; }
        typedef int Old(int a);
        int get top => 1;
        """,
        {("method", "Point.origin"), ("method", "Point.parse"), ("method", "Point.operator +"), ("method", "int.twice")}
        | {("type", "Old"), ("function", "top"), ("class", "Point"), ("class", "int")},
    ),
    "operators, functors and enums in Julia": (
        "a.jl",
        "function Base.:+(a::P, b::P)\n  a\nend\nfunction (p::Poly)(x)\n  x\nend\n@enum Color red green\n",
        {("function", "Base.+"), ("function", "Poly"), ("enum", "Color")},
    ),
    "S4 methods in R": (
        "a.R",
        'setMethod("area", signature(shape = "Circle"), function(shape) 1)\nsetGeneric("area", function(s) 1)\n',
        {("function", "Circle.area"), ("function", "area")},
    ),
    "every name of a typedef in C": (
        "a.c",
        "typedef struct vec { int x; } vec_t, *vec_ptr;\n",
        {("type", "vec_t"), ("class", "vec"), ("type", "vec_ptr")},
    ),
    "interfaces, parameters and module procedures in Fortran": (
        "a.f90",
        """
        module m
          integer, parameter :: limit = 10
          interface norm
            module procedure norm1
          end interface
        end module
        submodule (m) impl
        contains
          module procedure solve
          end procedure
        end submodule
        """,
        {("constant", "m.limit"), ("interface", "m.norm"), ("method", "impl.solve")},
    ),
    "fixed-form Fortran": (
        "a.f",
        "C     Computes.\n      SUBROUTINE DNRM(N, X,\n     $                Y)\n      INTEGER N\n      END\n",
        {("function", "DNRM")},
    ),
    "extensions and givens in Scala": (
        "a.scala",
        'extension (s: String)\n  def shout: String = s\ngiven Show[Int] with\n  def show(x: Int) = "x"\n',
        {("method", "String.shout"), ("class", "Show[Int]"), ("method", "Show[Int].show")},
    ),
    "extensions in Kotlin": (
        "a.kt",
        "val String.loud: String get() = this\nfun android.view.View.hide() {}\nfun User.Companion.make() {}\n",
        {("constant", "String.loud"), ("method", "View.hide"), ("method", "User.make")},
    ),
    "operators, active patterns and exceptions in F#": (
        "a.fs",
        "module A\nlet (>>=) m f = f m\nlet (|Even|Odd|) n = n\nexception Broken of string\n",
        {("function", ">>="), ("function", "|Even|Odd|"), ("type", "Broken")},
    ),
    "packages, private types and tasks in Ada": (
        "a.ads",
        "package P is\n   type Stack is private;\n   task type Worker is entry Start; end Worker;\nend P;\n",
        {("class", "P"), ("class", "P.Stack"), ("class", "P.Worker")},
    ),
    "a method outside of its class in SystemVerilog": (
        "a.sv",
        "function void Store::add(int x);\nendfunction\n",
        {("function", "Store.add")},
    ),
    "tests of several lines and of quoted names in C++": (
        "a.cc",
        'TEST(Store,\n     Opens) { open(); }\nTEST_CASE("it closes") { close(); }\nTEST(A,B){}\n',
        {("function", "Store.Opens"), ("function", "it_closes"), ("function", "A.B")},
    ),
    "ports in Elm": ("A.elm", "port module A exposing (..)\nport send : String -> Cmd msg\n", {("function", "send")}),
}


@pytest.mark.parametrize("what", sorted(FOUND))
def test_units_have_the_names_that_the_language_gives_them(what: str) -> None:
    file, source, expected = FOUND[what]
    assert {(unit.kind, unit.func_name) for unit in units(file, source)} == expected | {("file", file)}


# File, sample, name of a unit, its docstring.
DOCUMENTED: dict[str, tuple[str, str, str, str]] = {
    "below a value in OCaml": ("a.mli", "val add : int\n(** Adds. *)\n\nval sub : int\n", "add", "Adds."),
    "above the next value in OCaml": ("a.mli", "val add : int\n(** Subtracts. *)\nval sub : int\n", "add", ""),
    "above -spec in Erlang": (
        "a.erl",
        "%% @doc Adds two.\n-spec add(integer(), integer()) ->\n          integer().\nadd(A, B) -> A + B.\n",
        "add",
        "Adds two.",
    ),
    "in -doc in Erlang": ("a.erl", 'a() -> 1.\n-doc "Adds two.".\n-spec b() -> ok.\nb() -> ok.\n', "b", "Adds two."),
    "above the annotation in Elm": (
        "A.elm",
        "{-| Starts. -}\ninit : Int\n  -> Int\ninit x =\n    x\n",
        "init",
        "Starts.",
    ),
    "behind !> in Fortran": ("a.f90", "!> Adds.\nsubroutine add(x)\n  x = 1\nend subroutine\n", "add", "Adds."),
    "in quotes in GraphQL": ("a.graphql", '"The state."\nenum State { OPEN }\n', "State", "The state."),
    "behind @notice in Solidity": (
        "a.sol",
        "contract C {\n  /// @notice Adds.\n  function add() public {}\n}\n",
        "C.add",
        "@notice Adds.",
    ),
}


@pytest.mark.parametrize("where", sorted(DOCUMENTED))
def test_a_doc_comment_is_found(where: str) -> None:
    file, source, name, docstring = DOCUMENTED[where]
    assert [unit.docstring for unit in units(file, source) if unit.func_name == name] == [docstring]


def test_a_variable_that_holds_a_class_in_r_is_one_unit() -> None:
    found = units("a.R", 'Person <- R6Class("Person", public = list(greet = function() 1))\n')
    assert [unit.func_name for unit in found if unit.kind != "file"] == ["Person", "Person.greet"]


def test_a_definition_ends_on_its_last_line() -> None:
    found = units("a.f90", "subroutine add(x)\n  x = 1\nend subroutine\n\nsubroutine b()\nend subroutine\n")
    assert [unit.address.lines for unit in found if unit.kind != "file"] == [(1, 3), (5, 6)]


def test_a_file_of_matlab_is_not_taken_for_objective_c() -> None:
    said = {
        "matlab": [b"% A script.\nx = 1;\n", b"function y = f(x)\ny = x;\nend\n"],
        "objc": [b"#import <A.h>\n", b"// %\n@implementation A\n@end\n", b""],
    }
    assert {language: [language_of("a.m", head) for head in heads] for language, heads in said.items()} == {
        language: [language] * len(heads) for language, heads in said.items()
    }


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"module a;\nimport std.stdio : writeln;\nvoid main() { writeln(1); }\n", "d"),
        (b"struct A { int b; }\nint c(int d) { return d ? 1 : 2; }\n", "d"),
        (b"/* Probes. */\nprovider memcached {\n   probe conn__create(void *ptr);\n};\n", "text"),
        (b"#!/usr/sbin/dtrace -s\nBEGIN { trace(1); }\n", "text"),
        (b"python$target:::gc-start,\npython$target:::gc-done\n/self->trace/\n{ trace(arg0); }\n", "text"),
        (b"syscall::read:entry\n{ @[execname] = count(); }\n", "text"),
        (b"build/a.o: src/a.c src/a.h\n", "text"),
    ],
)
def test_a_file_of_dtrace_or_make_is_not_taken_for_d(head: bytes, language: str) -> None:
    assert language_of("a.d", head) == language


def test_a_deprecated_method_of_objective_c_does_not_lose_its_protocol() -> None:
    deprecated = 'API_DEPRECATED_WITH_REPLACEMENT("open:", macos(10.10, API_TO_BE), ios(8.0, API_TO_BE))'
    code = f"@protocol Loader <NSObject>\n@required\n- (BOOL)canOpen:(nullable NSURL *)url {deprecated};\n@end\n"
    seen = see(".m", f"#import <Foundation/Foundation.h>\n{code}")
    assert seen.kind("interface") == ["Loader"]
    assert deprecated in seen.units["interface", "Loader"].original_string


def test_keywords_of_elixir_are_not_called() -> None:
    seen = see(".ex", "defmodule Shop do\n  def sell(item) do\n    if item, do: Stock.take(price(item))\n  end\nend\n")
    called = seen.targets("calls", "Shop.sell")
    assert {"Stock.take", "price"} <= set(called)
    assert not {"if", "def", "defmodule"} & set(called)


def test_the_head_of_a_definition_in_elixir_is_no_call_of_it() -> None:
    code = """
defmodule Shop do
  @spec sell(integer) :: atom
  def sell(item) when item > 1, do: price(item)
  def price(item), do: item
  def count(items), do: count(items)
  defdelegate take(item), to: Stock
end
"""
    seen = see(".ex", code)
    assert seen.targets("calls", "Shop.sell") == ["price"]
    assert seen.targets("calls", "Shop.price") == []
    assert seen.targets("calls", "Shop.count") == ["count"]
    assert seen.targets("calls", "Shop.take") == seen.targets("calls", "Shop") == []


def test_methods_of_a_class_of_haskell_have_the_first_name_of_their_signature() -> None:
    seen = see(".hs", "module Shop where\n\nclass Stock a where\n  take, put :: a -> a\n  count :: a -> Int\n")
    assert seen.names == ["Stock.take", "Stock.count"]


def test_auto_in_cpp_is_what_the_value_is() -> None:
    seen = see(".cpp", "int run() {\n  auto q = Queue();\n  return q.push(1);\n}\n")
    assert seen.targets("calls", "run") == ["Queue", "Queue().push"]


@pytest.mark.parametrize("suffix", [".ts", ".swift"])
def test_marks_of_optional_values_are_left_out_of_names(suffix: str) -> None:
    keyword = "func" if suffix == ".swift" else "function"
    seen = see(suffix, f"{keyword} f() {{ shop?.take(); stock!.put(); a.b?.c() }}\n")
    assert seen.targets("calls") == ["shop.take", "stock.put", "a.b.c"]


def test_a_parameter_of_php_has_its_type() -> None:
    assert see(".php", "<?php\nfunction f(Queue $q) { $q->push(); }\n").targets("calls", "f") == [":Queue.push"]


def test_operators_of_haskell_are_named_wherever_they_stand() -> None:
    source = "module A where\nx <+> y = x + y\na `plus` b = a\n(<.>) a b = a\nplain x = x\n"
    assert see(".hs", source).names == ["<+>", "plus", "<.>", "plain"]
