"""TypeScript and TSX: JavaScript's functions, with interfaces, types and what implements what."""

from __future__ import annotations

import tree_sitter_typescript

from treeline.ingest.parsers.grammar import Grammar
from treeline.ingest.parsers.languages import javascript

TYPES = """
(public_field_definition value: [(function_expression) (arrow_function)]) @function
[(method_signature) (abstract_method_signature)] @signature
(abstract_class_declaration) @class
(interface_declaration) @interface
(class_heritage (extends_clause value: [(identifier) (member_expression)] @extends))
(class_heritage (implements_clause [(type_identifier) (nested_type_identifier)] @implements))
(class_heritage (implements_clause (generic_type name: [(type_identifier) (nested_type_identifier)] @implements)))
(extends_type_clause [(type_identifier) (nested_type_identifier)] @extends)
(extends_type_clause (generic_type name: [(type_identifier) (nested_type_identifier)] @extends))
(type_annotation (type_identifier) @uses)
(type_arguments (type_identifier) @uses)
(generic_type name: (type_identifier) @uses)
(array_type (type_identifier) @uses)
(union_type (type_identifier) @uses)
(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
"""
JSX = ("(jsx_opening_element", "(jsx_self_closing_element")
QUERY = "\n".join(line for line in javascript.QUERY.splitlines() if not line.startswith(JSX)) + TYPES


def _grammar(suffixes: tuple[str, ...], tsx: bool) -> Grammar:
    return Grammar(
        name="typescript",
        suffixes=suffixes,
        load=tree_sitter_typescript.language_tsx if tsx else tree_sitter_typescript.language_typescript,
        query=javascript.QUERY + TYPES if tsx else QUERY,
        functions_of=javascript.functions_of,
        doc_of=javascript.doc_of,
        imports_of=javascript.imports_of,
        nested=True,
        wrap=(b"(", b"\n)"),
    )


GRAMMARS = (_grammar((".ts", ".mts", ".cts"), tsx=False), _grammar((".tsx",), tsx=True))
