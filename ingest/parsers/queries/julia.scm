[(function_definition) (macro_definition)] @function
(assignment . (call_expression)) @function
(assignment . (where_expression (call_expression))) @function
(assignment . (binary_expression (operator))) @function
((macrocall_expression (macro_identifier) @_test (macro_argument_list . (string_literal))) @function
  (#eq? @_test "@testset"))
[(struct_definition) (abstract_definition) (primitive_definition)] @class
((macrocall_expression (macro_identifier) @_enum) @enum (#eq? @_enum "@enum"))
(module_definition (block (const_statement) @constant))
(source_file (const_statement) @constant)
(source_file (assignment . (identifier)) @constant)
(module_definition (block (assignment . (identifier)) @constant))
(call_expression . [(identifier) (field_expression)] @call)
[(using_statement) (import_statement)] @import
