[(subprogram_body) (expression_function_declaration)] @function
(subprogram_declaration) @signature
(package_declaration) @class
[(package_body) (protected_body)] @scope
[(entry_body) (task_body)] @function
[(full_type_declaration) (private_type_declaration)] @class
(subtype_declaration) @type
[(exception_declaration) (number_declaration)] @constant
