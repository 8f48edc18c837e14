; inherits: ecma
(public_field_definition value: [(function_expression) (arrow_function)]) @function
[(method_signature) (abstract_method_signature) (function_signature)] @signature
(abstract_class_declaration) @class
(enum_declaration) @enum
(internal_module name: (identifier)) @scope
(type_alias_declaration) @type
(program (ambient_declaration (lexical_declaration (variable_declarator) @constant)))
(program (export_statement (ambient_declaration (lexical_declaration (variable_declarator) @constant))))
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
[(required_parameter) (optional_parameter) (public_field_definition) (property_signature)] @bind
