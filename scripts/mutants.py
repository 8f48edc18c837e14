"""Mutation testing: plants small faults, one at a time, and counts how many the tests notice.

usage: scripts/mutants.py [--count 100] [--seed 0] [--seconds 900] [--jobs 2] [--only engine/embedded] [--json FILE]

A fault is one change of the syntax tree: another comparison, a number off by one, `and` for `or`, a negated condition,
swapped arguments, a statement left out. A forked process compiles the module with the fault and runs the tests that
import it, the closest first; no file is changed. Exits with 1 if too few faults are noticed.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("engine", "ingest", "search", "rerank", "graph", "eval")
LEFT_OUT = ("engine/elasticsearch", "eval/bench", "eval/report", "eval/torture")  # servers, pictures, speed
MOST_FILES = 5  # of tests for a module
LEAST = 0.8
SLOWEST = 90.0  # seconds for the tests of a fault; beyond that it hangs, which counts as noticed
MARKS = "not (slow or elasticsearch or docker or browser or transformers or shared)"
PRELOADED = ("pytest", "numpy", "tantivy", "orjson", "click", "rich.console", "xxhash", "tree_sitter")
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SILENT = re.compile(r"^(log|warnings|progress)\b|\.debug\(|\.info\(|\.warning\(")


@dataclass
class Fault:
    module: str
    line: int
    what: str
    number: int
    outcome: str = ""
    """`noticed`, `survived` or `hung`."""


class Planter(ast.NodeTransformer):
    """Counts the places for faults, and plants the requested one."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted = wanted
        self.places: list[tuple[int, str]] = []

    def _here(self, node: ast.AST, what: str) -> bool:
        self.places.append((getattr(node, "lineno", 0), what))
        return len(self.places) - 1 == self.wanted

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = COMPARISONS.get(type(node.ops[0]))
        if other and self._here(node, f"{type(node.ops[0]).__name__} → {other.__name__}"):
            node.ops[0] = other()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        other = OPERATORS.get(type(node.op))
        text = isinstance(node.left, ast.Constant | ast.JoinedStr) and not isinstance(
            getattr(node.left, "value", ""), int | float
        )
        if other and not text and self._here(node, f"{type(node.op).__name__} → {other.__name__}"):
            node.op = other()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._here(node, "and ↔ or"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return node.operand if isinstance(node.op, ast.Not) and self._here(node, "`not` left out") else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            if self._here(node, f"{node.value} → {not node.value}"):
                return ast.copy_location(ast.Constant(not node.value), node)
        elif isinstance(node.value, int) and self._here(node, f"{node.value} → {node.value + 1}"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return node
        self.generic_visit(node)
        if self._here(node, "condition turned round"):
            node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        plain = len(node.args) >= 2 and not any(isinstance(one, ast.Starred) for one in node.args[:2])
        known = isinstance(node.func, ast.Name) and node.func.id in {"isinstance", "getattr", "setattr", "hasattr"}
        if plain and not known and self._here(node, f"arguments of {ast.unparse(node.func)[:40]} exchanged"):
            node.args[0], node.args[1] = node.args[1], node.args[0]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant) or SILENT.search(ast.unparse(node.value)):
            return node
        self.generic_visit(node)
        if isinstance(node.value, ast.Call) and self._here(node, f"left out: {ast.unparse(node)[:60]}"):
            return ast.copy_location(ast.Pass(), node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Pass(), node) if self._here(node, f"left out: {ast.unparse(node)[:60]}") else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Visit the body and defaults, not annotations and decorators."""
        node.args.defaults = [self.visit(one) for one in node.args.defaults]
        body: list[ast.stmt] = []
        for statement in node.body:
            changed = self.visit(statement)
            body.append(changed)
        node.body = body
        return node


def modules(only: str) -> list[str]:
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if path.name != "__init__.py" and not name.startswith(LEFT_OUT) and name.startswith(only):
                found.append(name)
    return found


def places(module: str) -> list[tuple[int, str]]:
    planter = Planter()
    planter.visit(ast.parse((ROOT / module).read_text(encoding="utf-8")))
    return planter.places


def tests_of(module: str) -> list[str]:
    """The test files nearest to a module: of its name, then those that import it, then those of its folder."""
    path = Path(module)
    dotted = "treeline." + module.removesuffix(".py").replace("/", ".")
    package, _, name = dotted.rpartition(".")
    direct = re.compile(
        rf"^\s*(from {re.escape(dotted)} import|import {re.escape(dotted)}\b"
        rf"|from {re.escape(package)} import .*\b{name}\b)",
        re.MULTILINE,
    )
    found = []
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        text = test.read_text(encoding="utf-8")
        inside = test.is_relative_to(ROOT / "tests" / path.parts[0])
        own = inside and test.name == f"test_{path.stem}.py"
        folder = inside and (path.parent.name in test.stem or test.parent == ROOT / "tests" / path.parent)
        reached = direct.search(text) is not None
        if own or reached or folder:
            found.append((not own, not (inside and reached), not reached, len(text), test.relative_to(ROOT).as_posix()))
    return [test for *_, test in sorted(found)][:MOST_FILES]


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with the fault in it."""

    def __init__(self, name: str, path: Path, tree: ast.AST) -> None:
        self._name, self._path = name, path
        self._code = compile(ast.fix_missing_locations(tree), str(path), "exec")  # type: ignore[arg-type]

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=self)

    def exec_module(self, module: object) -> None:
        exec(self._code, module.__dict__)  # noqa: S102 - runs the faulty module


def plant(fault: Fault) -> None:
    tree = Planter(fault.number).visit(ast.parse((ROOT / fault.module).read_text(encoding="utf-8")))
    name = "treeline." + fault.module.removesuffix(".py").replace("/", ".")
    sys.meta_path.insert(0, Replaced(name, ROOT / "treeline" / fault.module, tree))


def run_tests(tests: list[str], fault: Fault | None, limit: float) -> str:
    """Run the tests in a forked process: `passed`, `failed` or `hung`."""
    pid = os.fork()
    if not pid:
        os.setsid()
        with Path(os.devnull).open("w") as nowhere:
            for number in (1, 2):
                os.dup2(nowhere.fileno(), number)
        code = 1
        try:
            import pytest

            if fault is not None:
                plant(fault)
            base = f"/dev/shm/mutants-{os.getpid()}" if Path("/dev/shm").is_dir() else f"/tmp/mutants-{os.getpid()}"  # noqa: S108
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", MARKS, f"--basetemp={base}"]
            code = int(pytest.main([*options, *tests]))
            import shutil

            shutil.rmtree(base, ignore_errors=True)
        finally:
            os._exit(code)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return "passed" if code == 0 else "none" if code == 5 else "failed"
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hung"


def judge(faults: list[Fault], end: float, out: Path) -> None:
    sound: dict[str, bool] = {}
    with out.open("w", encoding="utf-8") as file:
        for fault in faults:
            if time.monotonic() > end:
                break
            tests = tests_of(fault.module)
            if fault.module not in sound:
                sound[fault.module] = bool(tests) and run_tests(tests, None, 2 * SLOWEST) == "passed"
            if not sound[fault.module]:
                fault.outcome = "untested"  # its tests fail without any fault, or there are none
            else:
                made = run_tests(tests, fault, SLOWEST)
                fault.outcome = {"passed": "survived", "hung": "hung"}.get(made, "noticed")
            print(f"{fault.outcome:9} {fault.module}:{fault.line} {fault.what}", flush=True)
            file.write(json.dumps(asdict(fault)) + "\n")
            file.flush()


def sample(only: str, count: int, seed: int) -> list[Fault]:
    every = [
        Fault(module, line, what, number)
        for module in modules(only)
        for number, (line, what) in enumerate(places(module))
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


def shares(faults: list[Fault], jobs: int) -> Iterator[list[Fault]]:
    """Divide the faults among jobs. A module's faults stay together, so its tests run without a fault only once."""
    by_module = sorted({fault.module for fault in faults})
    for job in range(jobs):
        mine = set(by_module[job::jobs])
        yield [fault for fault in faults if fault.module in mine]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="modules whose path starts with this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in PRELOADED:
        importlib.import_module(name)
    end = time.monotonic() + options.seconds
    files, pids = [], []
    for job, share in enumerate(shares(sample(options.only, options.count, options.seed), options.jobs)):
        files.append(Path(f"/tmp/treeline-mutants-{os.getpid()}-{job}"))  # noqa: S108
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            judge(share, end, files[-1])
            sys.stdout.flush()
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    judged = [Fault(**json.loads(line)) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    for file in files:
        file.unlink()
    counted = [fault for fault in judged if fault.outcome != "untested"]
    noticed = [fault for fault in counted if fault.outcome in {"noticed", "hung"}]
    share_ = len(noticed) / max(1, len(counted))
    print(f"\n{len(noticed)} of {len(counted)} faults noticed ({share_:.0%}), {len(judged) - len(counted)} untested")
    if options.json:
        options.json.write_text(json.dumps([asdict(fault) for fault in judged], indent=1), encoding="utf-8")
    return 0 if share_ >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
