[(function) (subroutine) (module_procedure)] @function
[(module) (submodule) (program)] @scope
(derived_type_definition) @class
(interface (interface_statement [(name) (operator) (assignment)])) @interface
((variable_declaration attribute: (type_qualifier) @_parameter) @constant (#match? @_parameter "(?i)^parameter$"))
