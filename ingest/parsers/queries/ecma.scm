[(function_declaration) (generator_function_declaration) (method_definition)] @function
[(function_expression name: (_)) (generator_function name: (_))] @function
(variable_declarator value: [(function_expression) (generator_function) (arrow_function)]) @function
(assignment_expression right: [(function_expression) (generator_function) (arrow_function)]) @function
(pair value: [(function_expression) (generator_function) (arrow_function)]) @function
(export_statement value: [(function_expression) (arrow_function)]) @function
(program (lexical_declaration (variable_declarator value: (call_expression)) @function))
(program (export_statement (lexical_declaration (variable_declarator value: (call_expression)) @function)))
(program (lexical_declaration (variable_declarator) @constant))
(program (variable_declaration (variable_declarator) @constant))
(program (export_statement (lexical_declaration (variable_declarator) @constant)))
(program (export_statement (variable_declaration (variable_declarator) @constant)))
(program (expression_statement (assignment_expression left: (member_expression)) @constant))
(call_expression arguments: (arguments [(function_expression) (arrow_function)])) @function
(new_expression arguments: (arguments [(function_expression) (arrow_function)])) @function
((call_expression function: (member_expression property: (_) @_define) arguments: (arguments (object))) @function
  (#eq? @_define "defineProperty"))
(class_declaration) @class
(class name: (_)) @class
(call_expression function: [(identifier) (member_expression)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)
(arguments [(identifier) (member_expression)] @uses)
[(variable_declarator) (assignment_expression) (for_in_statement)] @bind
(arrow_function parameter: (identifier) @local)
(object_pattern (shorthand_property_identifier_pattern) @local)
(array_pattern (identifier) @local)
(rest_pattern (identifier) @local)
(catch_clause parameter: (identifier) @local)
(import_statement) @import
(export_statement source: (string)) @import
((variable_declarator value: (call_expression function: (identifier) @_require)) @import (#eq? @_require "require"))
