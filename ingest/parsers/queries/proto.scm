[(message) (service)] @class
(enum) @enum
(rpc) @function
(import) @import
