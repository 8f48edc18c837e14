(function_statement) @function
(class_method_definition) @function
(class_statement) @class
(enum_statement) @enum
(command command_name: (command_name) @call)
((command command_name: (command_name) @_group) @scope (#any-of? @_group "Describe" "Context"))
((command command_name: (command_name) @_test) @function (#eq? @_test "It"))
