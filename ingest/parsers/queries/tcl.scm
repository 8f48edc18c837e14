(procedure) @function
(namespace) @scope
((command name: (simple_word) @_method) @function
  (#any-of? @_method "method" "constructor" "destructor" "typemethod" "oo::define"))
((command name: (simple_word) @_class) @class (#any-of? @_class "oo::class" "itcl::class" "snit::type"))
(command name: (simple_word) @call)
