[(proc_declaration) (func_declaration) (method_declaration) (iterator_declaration) (converter_declaration)] @function
[(template_declaration) (macro_declaration)] @function
(type_declaration (enum_declaration)) @enum
(type_declaration (object_declaration)) @class
(type_declaration (ref_type)) @class
(type_declaration) @type
((call function: (identifier) @_test (argument_list . (interpreted_string_literal) (statement_list))) @function
  (#eq? @_test "test"))
((call function: (identifier) @_suite (argument_list . (interpreted_string_literal) (statement_list))) @scope
  (#eq? @_suite "suite"))
(source_file (const_section (variable_declaration) @constant))
(source_file (let_section (variable_declaration) @constant))
(source_file (var_section (variable_declaration) @constant))
(call function: [(identifier) (dot_expression)] @call)
