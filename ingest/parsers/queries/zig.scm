(Decl (FnProto)) @function
(Decl (VarDecl) @class)
(Decl (VarDecl) @constant)
(TestDecl) @function
(SuffixExpr variable_type_function: (IDENTIFIER) @call . (FnCallArguments))
(FieldOrFnCall function_call: (IDENTIFIER) @call)
