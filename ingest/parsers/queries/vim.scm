(function_definition) @function
(script_file (let_statement) @constant)
(command_statement) @constant
(call_expression function: [(identifier) (scoped_identifier)] @call)
