[(function_declaration) (init_declaration) (deinit_declaration) (subscript_declaration)] @function
(macro_declaration) @function
(protocol_function_declaration) @signature
(class_declaration declaration_kind: "enum") @enum
(class_declaration) @class
(protocol_declaration) @interface
(typealias_declaration) @type
(source_file (property_declaration) @constant)
(class_body (property_declaration (modifiers) @_static) @constant (#match? @_static "static"))
(class_body (property_declaration computed_value: (_)) @function)
(enum_class_body (property_declaration computed_value: (_)) @function)
(call_expression (simple_identifier) @call)
(call_expression (navigation_expression) @call)
(inheritance_specifier inherits_from: (user_type (type_identifier) @extends))
(user_type (type_identifier) @uses)
(parameter name: (simple_identifier) @local)
(import_declaration (identifier) @import)
