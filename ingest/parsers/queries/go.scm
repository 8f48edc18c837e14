(function_declaration body: (_)) @function
(method_declaration body: (_)) @function
(interface_type (method_elem) @signature)
(type_spec type: (interface_type)) @interface
(type_spec type: (struct_type)) @class
(type_spec) @type
(type_alias) @type
(source_file (const_declaration (const_spec) @constant))
(source_file (var_declaration (var_spec) @constant))
(source_file (var_declaration (var_spec_list (var_spec) @constant)))
(field_declaration !name type: [(type_identifier) (qualified_type)] @extends)
(interface_type (type_elem . [(type_identifier) (qualified_type)] @extends .))
(call_expression function: [(identifier) (selector_expression)] @call)
(call_expression function: (type_instantiation_expression type: (type_identifier) @call))
(type_conversion_expression type: (generic_type type: (type_identifier) @call))
(composite_literal type: [(type_identifier) (qualified_type)] @uses)
(parameter_declaration type: [(type_identifier) (qualified_type)] @uses)
(parameter_declaration type: (pointer_type [(type_identifier) (qualified_type)] @uses))
(pointer_type [(type_identifier) (qualified_type)] @uses)
(method_declaration result: [(type_identifier) (qualified_type)] @uses)
(function_declaration result: [(type_identifier) (qualified_type)] @uses)
(argument_list [(identifier) (selector_expression)] @uses)
[(parameter_declaration) (variadic_parameter_declaration) (short_var_declaration) (range_clause) (var_spec)] @bind
[(field_declaration) (type_spec)] @bind
(type_switch_statement alias: (expression_list (identifier) @local))
(receive_statement left: (expression_list (identifier) @local))
(import_spec) @import
