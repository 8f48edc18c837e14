(function) @function
(type_definition) @enum
(type_alias) @type
(constant) @constant
(function_call function: [(identifier) (field_access)] @call)
