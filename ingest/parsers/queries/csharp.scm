(method_declaration body: (_)) @function
(method_declaration !body) @signature
[(constructor_declaration) (destructor_declaration) (operator_declaration) (conversion_operator_declaration)] @function
(indexer_declaration) @function
(property_declaration accessors: (accessor_list (accessor_declaration body: (_)))) @function
(property_declaration value: (arrow_expression_clause)) @function
(global_statement (local_function_statement) @function)
[(class_declaration) (struct_declaration) (record_declaration)] @class
(interface_declaration) @interface
(enum_declaration) @enum
(delegate_declaration) @type
((field_declaration (modifier) @_const) @constant (#any-of? @_const "const" "static"))
(invocation_expression function: [(identifier) (member_access_expression)] @call)
(invocation_expression function: (generic_name (identifier) @call))
(object_creation_expression type: [(identifier) (qualified_name)] @made)
(object_creation_expression type: (generic_name (identifier) @made))
(base_list [(identifier) (qualified_name)] @extends)
(base_list (generic_name (identifier) @extends))
(parameter type: (identifier) @uses)
(invocation_expression function: (conditional_access_expression) @call)
[(parameter) (variable_declaration) (property_declaration) (foreach_statement)] @bind
[(declaration_pattern) (declaration_expression) (catch_declaration)] @bind
(implicit_parameter) @local
(using_directive) @import
