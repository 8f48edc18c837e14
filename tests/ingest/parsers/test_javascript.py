"""JavaScript: functions by the name they are given, JSDoc, imports of both kinds."""

from __future__ import annotations

from tests.ingest.parsers.parsing import see

SOURCE = """
    import React, { useState as state } from 'react';
    import * as path from "path";
    const { join, sep } = require('./paths');

    /**
     * Adds two numbers.
     * @param {number} a
     */
    function add(a, b) {
      return plus(a, b);
    }

    // Doubles.
    export const double = (x) => x * 2;

    Queue.prototype.push = function (item) { this.items.push(item); };
    module.exports.close = async function () { await stop(); };

    class Store extends Base {
      /** Opens it. */
      open(name) { return new Client(name); }
      static make = () => new Store();
      #hidden() { return 1; }
    }

    const routes = { list: function () { return all(); }, 'get-one'(id) { return one(id); } };

    fetchAll(urls, function (error, body) {
      if (error) {
        throw error;
      }
      save(body);
    });
    short(function () { return 1; });
    (function () {
      function inner() { return React.render(<Page.Main />); }
    })();
"""


def test_functions_are_found_by_the_name_they_are_given() -> None:
    assert see(".js", SOURCE).names == [
        "add",
        "double",
        "Queue.push",
        "close",
        "Store.open",
        "Store.make",
        "Store.hidden",
        "list",
        "get-one",
        "fetchAll(callback)",
        "inner",
    ]


def test_doc_comments_of_both_kinds() -> None:
    functions = see(".js", SOURCE).functions
    assert functions["add"].docstring == "Adds two numbers.\n@param {number} a"
    assert functions["double"].docstring == "Doubles."
    assert functions["Store.open"].docstring == "Opens it."
    assert functions["Store.make"].docstring == ""


def test_a_comment_above_const_alone_on_its_line_belongs_to_the_function_below() -> None:
    assert see(".js", "// Later.\nconst f =\n  async () => { g(); };\n").functions["f"].docstring == "Later."


def test_lines_are_those_of_the_function() -> None:
    assert see(".js", SOURCE).lines["add"] == (9, 11)
    assert see(".js", SOURCE).lines["fetchAll(callback)"] == (28, 33)


def test_references_and_imports() -> None:
    seen = see(".js", SOURCE)
    assert seen.targets("extends") == ["Base"]
    assert seen.targets("calls", "Store.open") == ["Client"]
    assert seen.targets("calls", "fetchAll(callback)") == ["save"]
    assert "Page.Main" in seen.targets("uses", "inner")
    assert "fetchAll" in seen.targets("calls", "")
    assert seen.imports == [
        ("react", "default", "React"),
        ("react", "useState", "state"),
        ("path", "", "path"),
        ("./paths", "join", "join"),
        ("./paths", "sep", "sep"),
    ]


def test_a_function_that_is_all_of_a_file_has_the_name_of_the_file() -> None:
    assert see(".js", "module.exports = function () { return 1; };\n").names == ["file"]
    assert see(".js", "export default () => 1;\n").names == ["file"]


def test_getters_have_the_name_of_their_property_and_callbacks_tell_what_they_are_for() -> None:
    source = """
        Object.defineProperty(app, 'router', {
          get: function () {
            return make();
          }
        });
        app.get('/users/:id', function (request, response) {
          const id = request.params.id;
          const user = find(id);
          response.send(user);
        });
    """
    assert see(".js", source).names == ["router", "get(/users/:id)"]


def test_an_inner_function_belongs_to_a_short_outer_one_and_stands_alone_in_a_long_one() -> None:
    inner = "  function inner() {\n    return 1;\n  }\n"
    assert see(".js", f"function outer() {{\n{inner}}}\n").names == ["outer"]
    long = "  step();\n" * 80
    assert see(".js", f"function outer() {{\n{long}{inner}}}\n").names == ["outer", "outer.inner"]


def test_a_long_callback_is_found() -> None:
    assert see(".js", "work(function () {\n" + "  step();\n" * 80 + "});\n").names == ["work(callback)"]


def test_what_a_module_exports_is_a_constant_unless_it_is_a_function_or_a_module() -> None:
    source = """
        module.exports.limit = 5;
        exports.names = ["a", "b"];
        module.exports.run = function () { return go(); };
        module.exports.paths = require("./paths");
        exports.stop = () => halt();
    """
    found = see(".js", source)
    assert (found.kind("constant"), found.names) == (["limit", "names"], ["run", "stop"])


def test_a_short_function_far_down_a_file_keeps_its_inner_functions() -> None:
    outer = "function outer() {\n  function inner() { return 1; }\n  return inner;\n}\n"
    assert see(".js", "let a = 1;\n" * 300 + outer).names == ["outer"]
