[(entity_declaration) (package_declaration) (architecture_body)] @class
(package_body) @scope
[(function_body) (procedure_body) (process_statement)] @function
[(function_declaration) (procedure_declaration)] @signature
[(full_type_declaration) (subtype_declaration)] @type
(constant_declaration) @constant
