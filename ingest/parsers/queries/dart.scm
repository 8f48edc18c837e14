(program [(function_signature) (getter_signature) (setter_signature)] @function)
(method_signature) @function
(declaration [(function_signature) (constructor_signature) (constant_constructor_signature)]) @signature
(declaration [(redirecting_factory_constructor_signature) (getter_signature)]) @signature
(class_definition) @class
[(mixin_declaration) (extension_declaration) (extension_type_declaration)] @class
(enum_declaration) @enum
(type_alias) @type
(program (static_final_declaration_list (static_final_declaration) @constant))
(program (initialized_identifier_list (initialized_identifier) @constant))
(class_body (declaration (static_final_declaration_list (static_final_declaration) @constant)))
[(superclass (type_identifier) @extends) (mixin_application (type_identifier) @extends)]
[(mixins (type_identifier) @extends) (mixin_declaration (type_identifier) @extends)]
(interfaces (type_identifier) @implements)
[(library_import) (library_export) (part_directive) (part_of_directive)] @import
