[(struct_definition) (service_definition) (exception_definition) (union_definition)] @class
(enum_definition) @enum
(typedef_definition) @type
(const_definition) @constant
