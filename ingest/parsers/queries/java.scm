(method_declaration body: (_)) @function
(method_declaration !body) @signature
(annotation_type_element_declaration) @signature
(constructor_declaration) @function
(compact_constructor_declaration) @function
(class_declaration) @class
(enum_declaration) @enum
(record_declaration) @class
((field_declaration (modifiers) @_constant) @constant (#match? @_constant "static[^;]*final|final[^;]*static"))
(constant_declaration) @constant
(interface_declaration) @interface
(annotation_type_declaration) @interface
(superclass (type_identifier) @extends)
(superclass (scoped_type_identifier) @extends)
(superclass (generic_type [(type_identifier) (scoped_type_identifier)] @extends))
(super_interfaces (type_list (type_identifier) @implements))
(super_interfaces (type_list (scoped_type_identifier) @implements))
(super_interfaces (type_list (generic_type [(type_identifier) (scoped_type_identifier)] @implements)))
(extends_interfaces (type_list (type_identifier) @extends))
(extends_interfaces (type_list (scoped_type_identifier) @extends))
(extends_interfaces (type_list (generic_type [(type_identifier) (scoped_type_identifier)] @extends)))
(method_invocation) @call
(object_creation_expression type: [(type_identifier) (scoped_type_identifier)] @call)
(object_creation_expression type: (generic_type [(type_identifier) (scoped_type_identifier)] @call))
(method_reference) @uses
(type_identifier) @uses
(annotation name: (_) @uses)
(marker_annotation name: (_) @uses)
(import_declaration) @import
[(formal_parameter) (spread_parameter) (local_variable_declaration) (field_declaration)] @bind
[(enhanced_for_statement) (catch_formal_parameter) (resource) (instanceof_expression)] @bind
(inferred_parameters (identifier) @local)
(lambda_expression parameters: (identifier) @local)
