(defProc) @function
(declType (declClass)) @class
(declType (declIntf)) @interface
(declType) @type
(declConst) @constant
