(file [(value_declaration) (port_annotation)] @function)
(type_declaration) @enum
(type_alias_declaration) @type
