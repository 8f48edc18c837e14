(function_definition) @function
(program (variable_assignment) @constant)
(program (declaration_command (variable_assignment) @constant))
(command name: (command_name (word) @call))
((command name: (command_name) @_source argument: (word) @import) (#any-of? @_source "source" "."))
