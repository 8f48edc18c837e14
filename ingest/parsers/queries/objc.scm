; inherits: c
(method_definition) @function
(method_declaration) @signature
[(class_interface) (class_implementation)] @class
(protocol_declaration) @interface
(message_expression method: (identifier) @call)
