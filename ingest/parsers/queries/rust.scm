[(function_item) (macro_definition)] @function
(function_signature_item) @signature
[(struct_item) (union_item)] @class
(impl_item trait: (_)) @class
(impl_item !trait) @scope
((mod_item name: (identifier) @_name) @scope (#match? @_name "^tests?$"))
(trait_item) @interface
(enum_item) @enum
(source_file (type_item) @type)
(mod_item body: (declaration_list (type_item) @type))
[(const_item) (static_item)] @constant
(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @call)
(call_expression function: (generic_function function: [(identifier) (scoped_identifier) (field_expression)] @call))
(macro_invocation macro: [(identifier) (scoped_identifier)] @call)
(impl_item trait: [(type_identifier) (scoped_type_identifier)] @implements)
(impl_item trait: (generic_type type: [(type_identifier) (scoped_type_identifier)] @implements))
(trait_bounds [(type_identifier) (scoped_type_identifier)] @uses)
(struct_expression name: [(type_identifier) (scoped_type_identifier)] @uses)
(parameter type: (type_identifier) @uses)
[(parameter) (let_declaration) (field_declaration) (for_expression) (const_item) (static_item)] @bind
(closure_parameters (identifier) @local)
(tuple_pattern (identifier) @local)
(tuple_struct_pattern type: (_) (identifier) @local)
(struct_pattern (field_pattern name: (shorthand_field_identifier) @local))
(use_declaration) @import
