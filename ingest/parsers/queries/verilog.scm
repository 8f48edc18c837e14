[(module_declaration) (program_declaration) (package_declaration) (class_declaration)] @class
(interface_declaration) @interface
[(function_declaration) (task_declaration) (class_method)] @function
(type_declaration) @type
[(text_macro_definition) (parameter_declaration) (local_parameter_declaration)] @constant
(module_instantiation . (simple_identifier) @call)
