(method) @function
(singleton_method) @function
(class) @class
(module) @class
((assignment left: [(constant) (scope_resolution)] right: (call receiver: (constant) @_made method: (identifier) @_new))
  @class (#any-of? @_made "Struct" "Data" "Class" "Module") (#any-of? @_new "new" "define"))
(assignment left: [(constant) (scope_resolution)]) @constant
((call method: (identifier) @_define arguments: (argument_list . [(simple_symbol) (string)]) block: (_)) @function
  (#any-of? @_define "define_method" "define_singleton_method"))
((call method: (identifier) @_group arguments: (argument_list . (_)) block: (do_block)) @scope
  (#any-of? @_group "describe" "context" "feature" "namespace" "shared_examples" "shared_context"))
((call !receiver method: (identifier) @_block arguments: (argument_list . [(simple_symbol) (string) (pair)])
  block: (do_block)) @function
  (#any-of? @_block "it" "specify" "scenario" "example" "test" "should" "task" "factory" "get" "post" "put" "patch"
    "delete"))
(superclass [(constant) (scope_resolution)] @extends)
((call !receiver method: (identifier) @_mixin arguments: (argument_list [(constant) (scope_resolution)] @extends))
  (#any-of? @_mixin "include" "extend" "prepend"))
(call) @call
(identifier) @bare
[(call method: (identifier) @head) (method name: (identifier) @head) (singleton_method name: (identifier) @head)]
[(alias (identifier) @head) (undef (identifier) @head)]
(call receiver: [(constant) (scope_resolution)] @uses)
(argument_list [(constant) (scope_resolution)] @uses)
(exceptions [(constant) (scope_resolution)] @uses)
(method_parameters (identifier) @local)
(method_parameters (_ name: (identifier) @local))
(block_parameters (identifier) @local)
(block_parameters (_ name: (identifier) @local))
(lambda_parameters (identifier) @local)
(lambda_parameters (_ name: (identifier) @local))
(destructured_parameter (identifier) @local)
(assignment left: [(identifier) (instance_variable)]) @bind
(for pattern: (identifier) @local)
(operator_assignment left: (identifier) @local)
(left_assignment_list (identifier) @local)
(exception_variable (identifier) @local)
[(array_pattern (identifier) @local) (as_pattern name: (identifier) @local)]
((call !receiver method: (identifier) @_require) @import (#any-of? @_require "require" "require_relative" "load"))
