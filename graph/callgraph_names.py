"""Names that say nothing about a repository: built-ins, methods of built-in types, and well-known modules."""

from __future__ import annotations

import builtins
import sys

_PYTHON_TYPES: tuple[type, ...] = (str, bytes, list, dict, set, tuple, int, float, object)
_PYTHON_METHODS = frozenset(name for kind in _PYTHON_TYPES for name in dir(kind))
_FILES = frozenset("read write close open seek flush readline readlines writelines tell".split())

BUILTINS: dict[str, frozenset[str]] = {
    "python": frozenset(dir(builtins)),
    "javascript": frozenset(
        "require parseInt parseFloat isNaN setTimeout setInterval clearTimeout clearInterval fetch alert encodeURI "
        "encodeURIComponent decodeURI decodeURIComponent Array Object String Number Boolean Date Error TypeError "
        "Promise Map Set WeakMap Symbol RegExp Proxy JSON Math Buffer".split()
    ),
    "go": frozenset(
        "append cap close complex copy delete imag len make max min new panic print println real recover string int "
        "int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 byte rune float32 float64 bool error any".split()
    ),
    "ruby": frozenset(
        "puts print p raise require require_relative attr_accessor attr_reader attr_writer include extend private "
        "protected public lambda proc loop format sprintf gets rand sleep block_given? freeze".split()
    ),
    "php": frozenset(
        "count strlen isset empty array_map array_filter array_merge array_keys array_values in_array implode explode "
        "sprintf printf str_replace substr strpos trim is_array is_string is_null intval json_encode json_decode "
        "Exception array".split()
    ),
    "java": frozenset("String Integer Long Double Float Boolean Object List Map Set Exception".split()),
}

# A method of this name on a receiver of unknown type is most likely the built-in type's.
COMMON_METHODS: dict[str, frozenset[str]] = {
    "python": _PYTHON_METHODS | _FILES,
    "javascript": frozenset(
        "push pop shift unshift slice splice map filter reduce forEach find findIndex indexOf includes join concat "
        "sort reverse some every keys values entries then catch finally apply call bind toString valueOf split replace "
        "hasOwnProperty match test exec trim toLowerCase toUpperCase charAt substring substr startsWith endsWith get "
        "set has delete add clear log error warn on once emit addEventListener appendChild setAttribute".split()
    ),
    "java": frozenset(
        "equals hashCode toString getClass add remove get set put size isEmpty contains containsKey keySet values "
        "entrySet iterator next hasNext append length charAt substring indexOf split trim stream map filter collect "
        "forEach format valueOf parseInt println print close read write flush getMessage getName".split()
    ),
    "ruby": frozenset(
        "each map select reject inject reduce first last push pop size length empty? nil? to_s to_i to_a to_sym new "
        "join split gsub sub strip merge keys values key? include? sort sort_by dup freeze call send respond_to? "
        "is_a? class any? all? find detect flatten compact uniq zip puts write read close".split()
    ),
    "go": frozenset("Error String Close Read Write Lock Unlock RLock RUnlock Add Done Wait Len Printf Println".split()),
    "php": frozenset("get set add remove has count format getMessage".split()),
}

STANDARD_MODULES = frozenset(sys.stdlib_module_names)
# How popular Python libraries are called in code whose imports were not seen (CodeSearchNet keeps functions alone).
POPULAR_ALIASES = frozenset(
    "np pd plt tf nn torch F K sp sns sk cv2 nx mpl scipy numpy pandas requests yaml click flask django six logger log "
    "logging cls_ boto3 tqdm bs4 etree ET ast ctx sympy theano keras sqlalchemy jsonschema pytest mock".split()
)


def dialect(language: str) -> str:
    """TypeScript's built-ins are JavaScript's."""
    return "javascript" if language == "typescript" else language
