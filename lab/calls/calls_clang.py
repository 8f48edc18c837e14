"""Finds calls in C or C++ files with libclang: one JSON row per call, for lab/call_edges.py.

python calls_clang.py FOLDER GLOB… -- COMPILER-OPTION…
"""

import json
import sys
from functools import cache
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit

FUNCTIONS = (
    CursorKind.FUNCTION_DECL,
    CursorKind.CXX_METHOD,
    CursorKind.CONSTRUCTOR,
    CursorKind.FUNCTION_TEMPLATE,
    CursorKind.DESTRUCTOR,
)
CALLS = (CursorKind.CALL_EXPR, CursorKind.MACRO_INSTANTIATION)
VARIABLES = (CursorKind.VAR_DECL, CursorKind.PARM_DECL, CursorKind.FIELD_DECL)
OUTSIDE = ("outside", 0)


@cache
def inside(name: str, root: Path) -> str:
    """The path inside the folder; empty for a file outside it."""
    path = Path(name).resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else ""


def place(node: Cursor, root: Path) -> tuple[str, int]:
    at = node.location
    return (inside(at.file.name, root), at.line) if at.file is not None else ("", 0)


def main() -> None:
    split = sys.argv.index("--")
    root, globs, options = Path(sys.argv[1]).resolve(), sys.argv[2:split], sys.argv[split + 1 :]
    definitions: dict[str, tuple[str, int]] = {}
    calls: dict[tuple[str, int, str, str], tuple[str, int]] = {}
    headers: set[str] = set()
    here: set[tuple[str, int, str, str]] = set()  # calls of functions in the same translation unit
    for file in sorted({one for glob in globs for one in root.glob(glob)}):
        unit = Index.create().parse(str(file), args=options, options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        before = set(headers)  # each header is walked once
        for top in unit.cursor.get_children():
            path = place(top, root)[0]
            if not path or path in before:
                continue
            headers.add(path)
            for node in top.walk_preorder():
                where, line = place(node, root)
                if node.kind in FUNCTIONS and node.is_definition():
                    definitions[node.get_usr()] = (where, line)
                elif node.kind in CALLS and node.spelling and where:
                    callee = node.referenced
                    if callee is None:
                        calls.setdefault((where, line, node.spelling, ""), ("", 0))
                    else:
                        callee = callee.get_definition() or callee
                        target = OUTSIDE if callee.kind in VARIABLES else place(callee, root)
                        key = (where, line, node.spelling, callee.get_usr())
                        calls[key] = target if target[0] else OUTSIDE
                        if callee.is_definition():
                            here.add(key)
    for path in sorted(headers):
        write(path, 0, "", "", 0)
    for key, results in calls.items():
        path, line, name, usr = key
        write(path, line, name, *(definitions.get(usr, results) if key not in here else results))


def write(path: str, line: int, name: str, callee_path: str, callee_line: int) -> None:
    row = {"path": path, "line": line, "name": name, "callee_path": callee_path, "callee_line": callee_line}
    print(json.dumps(row))


main()
