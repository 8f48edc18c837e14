"""Ruby: methods of instances and of classes, comments, mix-ins, calls without parentheses."""

from __future__ import annotations

from tests.ingest.parsers.parsing import see
from treeline.ingest.parsers.registry import by_suffix
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import MAX_FUNCTION_BYTES

SOURCE = """
    require 'json'
    require_relative "lib/net"

    module Shop
      class Cart < Base::Thing
        include Enumerable

        # Adds one.
        # Twice if asked.
        def add(item, count = 1)
          total = price
          notify item
          items << Item.build(total)
          check!(count)
        end

        def self.load(path)
          new(path)
        end

        class << self
          def build?; true; end
        end

        =begin
        Long words.
        =end
        def last = items.last
      end
    end
""".replace("        =", "=")


def test_methods_are_found_under_their_modules_and_classes() -> None:
    seen = see(".rb", SOURCE)
    assert seen.names == ["Shop.Cart.add", "Shop.Cart.load", "Shop.Cart.build?", "Shop.Cart.last"]


def test_comments_above_are_the_docstring() -> None:
    functions = see(".rb", SOURCE).functions
    assert functions["Shop.Cart.add"].docstring == "Adds one.\nTwice if asked."
    assert functions["Shop.Cart.load"].docstring == ""
    assert functions["Shop.Cart.last"].docstring == "Long words."


def test_an_end_without_a_begin_is_no_docstring() -> None:
    source = b"def a; end\n=end\ndef b; end\n"
    parsed = parse_file(by_suffix()[".rb"], source, FileLocation("o/r", "a.rb", "", ""), "a.rb", MAX_FUNCTION_BYTES)
    assert [(found.func_name, found.docstring) for found in parsed.functions[:-1]] == [("a", ""), ("b", "")]


def test_a_bare_name_is_a_call_unless_it_is_bound() -> None:
    calls = see(".rb", SOURCE).targets("calls", "Shop.Cart.add")
    assert {"price", "notify", "Item.build", "check!"} <= set(calls)
    assert not {"total", "item", "count"} & set(calls)


def test_mix_ins_and_superclasses_are_extended_and_files_imported() -> None:
    seen = see(".rb", SOURCE)
    assert seen.targets("extends") == ["Base.Thing", "Enumerable"]
    assert seen.imports == [("json", "", ""), ("./lib/net", "", "")]


def test_a_shift_is_no_here_document_and_a_here_document_is_one() -> None:
    source = (
        'def a(x)\n  x<<y\nend\ndef b\n  z <<"text"\nend\ndef c\n  <<~END\n    def no; end\n  END\nend\ndef d; end\n'
    )
    assert see(".rb", source).names == ["a", "b", "c", "d"]
