(declaration_expression (function_or_value_defn)) @function
(declaration_expression (function_or_value_defn (value_declaration_left))) @constant
(method_or_prop_defn) @function
(type_definition (union_type_defn) @enum)
(type_definition (type_abbrev_defn) @type)
(type_definition (_) @class)
(exception_definition) @type
(module_defn) @class
(application_expression . (long_identifier_or_op) @call)
(import_decl (long_identifier) @import)
