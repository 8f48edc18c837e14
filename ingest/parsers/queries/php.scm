; A name in the global namespace (`\DateTime`) is PHP's own; a qualified name that is called has a part before the last.
(function_definition) @function
((function_call_expression function: (name) @_block
  arguments: (arguments . (argument (string)) (argument [(anonymous_function) (arrow_function)]))) @function
  (#any-of? @_block "it" "test" "describe"))
((member_call_expression name: (name) @_route
  arguments: (arguments . (argument (string)) (argument [(anonymous_function) (arrow_function)]))) @function
  (#any-of? @_route "get" "post" "put" "patch" "delete" "any" "map" "group"))
((scoped_call_expression name: (name) @_route
  arguments: (arguments . (argument (string)) (argument [(anonymous_function) (arrow_function)]))) @function
  (#any-of? @_route "get" "post" "put" "patch" "delete" "any" "command"))
(method_declaration body: (_)) @function
(method_declaration !body) @signature
(class_declaration) @class
(trait_declaration) @class
(enum_declaration) @enum
(interface_declaration) @interface
(const_declaration (const_element) @constant)
(program (expression_statement (assignment_expression left: (variable_name)) @constant))
((function_call_expression function: (name) @_define) @constant (#eq? @_define "define"))
(class_declaration (base_clause [(name) (qualified_name)] @extends))
(interface_declaration (base_clause [(name) (qualified_name)] @extends))
(class_interface_clause [(name) (qualified_name)] @implements)
(use_declaration [(name) (qualified_name)] @extends)
(function_call_expression function: (name) @call)
((function_call_expression function: (qualified_name) @call) (#match? @call "[^\\\\]\\\\"))
(member_call_expression) @call
(nullsafe_member_call_expression) @call
(scoped_call_expression) @call
(object_creation_expression (name) @call)
((object_creation_expression (qualified_name) @call) (#match? @call "[^\\\\]\\\\"))
(named_type [(name) (qualified_name)] @uses)
(class_constant_access_expression . [(name) (qualified_name)] @uses)
(namespace_use_declaration) @import
[(simple_parameter) (variadic_parameter) (property_promotion_parameter) (property_declaration)] @bind
[(assignment_expression) (catch_clause) (foreach_statement)] @bind
