(function_declaration) @function
(assignment_statement (expression_list value: (function_definition))) @function
(field name: (_) value: (function_definition)) @function
((function_call name: (identifier) @_test arguments: (arguments . (string) (function_definition))) @function
  (#any-of? @_test "it" "test"))
((function_call name: (identifier) @_group arguments: (arguments . (string) (function_definition))) @scope
  (#any-of? @_group "describe" "context"))
(chunk (variable_declaration (assignment_statement) @constant))
(chunk (assignment_statement) @constant)
(function_call name: [(identifier) (dot_index_expression) (method_index_expression)] @call)
(parameters name: (identifier) @local)
((function_call name: (identifier) @_require) @import (#eq? @_require "require"))
