(function_definition) @function
(function_declaration) @signature
((call_expression function: (call_expression function: (identifier) @_test arguments: (arguments . (string)))
  arguments: (block)) @function (#any-of? @_test "test" "it" "describe" "property" "scenario"))
(infix_expression left: [(string) (infix_expression)] operator: (identifier) @_in right: (block)
  (#eq? @_in "in")) @function
[(class_definition) (object_definition) (package_object)] @class
(given_definition) @class
(extension_definition) @scope
(trait_definition) @interface
(enum_definition) @enum
(type_definition) @type
[(val_definition) (var_definition)] @constant
(call_expression function: [(identifier) (field_expression)] @call)
(call_expression function: (generic_function function: [(identifier) (field_expression)] @call))
(instance_expression (type_identifier) @call)
(extends_clause type: (type_identifier) @extends)
(extends_clause type: (generic_type type: (type_identifier) @extends))
(parameter name: (identifier) @local)
(import_declaration) @import
