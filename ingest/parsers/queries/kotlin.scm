(function_declaration) @function
(secondary_constructor) @function
(class_declaration "interface") @interface
(class_declaration "enum") @enum
[(class_declaration) (object_declaration)] @class
(type_alias) @type
(source_file (property_declaration) @constant)
(object_declaration (class_body (property_declaration) @constant))
(companion_object (class_body (property_declaration) @constant))
(class_body (property_declaration (getter)) @function)
(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression) @call)
(delegation_specifier (constructor_invocation (user_type . (type_identifier) @extends)))
(delegation_specifier (user_type . (type_identifier) @implements))
(user_type . (type_identifier) @uses)
[(parameter) (class_parameter) (property_declaration) (for_statement)] @bind
(lambda_parameters (variable_declaration (simple_identifier) @local))
(lambda_literal) @bind
(import_header) @import
