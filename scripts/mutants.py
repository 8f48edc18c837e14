"""Mutation testing: plants small faults, one at a time, and counts how many the tests notice.

usage: scripts/mutants.py [--count 100] [--seed 0] [--seconds 900] [--jobs 2] [--only engine/embedded,search]
                          [--tests engine,search] [--json FILE]

A fault is one change of the syntax tree: another comparison, a number off by one, `and` for `or`, a negated condition,
swapped arguments, a statement left out. First all quick tests of the rooms run once, with a probe at the place of each
fault that notes which test reaches it. Then a forked process compiles the module with the fault and runs these tests,
the quickest first; no file is changed. A place that is reached by an import (a constant) gets the tests that import the
module. A fault that no test reaches survives. Exits with 1 if too few faults are noticed.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import os
import random
import re
import shutil
import signal
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("engine", "ingest", "search", "rerank", "graph", "eval")
TESTED = (*ROOMS, "corpus", "survival", "service")  # folders of tests
REACHED = "__treeline_reached__"  # the name of the probe
LEFT_OUT = ("engine/elasticsearch", "eval/bench", "eval/report", "eval/torture")  # servers, pictures, speed
MOST_FILES = 5  # of tests for a place that an import reaches
MOST_SECONDS = 60.0  # of tests for a fault, by what they took without it
LEAST = 0.8
# Seconds for the tests of a fault, and how many times as long as without it they may take; beyond that they hang, which
# counts as noticed.
HANGS, HANGS_TIMES = 60.0, 10
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
# Calls whose exchanged arguments mean the same, or fail in every test.
NOT_EXCHANGED = frozenset({"isinstance", "getattr", "setattr", "hasattr", "max", "min"})
SILENT = re.compile(r"^(log|warnings|progress)\b|\.debug\(|\.info\(|\.warning\(")


@dataclass
class Fault:
    module: str
    line: int
    what: str
    number: int
    at_import: bool = False  # outside of functions: importing the module reaches it
    outcome: str = ""  # `noticed`, `hung`, `survived`, `unreached`; `untested` if the tests fail without the fault

    @property
    def key(self) -> str:
        return f"{self.module}:{self.number}"


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

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg == "strict":  # of `zip`: says what always holds
            return node
        self.generic_visit(node)
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
        known = isinstance(node.func, ast.Name) and node.func.id in NOT_EXCHANGED
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

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Visit the body, not decorators: a dataclass that is not frozen works as well."""
        node.body = [self.visit(one) for one in node.body]
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
            if path.name != "__init__.py" and not name.startswith(LEFT_OUT) and name.startswith(tuple(only.split(","))):
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
    """Imports one module changed."""

    def __init__(self, name: str, path: Path, tree: ast.AST) -> None:
        self._name, self._path = name, path
        self._code = compile(ast.fix_missing_locations(tree), str(path), "exec")  # type: ignore[arg-type]

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=self)

    def exec_module(self, module: object) -> None:
        exec(self._code, module.__dict__)  # noqa: S102 - runs the faulty module


def replace_module(module: str, tree: ast.AST) -> None:
    name = "treeline." + module.removesuffix(".py").replace("/", ".")
    sys.meta_path.insert(0, Replaced(name, ROOT / "treeline" / module, tree))


def plant(fault: Fault) -> None:
    replace_module(
        fault.module, Planter(fault.number).visit(ast.parse((ROOT / fault.module).read_text(encoding="utf-8")))
    )


def probe(tree: ast.Module, faults: Sequence[Fault]) -> bool:
    """Put a call of `REACHED` before the statement of each fault; returns whether there is any inside a function."""
    any_inside = False
    for fault in faults:
        inside = [
            (statement.lineno, body)
            for owner in ast.walk(tree)
            if isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(owner)
            for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
            if isinstance(body, list)
            for statement in body
            if statement.lineno <= fault.line <= (statement.end_lineno or 0)
        ]
        if not inside:
            continue
        any_inside = True
        _, body = max(inside, key=lambda found: found[0])
        at = next(at for at, one in enumerate(body) if one.lineno <= fault.line <= (one.end_lineno or 0))
        call = ast.parse(f"__import__('builtins').{REACHED}({fault.key!r})").body[0]
        for node in ast.walk(call):
            ast.copy_location(node, body[at])
        body.insert(at, call)
    return any_inside


class Recorder:
    """A pytest plugin that notes which tests reach which probe, and the seconds that each test takes."""

    def __init__(self) -> None:
        self.reached: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self._test = ""

    def note(self, key: str) -> None:
        if self._test:
            self.reached.setdefault(key, set()).add(self._test)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._test = nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:  # it says nothing about a fault
            self.seconds[report.nodeid] = math.inf

    def pytest_runtest_logfinish(self) -> None:
        self._test = ""


class Chosen:
    """A pytest plugin that runs these tests alone, in this order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._place = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((one for one in items if one.nodeid in self._place), key=lambda one: self._place[one.nodeid])


def run_pytest(arguments: Sequence[str], plugins: Sequence[object]) -> int:
    base = Path(f"{'/dev/shm' if Path('/dev/shm').is_dir() else '/tmp'}/mutants-{os.getpid()}")  # noqa: S108
    options = ["-q", "-p", "no:cacheprovider", "-m", MARKS, f"--basetemp={base}"]
    try:
        return int(pytest.main([*options, *arguments], plugins=list(plugins)))
    finally:
        shutil.rmtree(base, ignore_errors=True)


def forked(work: Callable[[], int], limit: float) -> int | None:
    """The exit code of the work, done silently in a forked process; None where it takes too long."""
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.setsid()
        code = 1
        try:
            with Path(os.devnull).open("w") as nowhere:
                for number in (1, 2):
                    os.dup2(nowhere.fileno(), number)
            code = work()
        finally:
            os._exit(code)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def record(files: Sequence[str], faults: Sequence[Fault], out: Path) -> int:
    """Run these test files with the probes, and write down what they reach."""
    recorder = Recorder()
    setattr(builtins, REACHED, recorder.note)
    for module in {fault.module for fault in faults}:
        tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
        if probe(tree, [fault for fault in faults if fault.module == module]):
            replace_module(module, tree)
    run_pytest(files, [recorder])
    reached = {key: sorted(tests) for key, tests in recorder.reached.items()}
    out.write_text(json.dumps({"reached": reached, "seconds": recorder.seconds}), encoding="utf-8")
    return 0


@dataclass(frozen=True)
class Selection:
    """The tests for a fault, and the seconds that they take without it."""

    tests: Sequence[str] = ()
    seconds: float = MOST_SECONDS


def reached_by(faults: Sequence[Fault], folders: Sequence[str], jobs: int, limit: float) -> dict[str, Selection]:
    """The tests that reach each fault, quickest first, as many as fit into `MOST_SECONDS`."""
    files = [path for folder in folders for path in (ROOT / "tests" / folder).rglob("test_*.py")]
    files.sort(key=lambda path: (-path.stat().st_size, path))
    names = [path.relative_to(ROOT).as_posix() for path in files]
    reached: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        outs = [Path(folder, str(job)) for job in range(jobs)]
        threads = [
            Thread(target=forked, args=(partial(record, names[job::jobs], faults, out), limit))
            for job, out in enumerate(outs)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for out in filter(Path.exists, outs):
            found = json.loads(out.read_text(encoding="utf-8"))
            seconds |= found["seconds"]
            for key, tests in found["reached"].items():
                reached.setdefault(key, []).extend(tests)
    return {key: select({test: seconds.get(test, math.inf) for test in tests}) for key, tests in reached.items()}


def select(seconds: Mapping[str, float]) -> Selection:
    quickest = sorted(seconds, key=lambda test: (seconds[test], test))
    spent = list(accumulate(seconds[test] for test in quickest))
    count = bisect_right(spent, MOST_SECONDS)
    return Selection(quickest[:count], spent[count - 1] if count else 0.0)


def try_fault(fault: Fault, tests: Sequence[str]) -> int:
    plant(fault)
    chosen = [Chosen(tests)] if any("::" in test for test in tests) else []
    return run_pytest(["-x", *dict.fromkeys(test.partition("::")[0] for test in tests)], chosen)


def judge(faults: Sequence[Fault], reached: Mapping[str, Selection], end: float, out: Path) -> None:
    sound: dict[str, bool] = {}
    with out.open("w", encoding="utf-8") as file:
        for fault in faults:
            if time.monotonic() > end:
                break
            chosen, usable = reached.get(fault.key, Selection()), True
            if fault.at_import:
                chosen = Selection(tests_of(fault.module))
                if fault.module not in sound:
                    alone = partial(run_pytest, ["-x", *chosen.tests], [])
                    sound[fault.module] = bool(chosen.tests) and forked(alone, HANGS_TIMES * MOST_SECONDS) == 0
                usable = sound[fault.module]
            if not usable:
                fault.outcome = "untested"  # its tests fail without any fault, or there are none
            elif not chosen.tests:
                fault.outcome = "unreached"
            else:
                code = forked(partial(try_fault, fault, chosen.tests), HANGS + HANGS_TIMES * chosen.seconds)
                fault.outcome = {None: "hung", 0: "survived"}.get(code, "noticed")
            print(f"{fault.outcome:9} {fault.module}:{fault.line} {fault.what} ({len(chosen.tests)} tests)", flush=True)
            file.write(json.dumps(asdict(fault)) + "\n")
            file.flush()


def sample(only: str, count: int, seed: int) -> list[Fault]:
    every = []
    for module in modules(only):
        tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
        inside = [
            range(owner.body[0].lineno, (owner.end_lineno or 0) + 1)
            for owner in ast.walk(tree)
            if isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for number, (line, what) in enumerate(places(module)):
            every.append(Fault(module, line, what, number, at_import=not any(line in lines for lines in inside)))
    return random.Random(seed).sample(every, min(count, len(every)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="modules whose path starts with one of these")
    parser.add_argument("--tests", default=",".join(TESTED), help="folders of tests that may notice a fault")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in PRELOADED:
        importlib.import_module(name)
    end = time.monotonic() + options.seconds
    faults = sample(options.only, options.count, options.seed)
    reached = reached_by(faults, options.tests.split(","), options.jobs, options.seconds)
    print(f"tests reach {len(reached)} of {sum(not fault.at_import for fault in faults)} places inside functions")
    files = [Path(f"/tmp/treeline-mutants-{os.getpid()}-{job}") for job in range(options.jobs)]  # noqa: S108
    pids = []
    for job, file in enumerate(files):
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            judge(faults[job :: options.jobs], reached, end, file)
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
    share = len(noticed) / max(1, len(counted))
    print(f"\n{len(noticed)} of {len(counted)} faults noticed ({share:.0%}), {len(judged) - len(counted)} untested")
    if options.json:
        options.json.write_text(json.dumps([asdict(fault) for fault in judged], indent=1), encoding="utf-8")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
