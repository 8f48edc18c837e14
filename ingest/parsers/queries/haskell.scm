(declarations [(signature) (function) (bind)] @function)
(declarations (top_splice) @function)
(class_declarations [(signature) (function)] @function)
(instance_declarations [(function) (bind)] @function)
(foreign_import (signature) @function)
[(data_type) (newtype)] @class
(class) @interface
(instance) @class
[(type_synomym) (type_family) (data_family)] @type
(apply function: [(variable) (qualified)] @call)
(infix operator: (operator) @call)
(import) @import
