"""Finds calls in a Python folder with jedi: one JSON row per call, for lab/call_edges.py.

python calls_jedi.py FOLDER
"""

import ast
import json
import sys
from pathlib import Path

import jedi


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    project = jedi.Project(root, added_sys_path=[str(root), str(root / "src")])
    for file in sorted(root.rglob("*.py")):
        source = file.read_text()
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        path = str(file.relative_to(root))
        write(path, 0, "", "", 0)
        script = jedi.Script(source, path=file, project=project)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Attribute):
                line, name = called.end_lineno or 0, called.attr
                column = (called.end_col_offset or 0) - len(name)
            elif isinstance(called, ast.Name):
                line, column, name = called.lineno, called.col_offset, called.id
            else:
                continue
            column = len(source.split("\n")[line - 1].encode()[:column].decode())
            try:
                found = script.goto(line, column, follow_imports=True)
                # A variable counts as its value; one with an unknown value gives no row.
                if any(one.type not in ("function", "class", "module") for one in found):
                    found = script.infer(line, column) or [None]
            except Exception:  # noqa: BLE001  # jedi fails in many ways; such a call gives no row
                found = []
            if not found or any(one is None for one in found):
                write(path, line, name, "", 0)
            for one in found:
                if one is None:
                    continue
                place = Path(one.module_path).resolve() if one.module_path else None
                if place and place.is_relative_to(root) and one.type in ("function", "class"):
                    write(path, line, name, str(place.relative_to(root)), one.line or 0)
                else:
                    write(path, line, name, "outside", one.line or 0)


def write(path: str, line: int, name: str, callee_path: str, callee_line: int) -> None:
    row = {"path": path, "line": line, "name": name, "callee_path": callee_path, "callee_line": callee_line}
    print(json.dumps(row))


main()
