(defun) @function
((list_lit . value: (sym_lit) @_def) @class (#match? @_def "^(defclass|defstruct|define-condition|defpackage)$"))
((list_lit . value: (sym_lit) @_def) @constant (#match? @_def "^(defvar|defparameter|defconstant|defglobal)$"))
((list_lit . value: (sym_lit) @_def) @type (#eq? @_def "deftype"))
(source (list_lit . value: (sym_lit) @_def . value: [(sym_lit) (list_lit)]) @function
  (#match? @_def "^(def(test|setf|[a-z]+-test)|define-(?!condition).*|test)$"))
(list_lit . value: (sym_lit) @call)
