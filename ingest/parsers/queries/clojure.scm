((list_lit . value: (sym_lit) @_def) @function
  (#match? @_def "^([a-z.]+/)?(>?defn-?|defmacro|defmulti|defmethod|deftest|defspec|definline|reg-[a-z-]+)$"))
((list_lit . value: (sym_lit) @_def) @class (#match? @_def "^(defrecord|deftype|definterface|extend-type)$"))
((list_lit . value: (sym_lit) @_def) @interface (#match? @_def "^([a-z.]+/)?defprotocol$"))
(source (list_lit . value: (sym_lit) @_def) @constant (#match? @_def "^([a-z.]+/)?def(once)?$"))
(source (list_lit . value: (sym_lit) @_def) @function
  (#match? @_def "^([a-z.]+/)?def(?!(once|protocol|record|type|interface|ault)$)[a-z-]+$"))
(list_lit . value: (sym_lit) @call)
