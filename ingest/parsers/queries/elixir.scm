((call target: (identifier) @_def) @function
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defn" "defnp" "test"
    "property"))
((call target: (identifier) @_module) @class (#any-of? @_module "defmodule" "defimpl"))
((call target: (identifier) @_protocol) @interface (#eq? @_protocol "defprotocol"))
((unary_operator operator: "@" operand: (call target: (identifier) @_type)) @type
  (#any-of? @_type "type" "typep" "opaque" "callback" "macrocallback"))
(unary_operator operator: "@" operand: (call)) @constant
(call target: [(identifier) (dot)] @call)
(unary_operator operator: "@" operand: (call target: (identifier) @head))
((call target: (identifier) @_def (arguments . [
    (call target: (identifier) @head)
    (binary_operator left: (call target: (identifier) @head))
    (binary_operator left: (binary_operator left: (call target: (identifier) @head)))
  ]))
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defn" "defnp" "spec" "type"
    "typep" "opaque" "callback" "macrocallback"))
((call target: (identifier) @_import) @import (#any-of? @_import "alias" "import" "require" "use"))
