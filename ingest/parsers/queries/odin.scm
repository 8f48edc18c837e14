(procedure_declaration) @function
(struct_declaration) @class
(enum_declaration) @enum
(const_declaration) @constant
