; An interface is where OCaml documents its values: they are units there.
[(value_specification) (external)] @function
[(module_binding) (class_binding)] @class
[(module_type_definition) (class_type_binding)] @interface
[(type_binding) (exception_definition)] @type
(open_module module: (_) @import)
