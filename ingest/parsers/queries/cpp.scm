; inherits: c
(class_specifier name: (_) body: (_)) @class
(alias_declaration) @type
(concept_definition) @type
(call_expression function: (qualified_identifier) @call)
(call_expression function: (template_function name: (_) @call))
(base_class_clause [(type_identifier) (qualified_identifier)] @extends)
(base_class_clause (template_type name: (type_identifier) @extends))
(new_expression type: (type_identifier) @call)
[(optional_parameter_declaration) (for_range_loop)] @bind
