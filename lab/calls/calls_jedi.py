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
            calls = node.func
            if isinstance(calls, ast.Attribute):
                line, name = calls.end_lineno or 0, calls.attr
                column = (calls.end_col_offset or 0) - len(name)
            elif isinstance(calls, ast.Name):
                line, column, name = calls.lineno, calls.col_offset, calls.id
            else:
                continue
            column = len(source.split("\n")[line - 1].encode()[:column].decode())
            try:
                results = script.goto(line, column, follow_imports=True)
                # A variable counts as its value; one with an unknown value gives no row.
                if any(one.type not in ("function", "class", "module") for one in results):
                    results = script.infer(line, column) or [None]
            except Exception:  # noqa: BLE001  # jedi fails in many ways; such a call gives no row
                results = []
            if not results or any(one is None for one in results):
                write(path, line, name, "", 0)
            for one in results:
                if one is None:
                    continue
                position = Path(one.module_path).resolve() if one.module_path else None
                if position and position.is_relative_to(root) and one.type in ("function", "class"):
                    write(path, line, name, str(position.relative_to(root)), one.line or 0)
                else:
                    write(path, line, name, "outside", one.line or 0)


def write(path: str, line: int, name: str, callee_path: str, callee_line: int) -> None:
    row = {"path": path, "line": line, "name": name, "callee_path": callee_path, "callee_line": callee_line}
    print(json.dumps(row))


main()
