; inherits: ecma,jsx
(field_definition value: [(function_expression) (arrow_function)]) @function
(class_heritage [(identifier) (member_expression)] @extends)
(field_definition) @bind
(formal_parameters (identifier) @local)
(formal_parameters (assignment_pattern left: (identifier) @local))
