(function_definition declarator: (_)) @function
(preproc_function_def) @function
(struct_specifier name: (_) body: (_)) @class
(union_specifier name: (_) body: (_)) @class
(enum_specifier name: (_) body: (_)) @enum
(type_definition type: (struct_specifier !name body: (_))) @class
(type_definition type: (union_specifier !name body: (_))) @class
(type_definition type: (enum_specifier !name body: (_))) @enum
(type_definition) @type
(type_definition declarator: (_) "," declarator: (_) @type)
(preproc_def value: (_)) @constant
(declaration declarator: [(init_declarator) (array_declarator)]) @constant
(call_expression function: [(identifier) (field_expression)] @call)
(parameter_declaration type: (type_identifier) @uses)
[(parameter_declaration) (declaration) (field_declaration)] @bind
(preproc_include) @import
