[(function_definition) (constructor_definition) (modifier_definition) (fallback_receive_definition)] @function
[(contract_declaration) (library_declaration) (struct_declaration)] @class
(interface_declaration) @interface
(enum_declaration) @enum
[(event_definition) (error_declaration) (user_defined_type_definition)] @type
[(state_variable_declaration) (constant_variable_declaration)] @constant
(inheritance_specifier ancestor: (user_defined_type) @extends)
(import_directive) @import
