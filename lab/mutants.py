"""Mutation testing: plants small faults, one at a time, and counts how many the tests notice.

usage: python -m lab.mutants [--count 100] [--seed 0] [--seconds 900] [--jobs 2] [--only engine/embedded,search]
                          [--tests engine,search] [--json FILE] [--again FILE] [--slow]

A fault is one change of the syntax tree: another comparison, a number off by one (a large one doubled), `and` for
`or`, a negated condition, swapped arguments, a statement left out. First all quick tests of the rooms run once, with a
probe at the place of each fault that notes which test reaches it, also in processes that the test starts. Then a forked
process compiles the module with the fault and runs these tests, the quickest first; no file is changed. A place that an
import reaches (a constant, a default) gets the tests that reach the functions which use it. A fault that no test
reaches survives. Exits with 1 if too few faults are noticed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import marshal
import math
import os
import random
import re
import shutil
import signal
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

from lab.planted import sitecustomize

ROOT = Path(__file__).resolve().parent.parent
PLANTED = ROOT / "lab" / "planted"

ROOMS = ("engine", "ingest", "search", "rerank", "graph", "eval")
TESTED = (*ROOMS, "corpus", "survival", "service")  # folders of tests
LEFT_OUT = ("engine/elasticsearch", "eval/report")  # servers, pictures
MOST_FILES = 5  # of tests for a constant that no function uses by name
LEAST = 0.8
# Seconds for the tests of a fault, and how many times the processor's seconds without it they may take; beyond that
# they hang, which counts as noticed.
HANGS, HANGS_TIMES = 120.0, 20
SERVERS = "elasticsearch or docker or browser"
QUICK = f"not (slow or transformers or shared or {SERVERS})"
SLOW = f"(slow or transformers or shared) and not ({SERVERS})"


@dataclass
class Effort:
    """The tests that run, and seconds of a processor for a fault, by what they take without it."""

    marks: str = QUICK
    seconds: float = 20.0


EFFORT = Effort()
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
NOT_EXCHANGED = frozenset(
    """isinstance getattr setattr hasattr max min maximum minimum logical_and logical_or fmax fmin hypot union1d
    intersect1d array_equal allclose isclose""".split()
)
ROUND = 100  # a larger number is a limit that nobody means to the last digit: it is doubled
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
        elif isinstance(node.value, int):
            other = node.value + 1 if node.value < ROUND else 2 * node.value
            if self._here(node, f"{node.value} → {other}"):
                return ast.copy_location(ast.Constant(other), node)
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
        known = getattr(node.func, "id", getattr(node.func, "attr", "")) in NOT_EXCHANGED
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
            changes = self.visit(statement)
            body.append(changes)
        node.body = body
        return node


def modules(only: str) -> list[str]:
    results = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if path.name != "__init__.py" and not name.startswith(LEFT_OUT) and name.startswith(tuple(only.split(","))):
                results.append(name)
    return results


def everywhere() -> list[str]:
    """All modules of all rooms, also of those without faults."""
    return [
        path.relative_to(ROOT).as_posix()
        for room in (*ROOMS, "service")
        for path in sorted((ROOT / room).rglob("*.py"))
        if path.name != "__init__.py"
    ]


def places(module: str) -> list[tuple[int, str]]:
    planter = Planter()
    planter.visit(parse(module))
    return planter.places


def tests_of(module: str) -> list[str]:
    """The test files nearest to a module: of its name, then those that import it, then those of its folder."""
    path = Path(module)
    import_name = "treeline." + module.removesuffix(".py").replace("/", ".")
    package, _, name = import_name.rpartition(".")
    direct = re.compile(
        rf"^\s*(from {re.escape(import_name)} import|import {re.escape(import_name)}\b"
        rf"|from {re.escape(package)} import .*\b{name}\b)",
        re.MULTILINE,
    )
    results = []
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        text = test.read_text(encoding="utf-8")
        inside = test.is_relative_to(ROOT / "tests" / path.parts[0])
        own = inside and test.name == f"test_{path.stem}.py"
        folder = inside and (path.parent.name in test.stem or test.parent == ROOT / "tests" / path.parent)
        hits = direct.search(text) is not None
        if own or hits or folder:
            results.append((not own, not (inside and hits), not hits, len(text), test.relative_to(ROOT).as_posix()))
    return [test for *_, test in sorted(results)][:MOST_FILES]


def plant(changed: Mapping[str, ast.AST], scratch: Path) -> None:
    """Change these modules here and in every Python process that is started from here."""
    code = {
        "treeline." + module.removesuffix(".py").replace("/", "."): (
            str(ROOT / "treeline" / module),
            compile(ast.fix_missing_locations(tree), str(ROOT / "treeline" / module), "exec"),  # type: ignore[call-overload]
        )
        for module, tree in changed.items()
    }
    path = scratch / f"code-{os.getpid()}"
    path.write_bytes(marshal.dumps(code))
    os.environ |= {
        sitecustomize.CODE: str(path),
        sitecustomize.NOTES: str(scratch / f"notes-{os.getpid()}"),
        "PYTHONPATH": os.pathsep.join([str(PLANTED), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    sitecustomize.install()


def parse(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def functions_in(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def words_in(node: ast.AST) -> set[str]:
    """The names, attributes and keywords in a piece of code."""
    return {
        word
        for one in ast.walk(node)
        for word in (getattr(one, "id", None), getattr(one, "attr", None), getattr(one, "arg", None))
        if isinstance(word, str)
    }


def defined_by(statement: ast.stmt) -> set[str]:
    """The names that a statement outside of functions gives a meaning."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {statement.name}
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return {node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)}


def users(fault: Fault, trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, int]]:
    """The functions that use what an import computes: module and first line of the body, for each."""
    own = trees[fault.module]
    statements = [one for one in own.body if one.lineno <= fault.line <= (one.end_lineno or 0)]
    names = {name for statement in statements for name in defined_by(statement)}
    methods = [method for statement in statements for method in functions_in(statement)]
    while True:  # and what else is computed from it
        more = names.union(
            *(defined_by(one) for one in own.body if isinstance(one, ast.Assign) and words_in(one) & names)
        )
        if more == names:
            break
        names = more
    import_name = fault.module.removesuffix(".py").replace("/", ".")
    package, _, short = import_name.rpartition(".")
    for module, tree in trees.items():
        imports = [
            (one.module, alias) for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) for alias in one.names
        ]
        if module == fault.module or any((name, one.name) == (f"treeline.{package}", short) for name, one in imports):
            known = names
        else:
            known = {
                one.asname or one.name
                for name, one in imports
                if name == f"treeline.{import_name}" and one.name in names
            }
        for function in functions_in(tree) if known else ():
            if function in methods or words_in(function) & known:
                documents = len(function.body) > 1 and ast.get_docstring(function, clean=False) is not None
                yield module, function.body[documents].lineno


def probe(tree: ast.Module, points: Iterable[tuple[int, str]]) -> None:
    """Put a call before the statement of each line, which notes that a test reaches the fault with this key."""
    bodies = [
        body
        for owner in functions_in(tree)
        for node in ast.walk(owner)
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
        if isinstance(body, list)
    ]
    for line, key in points:
        inside = [
            (statement.lineno, at, body)
            for body in bodies
            for at, statement in enumerate(body)
            if statement.lineno <= line <= (statement.end_lineno or 0)
        ]
        if not inside:
            continue
        _, at, body = max(inside, key=lambda found: found[0])
        call = ast.parse(f"__import__('builtins').{sitecustomize.PROBE}({key!r})").body[0]
        for node in ast.walk(call):
            ast.copy_location(node, body[at])
        body.insert(at, call)


class Timer:
    """A pytest plugin that notes the seconds that each test takes: of processors, which on a busy machine vary less."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._before = 0.0

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._before = sum(os.times()[:4])  # with children

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:  # it says nothing about a fault
            self.seconds[report.nodeid] = math.inf

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds.setdefault(nodeid, sum(os.times()[:4]) - self._before)


class Chosen:
    """A pytest plugin that runs these tests alone, in this order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._place = {test: position for position, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((one for one in items if one.nodeid in self._place), key=lambda one: self._place[one.nodeid])


def run_pytest(arguments: Sequence[str], plugins: Sequence[object]) -> int:
    base = Path(f"{'/dev/shm' if Path('/dev/shm').is_dir() else '/tmp'}/mutants-{os.getpid()}")  # noqa: S108
    options = ["-q", "-p", "no:cacheprovider", "-m", EFFORT.marks, f"--basetemp={base}"]
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
        results, status = os.waitpid(pid, os.WNOHANG)
        if results:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def record(files: Sequence[str], faults: Sequence[Fault], scratch: Path) -> int:
    """Run these test files with the probes, and write down what they reach."""
    timer = Timer()
    trees = {module: parse(module) for module in everywhere()}
    points: dict[str, list[tuple[int, str]]] = {}
    for fault in faults:
        for module, line in users(fault, trees) if fault.at_import else [(fault.module, fault.line)]:
            points.setdefault(module, []).append((line, fault.key))
    for module, some in points.items():
        probe(trees[module], some)
    plant({module: trees[module] for module in points}, scratch)
    run_pytest(files, [timer])
    (scratch / f"seconds-{os.getpid()}").write_text(json.dumps(timer.seconds), encoding="utf-8")
    return 0


@dataclass(frozen=True)
class Selection:
    """The tests for a fault, and the seconds that they take without it."""

    tests: Sequence[str] = ()
    seconds: float = field(default_factory=lambda: EFFORT.seconds)


def reached_by(faults: Sequence[Fault], folders: Sequence[str], jobs: int, limit: float) -> dict[str, Selection]:
    """The tests that reach each fault, quickest first, as many as the effort allows."""
    files = [path for folder in folders for path in (ROOT / "tests" / folder).rglob("test_*.py")]
    files.sort(key=lambda path: (-path.stat().st_size, path))
    names = [path.relative_to(ROOT).as_posix() for path in files]
    hits: dict[str, set[str]] = {}
    seconds: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        threads = [
            Thread(target=forked, args=(partial(record, names[job::jobs], faults, scratch), limit))
            for job in range(jobs)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for path in scratch.glob("seconds-*"):
            seconds |= json.loads(path.read_text(encoding="utf-8"))
        for path in scratch.glob("notes-*"):
            for line in path.read_text(encoding="utf-8").splitlines():
                key, _, test = line.partition("\t")
                hits.setdefault(key, set()).add(test)
    return {key: select({test: seconds.get(test, math.inf) for test in tests}) for key, tests in hits.items()}


def select(seconds: Mapping[str, float]) -> Selection:
    quickest = sorted(seconds, key=lambda test: (seconds[test], test))
    times = list(accumulate(seconds[test] for test in quickest))
    count = bisect_right(times, EFFORT.seconds)
    return Selection(quickest[:count], times[count - 1] if count else 0.0)


class FirstFailure:
    """A pytest plugin that writes down which test fails."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._path.write_text(report.nodeid, encoding="utf-8")


def run_tests(tests: Sequence[str], *plugins: object) -> int:
    """Run these tests, or all tests of these files, up to the first that fails."""
    selection = [Chosen(tests)] if any("::" in test for test in tests) else []
    return run_pytest(["-x", *dict.fromkeys(test.partition("::")[0] for test in tests)], [*selection, *plugins])


def try_fault(fault: Fault | None, module: str, tests: Sequence[str], scratch: Path, failure: Path) -> int:
    """Run the tests with the fault, or with the module as it is, planted in the same way."""
    plant({module: Planter(fault.number).visit(parse(module)) if fault else parse(module)}, scratch)
    return run_tests(tests, FirstFailure(failure))


def outcome(fault: Fault, chosen: Selection, scratch: Path) -> str:
    """The verdict of the tests. One that fails without the fault, too, as on a busy machine, says nothing."""
    tests, limit, failure = list(chosen.tests), HANGS + HANGS_TIMES * chosen.seconds, scratch / "failure"
    while tests:
        failure.unlink(missing_ok=True)
        code = forked(partial(try_fault, fault, fault.module, tests, scratch, failure), limit)
        if code in (None, 0):
            return "hung" if code is None else "survived"
        failures = failure.read_text(encoding="utf-8") if failure.exists() else ""
        rest = partial(try_fault, None, fault.module, [failures], scratch, failure)
        if failures not in tests or forked(rest, limit) == 0:
            return "noticed"
        tests.remove(failures)
    return "untested"


def judge(faults: Sequence[Fault], reached: Mapping[str, Selection], end: float, out: Path) -> None:
    sound: dict[str, bool] = {}
    with out.open("w", encoding="utf-8") as file, TemporaryDirectory() as scratch:
        for fault in faults:
            if time.monotonic() > end:
                break
            selection, usable = reached.get(fault.key, Selection()), True
            if fault.at_import and not selection.tests:
                selection = Selection(tests_of(fault.module))
                if fault.module not in sound:
                    alone = partial(run_tests, selection.tests)
                    sound[fault.module] = bool(selection.tests) and forked(alone, HANGS_TIMES * EFFORT.seconds) == 0
                usable = sound[fault.module]
            if not usable:
                fault.outcome = "untested"  # its tests fail without any fault, or there are none
            elif not selection.tests:
                fault.outcome = "unreached"
            else:
                fault.outcome = outcome(fault, selection, Path(scratch))
            print(
                f"{fault.outcome:9} {fault.module}:{fault.line} {fault.what} ({len(selection.tests)} tests)", flush=True
            )
            file.write(json.dumps(asdict(fault)) + "\n")
            file.flush()


def sample(only: str, count: int, seed: int) -> list[Fault]:
    every = []
    for module in modules(only):
        inside = [range(owner.body[0].lineno, (owner.end_lineno or 0) + 1) for owner in functions_in(parse(module))]
        for number, (line, what) in enumerate(places(module)):
            every.append(Fault(module, line, what, number, at_import=not any(line in lines for lines in inside)))
    return random.Random(seed).sample(every, min(count, len(every)))


def survivors(file: Path) -> list[Fault]:
    every = [Fault(**each) for each in json.loads(file.read_text(encoding="utf-8"))]
    return [replace(fault, outcome="") for fault in every if fault.outcome in {"survived", "unreached"}]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="modules whose path starts with one of these")
    parser.add_argument("--tests", default=",".join(TESTED), help="folders of tests that may notice a fault")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--again", type=Path, help="the --json of an earlier run: try what survived in it")
    parser.add_argument("--slow", action="store_true", help="only the slow tests, up to five minutes for a fault")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in PRELOADED:
        importlib.import_module(name)
    end = time.monotonic() + options.seconds
    if options.slow:
        EFFORT.marks, EFFORT.seconds = SLOW, 300.0
    faults = survivors(options.again) if options.again else sample(options.only, options.count, options.seed)
    hits = reached_by(faults, options.tests.split(","), options.jobs, options.seconds)
    print(f"tests reach {len(hits)} of {len(faults)} places", flush=True)
    files = [Path(f"/tmp/treeline-mutants-{os.getpid()}-{job}") for job in range(options.jobs)]  # noqa: S108
    pids = []
    for job, file in enumerate(files):
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            judge(faults[job :: options.jobs], hits, end, file)
            sys.stdout.flush()
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    judgements = [Fault(**json.loads(line)) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    for file in files:
        file.unlink()
    counts = [fault for fault in judgements if fault.outcome != "untested"]
    notices = [fault for fault in counts if fault.outcome in {"noticed", "hung"}]
    share = len(notices) / max(1, len(counts))
    print(f"\n{len(notices)} of {len(counts)} faults noticed ({share:.0%}), {len(judgements) - len(counts)} untested")
    if options.json:
        options.json.write_text(json.dumps([asdict(fault) for fault in judgements], indent=1), encoding="utf-8")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
