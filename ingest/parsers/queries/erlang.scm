(fun_decl) @function
(record_decl) @class
[(type_alias) (opaque) (callback)] @type
(pp_define) @constant
(call expr: [(atom) (remote)] @call)
