; inherits: scheme
