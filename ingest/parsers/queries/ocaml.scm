(value_definition) @function
(value_definition) @constant
[(external) (method_definition)] @function
(value_specification) @signature
[(module_binding) (class_binding)] @class
[(module_type_definition) (class_type_binding)] @interface
[(type_binding) (exception_definition)] @type
(application_expression function: (value_path) @call)
(open_module module: (_) @import)
