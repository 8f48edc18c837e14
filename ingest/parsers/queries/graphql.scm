[(object_type_definition) (input_object_type_definition) (object_type_extension)] @class
(interface_type_definition) @interface
(enum_type_definition) @enum
[(union_type_definition) (scalar_type_definition) (directive_definition)] @type
[(operation_definition) (fragment_definition)] @function
