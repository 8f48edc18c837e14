[(function_definition) (macro_definition)] @function
((list . (symbol) @_def) @function
  (#match? @_def "^(cl-def(un|macro|method|generic|subst)|defsubst|ert-deftest|transient-define-.*|define-.*-mode)$"))
((list . (symbol) @_def) @class (#match? @_def "^(cl-defstruct|defclass)$"))
(special_form "defvar") @constant
(special_form "defconst") @constant
((list . (symbol) @_def) @constant
  (#match? @_def "^(defcustom|defgroup|defface|defalias|defvar-.*|define-error|use-package)$"))
(list . (symbol) @call)
