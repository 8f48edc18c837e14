(function_definition) @function
(class_definition) @class
(function_call name: (identifier) @call)
