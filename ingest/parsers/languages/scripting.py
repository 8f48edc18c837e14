"""Scripting languages: Lua, Bash."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from treeline.graph.references import Import
from treeline.ingest.parsers.comments import Comments
from treeline.ingest.parsers.grammar import Grammar, child_of, field_name, text_of
from treeline.ingest.parsers.names import dotted

HASH_LINES = Comments((b"#",), None)

# Lua --------------------------------------------------------------------------------------------------------------

LUA = """
(function_declaration) @function
(assignment_statement (expression_list value: (function_definition))) @function
(field name: (_) value: (function_definition)) @function
(chunk (variable_declaration (assignment_statement) @constant))
(chunk (assignment_statement) @constant)
(function_call name: [(identifier) (dot_index_expression) (method_index_expression)] @call)
(parameters name: (identifier) @local)
((function_call name: (identifier) @_require) @import (#eq? @_require "require"))
"""


def _lua_name(node: Node) -> str:
    if node.type == "assignment_statement":
        names = child_of(node, "variable_list")
        return dotted(text_of(names.named_child(0)).replace(":", ".")) if names is not None else ""
    return dotted(field_name(node).replace(":", "."))


def _lua_constants(node: Node) -> Iterator[tuple[Node, str]]:
    values = child_of(node, "expression_list")
    value = values.named_child(0) if values is not None else None
    if value is None or value.type == "function_definition":
        return
    if value.type == "function_call" and field_name(value) == "require":
        return
    yield node, _lua_name(node)


def _lua_imports(call: Node) -> list[Import]:
    module = text_of(call.child_by_field_name("arguments")).strip("()'\" ")
    return [Import(module, "", "")]


# Bash -------------------------------------------------------------------------------------------------------------

BASH = """
(function_definition) @function
(program (variable_assignment) @constant)
(program (declaration_command (variable_assignment) @constant))
(command name: (command_name (word) @call))
((command name: (command_name) @_source argument: (word) @import) (#any-of? @_source "source" "."))
"""

GRAMMARS = (
    Grammar(
        name="lua",
        query=LUA,
        name_of=_lua_name,
        constants_of=_lua_constants,
        imports_of=_lua_imports,
        comments=Comments((b"--",), (b"--[[", b"]]")),
        inner_after=60,
    ),
    Grammar(
        name="bash",
        query=BASH,
        comments=HASH_LINES,
        imports_of=lambda word: [Import(re.sub(r"^.*/", "./", text_of(word)), "", "")],
    ),
)
