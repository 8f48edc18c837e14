(function_definition) @function
(class_definition) @class
(module (assignment left: (identifier)) @constant)
(module (if_statement (block (assignment left: (identifier)) @constant)))
(module (try_statement (block (assignment left: (identifier)) @constant)))
(class_definition body: (block (assignment left: (identifier) @_upper) @constant)
  (#match? @_upper "^_*[A-Z][A-Z0-9_]*$"))
(type_alias_statement) @type
(class_definition superclasses: (argument_list [(identifier) (attribute)] @extends))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @extends)))
(call function: [(identifier) (attribute)] @call)
(type [(identifier) (attribute)] @uses)
(type (generic_type (identifier) @uses))
(type (subscript value: [(identifier) (attribute)] @uses))
(type (binary_operator [(identifier) (attribute)] @uses))
(decorator [(identifier) (attribute)] @uses)
(except_clause [(identifier) (attribute)] @uses)
(except_clause (as_pattern . [(identifier) (attribute)] @uses))
(except_clause (tuple [(identifier) (attribute)] @uses))
(raise_statement [(identifier) (attribute)] @uses)
(argument_list [(identifier) (attribute)] @uses)
(keyword_argument value: [(identifier) (attribute)] @uses)
(parameters (identifier) @local)
(default_parameter name: (identifier) @local)
[(typed_parameter) (typed_default_parameter) (assignment) (for_statement) (for_in_clause) (named_expression)] @bind
(list_splat_pattern (identifier) @local)
(dictionary_splat_pattern (identifier) @local)
(lambda_parameters (identifier) @local)
(case_pattern (dotted_name . (identifier) @local .))
(as_pattern_target (identifier) @local)
(import_statement) @import
(import_from_statement) @import
