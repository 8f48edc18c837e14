((list . (symbol) @_def) @function
  (#match? @_def "^(define[*]?|define-(public|syntax|syntax-rule|macro|method|values|inlinable)|define/.*)$"))
((list . (symbol) @_def) @class (#match? @_def "^(define-record-type|struct|define-struct|define-class)$"))
(program (list . (symbol) @_def) @constant (#any-of? @_def "define" "define-type"))
((list . (symbol) @_def) @scope (#eq? @_def "module+"))
(list . (symbol) @call)
