(binary_operator lhs: [(identifier) (string) (extract_operator)] rhs: (function_definition)) @function
(argument name: (identifier) value: (function_definition)) @function
((call function: [(identifier) (namespace_operator)] @_class) @class
  (#any-of? @_class "setClass" "setRefClass" "R6Class" "R6::R6Class" "new_class" "ggproto"))
((call function: (identifier) @_method) @function
  (#any-of? @_method "setGeneric" "setMethod" "setReplaceMethod" "setValidity" "new_generic"))
((call function: (identifier) @_test arguments: (arguments . argument: (argument value: (string)))) @function
  (#any-of? @_test "test_that" "it"))
(program (binary_operator lhs: (identifier)) @constant)
(call function: [(identifier) (namespace_operator)] @call)
((call function: (identifier) @_library) @import (#any-of? @_library "library" "require" "source"))
