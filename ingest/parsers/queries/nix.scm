(binding expression: (function_expression)) @function
