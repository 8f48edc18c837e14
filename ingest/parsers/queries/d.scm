[(function_declaration) (constructor) (destructor) (unittest_declaration)] @function
[(manifest_constant) (variable_declaration)] @constant
[(class_declaration) (struct_declaration) (union_declaration) (template_declaration)] @class
(interface_declaration) @interface
(enum_declaration) @enum
(alias_declaration) @type
