"""One torture round: a fresh copy of a small index, one random fault, and a check of what survives.

A round depends only on its seed, so a failing one can be repeated. Faults that depend on the clock (a kill from outside
after some milliseconds) come at about the same moment again.
"""

import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.survival import faults
from tests.survival.faults import ERRORS, Plan, install
from tests.survival.processes import (
    INDEX,
    LONGEST,
    TRACEBACK,
    Child,
    Failure,
    address_space,
    command_line,
    fork,
    limit,
    look,
    looked,
    write_source,
)
from tests.survival.server import Server, disturb, new_server
from treeline.engine.embedded import scans

FIRST, CURRENT, NEXT = 1, 2, 3  # versions: two generations exist, the third is loaded
SMALL_DISK = 12 << 20  # bytes
ACTIONS = {
    "index": ("index", "{source}", "--name", INDEX, "--workers", "0", "--kind", "function"),
    "index --fresh": ("index", "{source}", "--name", INDEX, "--workers", "0", "--kind", "function", "--fresh"),
    "status --roll-back": ("status", "--name", INDEX, "--roll-back"),
    "status --prune": ("status", "--name", INDEX, "--prune", "1"),
}
OFTEN = (5, 2, 2, 1)  # how often each of them is chosen
KEPT = {
    "index": (CURRENT, NEXT),
    "index --fresh": (CURRENT, NEXT),
    "status --roll-back": (CURRENT, FIRST),
    "status --prune": (CURRENT,),
}
DEAD = {-signal.SIGKILL}
SAID = {1, 2}  # exit codes of an error that is reported in one line
OPENBLAS = "OpenBLAS"
FUTURE = 3_000_000_000  # seconds since 1970: the year 2065
Setup = Callable[[], object]


@dataclass
class Place:
    """The folders of a run. `small` is a small file system, if one can be mounted."""

    base: Path
    points: dict[str, int] = field(default_factory=dict)
    """How many file changes each action makes."""
    seconds: float = 1.0
    """How long a load takes here."""
    small: Path | None = None
    server: Server | None = None
    """Started by the first round that needs it, and kept."""

    @property
    def round(self) -> Path:
        return self.base / "round"

    @property
    def home(self) -> Path:
        return self.round / "home"

    @property
    def source(self) -> Path:
        return self.round / "source"

    def prepare(self) -> None:
        """Make the index that every round starts from, count each action's file changes, and import everything."""
        scans.SHARE_FROM_ROWS, scans.MOST_CHANGED = 0, 1  # a tiny index shares files with its base as a large one does
        self.base.mkdir(parents=True, exist_ok=True)
        for version in (FIRST, CURRENT):
            write_source(self.source, version)
            begun = time.monotonic()
            self._finish(self.start("index"))
            self.seconds = time.monotonic() - begun
        self.home.rename(self.base / "template")
        for action in ACTIONS:
            self.reset()
            counted = self.base / "points.json"

            def count(action: str = action, counted: Path = counted) -> None:
                plan = Plan(str(self.home))
                install(plan)
                try:
                    self._run(action, self.home)
                finally:
                    counted.write_text(json.dumps([plan.done, sorted(sys.modules)]), encoding="utf-8")

            self._finish(fork(count, self.base / "said.txt"))
            self.points[action], modules = json.loads(counted.read_text(encoding="utf-8"))
            for name in modules:
                if name.startswith(("treeline.", "tantivy", "rich", "tree_sitter", "orjson", "networkx", "importlib.")):
                    with suppress(ImportError):
                        importlib.import_module(name)
        self._mount()

    def reset(self) -> None:
        """Restore the index by hard links, with the source one version ahead."""
        shutil.rmtree(self.round, ignore_errors=True)
        shutil.copytree(self.base / "template", self.home, copy_function=os.link)
        write_source(self.source, NEXT)

    def arguments(self, action: str) -> list[str]:
        return [part.format(source=self.source) for part in ACTIONS[action]]

    def start(
        self, action: str, set_up: Setup = lambda: None, home: Path | None = None, said_in: str = "said.txt"
    ) -> Child:
        def run() -> None:
            set_up()
            self._run(action, home or self.home)

        return fork(run, self.base / said_in)

    def _run(self, action: str, home: Path) -> None:
        command_line(home, self.arguments(action))

    def close(self) -> None:
        if self.server is not None:
            self.server.stop()
        if self.small is not None:
            subprocess.run(["umount", "--lazy", str(self.small)], check=False)
        shutil.rmtree(self.base, ignore_errors=True)

    def _finish(self, child: Child) -> None:
        if child.wait():
            raise Failure(f"without any fault it ended with {child.status}: {child.said()[-600:]}")

    def _mount(self) -> None:
        folder = self.base / "small"
        folder.mkdir()
        order = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)]
        with suppress(OSError):
            if os.getuid() == 0 and subprocess.run(order, capture_output=True, check=False).returncode == 0:
                self.small = folder


def play(place: Place, seed: int) -> tuple[str, str]:
    """Play one round: returns what was done and what survived. A `Failure` starts with what was done."""
    chance = random.Random(seed)
    kinds = [name for name, (weight, _) in KINDS.items() for _ in range(weight)]
    kind = chance.choice(kinds)
    place.reset()
    notes: list[str] = [kind]
    try:
        kept = KINDS[kind][1](place, chance, notes)
    except Failure as failure:
        raise Failure(f"{' '.join(notes)}: {failure}") from failure
    return " ".join(notes), kept


def check(place: Place, child: Child, allowed: tuple[int, ...], codes: set[int], home: Path | None = None) -> str:
    """Check a process after a fault: a known exit code, one line of error, a whole index of an allowed version."""
    home = home or place.home
    code, said = child.wait(), child.said()
    if TRACEBACK in said or code not in codes | {0}:
        raise Failure(f"it ended with {code}: {said[-900:]}")
    if code in SAID and said.count("treeline: ") != 1:
        raise Failure(f"it ended with {code} and said {said[-600:]!r}")
    kept = looked(home, place.base)
    if kept.get("version") not in (allowed if code else allowed[-1:]):
        raise Failure(f"it ended with {code}, and the index is {kept}")
    if kept["damaged"]:
        raise Failure(f"it ended with {code}, and this is damaged: {kept['damaged']}")
    return f"version {kept['version']}, exit {code}"


def go_on(place: Place, chance: random.Random) -> None:
    """Check now and then that the next load succeeds, and always where it resumes a broken one."""
    if (place.home / INDEX / "building").exists() or chance.random() >= 0.7:
        finish(place, NEXT)


def finish(place: Place, version: int) -> None:
    """Check that a load succeeds without a fault, what it makes, and that it leaves no temporary files."""
    child = place.start("index")
    code, kept = child.wait(), looked(place.home, place.base)
    if code or (kept.get("version"), kept.get("damaged")) != (version, []):
        raise Failure(f"the next load ended with {code}, and the index is {kept}: {child.said()[-900:]}")
    left = left_over(place.home)
    if left:
        raise Failure(f"the next load left {left}")


def left_over(home: Path) -> list[str]:
    """Files of an unfinished load."""
    found = (*home.glob("*/building*"), *(home / ".loading").glob("*.journal*"))
    return [path.name for path in found]


def at_a_change(place: Place, chance: random.Random, notes: list[str]) -> str:
    """A kill, an error or a power failure at any file change."""
    what = notes[0]
    action = chance.choices(list(ACTIONS), OFTEN)[0]
    plan = planned(place, chance, what, action, notes)
    codes = SAID if what == "error" else DEAD
    kept = check(place, place.start(action, lambda: install(plan)), KEPT[action], codes)
    if not action.startswith("status"):
        go_on(place, chance)
    return kept


def planned(place: Place, chance: random.Random, what: str, action: str, notes: list[str]) -> Plan:
    """A fault at any file change of an action."""
    plan = Plan(str(place.home), what, chance.randint(1, place.points[action]), seed=chance.randrange(1 << 30))
    notes.append(f"at change {plan.at} of `{action}`")
    if what == "error":
        plan.number, plan.lasting = chance.choice(ERRORS), chance.random() < 0.3
        notes.append(f"({os.strerror(plan.number)}{', lasting' if plan.lasting else ''})")
    return plan


def at_a_moment(place: Place, chance: random.Random, notes: list[str]) -> str:
    """A kill or interrupt from outside at any moment, also inside Rust and SQLite."""
    number = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "terminate": signal.SIGTERM}[notes[0].split()[0]]
    action = chance.choice(["index", "index --fresh"])
    after = chance.uniform(0.05, 1.2) * place.seconds
    notes.append(f"after {after * 1000:.0f} ms of `{action}`")
    child = place.start(action)
    time.sleep(after)
    child.signal(number)
    # Before the command line has set its handlers, a signal ends Python in the default way.
    said_so = DEAD if number == signal.SIGKILL else {130, -number}
    code = child.wait()
    if TRACEBACK in child.said() and "KeyboardInterrupt" in child.said():
        said_so |= {code}
        child.said_in.write_text("", encoding="utf-8")
    kept = check(place, child, KEPT[action], said_so)
    go_on(place, chance)
    return kept


def damage(place: Place, chance: random.Random, notes: list[str]) -> str:
    """Flipped bits, truncated or deleted files: answers stay right, or the damage is reported; a load repairs it."""
    folder = place.home / INDEX / "000002"
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    hurt = []
    for file in chance.sample(files, chance.randint(1, 3)):
        hurt.append(file.relative_to(folder).as_posix())
        notes.append(f"{faults.damage(file, chance)} {hurt[-1]}")
    kept = looked(place.home, place.base)
    named = json.dumps(kept)
    if not any(file in named for file in hurt):
        raise Failure(f"nothing of it is named: {named}")
    if kept.get("version") not in {CURRENT, FIRST, None}:
        raise Failure(f"the index is {kept}")
    child = place.start("index --fresh")
    made = {"version": NEXT, "damaged": [], "generation": "000003"}
    if child.wait() or looked(place.home, place.base) != made:
        raise Failure(f"building it again ended with {child.status}: {child.said()[-600:]}")
    return f"version {kept['version']}, damage named" if "version" in kept else "refused by the name of the file"


@contextmanager
def on_small_disk(place: Place) -> Iterator[Path]:
    """A home on the small file system, which is emptied afterwards."""
    assert place.small is not None
    home = place.small / "home"
    shutil.copytree(place.home, home)
    try:
        yield home
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(place.small)], capture_output=True, check=False)
        for path in place.small.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def full_disk(place: Place, chance: random.Random, notes: list[str]) -> str:
    """An almost full disk: one line, and nothing of the load stays. A limit on files if no disk can be mounted."""
    left = chance.randrange(0, 1 << chance.randint(10, 21))
    notes.append(f"{left:,} bytes left")
    if place.small is None:
        return file_limit(place, chance, notes)
    with on_small_disk(place) as home:
        free = os.statvfs(home).f_bavail * os.statvfs(home).f_frsize
        with (place.small / "filler").open("wb") as filler:
            filler.write(b"x" * max(0, free - left))
        kept = check(place, place.start("index", home=home), KEPT["index"], SAID, home)
        files = left_over(home)
        if files:
            raise Failure(f"it keeps the disk full with {files}")
    return kept


def read_only(place: Place, chance: random.Random, notes: list[str]) -> str:
    """A read-only disk: one line, and searches work as before."""
    if place.small is None:
        return file_limit(place, chance, notes)
    with on_small_disk(place) as home:
        subprocess.run(["mount", "-o", "remount,ro", str(place.small)], capture_output=True, check=False)
        action = chance.choice(list(ACTIONS))
        notes.append(f"`{action}`")
        return check(place, place.start(action, home=home), (CURRENT,), SAID, home)


def file_limit(place: Place, chance: random.Random, notes: list[str]) -> str:
    """A limit on the size of files."""
    most = chance.randrange(0, 1 << chance.randint(8, 19))
    notes.append(f"files of {most:,} bytes at most")
    child = place.start("index", lambda: limit(resource.RLIMIT_FSIZE, most))
    code, said = child.wait(), child.said()
    if most < len(said) + 1_000:  # not even an error can be written then
        child.said_in.write_text("treeline: ", encoding="utf-8")
    kept = check(place, child, KEPT["index"], {*SAID, code} if most < 4_096 else SAID)
    go_on(place, chance)
    return kept


def memory_limit(place: Place, chance: random.Random, notes: list[str]) -> str:
    """Little more memory than a process starts with: however it ends, the index stays whole."""
    more = chance.randrange(64 << 20, 1 << chance.randint(27, 30))
    notes.append(f"{more >> 20} MB more")
    child = place.start("index", lambda: limit(resource.RLIMIT_AS, address_space() + more))
    end = time.monotonic() + LONGEST
    while child.running() and time.monotonic() < end:
        time.sleep(0.05)
        if OPENBLAS in child.said():  # it calls `exit`, which deadlocks with its threads
            time.sleep(1)
            child.signal(signal.SIGKILL)
            notes.append("(OpenBLAS gave up; killed)")
            break
    code = child.wait()
    if code < 0:  # Rust aborts when it gets no memory
        child.said_in.write_text("", encoding="utf-8")
    kept = check(place, child, KEPT["index"], {1, 2, -signal.SIGABRT, -signal.SIGSEGV, *DEAD})
    go_on(place, chance)
    return kept


def clock(place: Place, chance: random.Random, notes: list[str]) -> str:
    """Changed files of equal length with past or future time stamps, and a jumping clock: all changes are read."""
    when = chance.choice([0, 1, FUTURE, time.time() - 86_400, time.time() + 86_400])
    for file in place.source.iterdir():
        os.utime(file, (when, when))
    jump = chance.choice([-FUTURE / 2, -3_600, 3_600, FUTURE])
    notes.append(f"files of {when:.0f}, clock {jump:+.0f} s")
    now = time.time

    def set_up() -> None:
        time.time = lambda: now() + jump

    return check(place, place.start("index", set_up), (NEXT,), set())


def beside_a_reader(place: Place, chance: random.Random, notes: list[str]) -> str:
    """A reader searches during the change: it never sees a mix of versions or no index."""
    action = chance.choice(list(ACTIONS))
    notes.append(f"`{action}`")
    stop = place.base / "stop"
    stop.unlink(missing_ok=True)

    def read() -> None:
        while not stop.exists():
            if look(place.home)["version"] not in KEPT[action]:
                raise Failure("a version that nobody loaded")

    reader = fork(read, place.base / "reader.txt")
    try:
        kept = check(place, place.start(action), KEPT[action], set())
    finally:
        stop.touch()
        if reader.wait():
            raise Failure(f"the reader ended with {reader.status}: {reader.said()[-600:]}")
    return kept


def two_loads(place: Place, chance: random.Random, notes: list[str]) -> str:
    """Two loads at once: one succeeds; the other is refused or runs after it."""
    first = place.start("index")
    time.sleep(chance.uniform(0, place.seconds))
    second = place.start("index", said_in="second.txt")
    codes = {first.wait(), second.wait()}
    if not codes <= {0, 2} or 0 not in codes:
        raise Failure(f"they ended with {codes}: {first.said()[-300:]} {second.said()[-300:]}")
    return check(place, first, (NEXT,), {2})


EDITS = {"nothing": (CURRENT, ""), "positions": (CURRENT, "# moved\n"), "all": (NEXT, "")}


def edits_between(place: Place, chance: random.Random, notes: list[str]) -> str:
    """An edit of nothing, of positions or of all, and a fault in its load: the next load ends with what is there."""
    edit = chance.choice(list(EDITS))
    version, top = EDITS[edit]
    what = chance.choice(["kill", "error", "power"])
    notes.append(f"{edit} edited, {what}")
    write_source(place.source, version, top)
    plan = planned(place, chance, what, "index", notes)
    check(place, place.start("index", partial(install, plan)), (CURRENT, version), SAID if what == "error" else DEAD)
    finish(place, version)
    return f"version {version}"


def worker_killed(place: Place, chance: random.Random, notes: list[str]) -> str:
    """A worker process dies at any moment: one line, and the next load continues."""
    from treeline.ingest import pipeline

    def run() -> None:
        pipeline.SMALL_BYTES = 0  # so that workers parse even this small source
        arguments = ["2" if before == "--workers" else one for before, one in _pairs(place.arguments("index --fresh"))]
        command_line(place.home, arguments)

    child = fork(run, place.base / "said.txt")
    after = chance.uniform(0, 3) * place.seconds
    notes.append(f"after {after * 1000:.0f} ms")
    end = time.monotonic() + after
    while time.monotonic() < end and child.status is None:
        time.sleep(0.01)
    with suppress(OSError):
        workers = [
            pid for file in Path(f"/proc/{child.pid}/task").glob("*/children") for pid in file.read_text().split()
        ]
        for worker in chance.sample(workers, min(len(workers), chance.randint(1, 2))):
            os.kill(int(worker), signal.SIGKILL)
            notes.append("(killed one)")
    kept = check(place, child, KEPT["index --fresh"], {1})
    go_on(place, chance)
    return kept


# With how often each comes.
DISTURBANCES = {"slow clients": 4, "dead clients": 3, "a load": 3, "damage": 2, "the server killed": 1}


def served(place: Place, chance: random.Random, notes: list[str]) -> str:
    """Whatever happens to a server, it recovers by itself, and never answers with an internal error."""
    if place.server is None:
        place.server = new_server(place.base / "template", place.base)
        place.server.version = CURRENT
    server, what = place.server, chance.choices([*DISTURBANCES], [*DISTURBANCES.values()])[0]
    notes.append(what)
    server.settle({server.version})
    with ExitStack() as clients:
        disturb(server, what, chance, clients)
        if what == "damage":  # the previous generation may be gone or damaged too; then it says so
            server.answers({200, 503}, set(range(1, server.version + 1)))
        else:
            server.settle({server.version})
        if what in {"a load", "damage"}:  # after damage, the load repairs
            server.version += 1
            write_source(place.source, server.version)
            child = place.start("index --fresh" if what == "damage" else "index", home=server.home)
            while child.running():
                status, version = server.ask()
                if status not in {0, 200, 503} or version > server.version:
                    raise Failure(f"during the load the server answers {status} with version {version}")
            if child.wait():
                raise Failure(f"the load ended with {child.status}: {child.said()[-600:]}")
            place.start("status --prune", home=server.home).wait()
        return f"version {server.settle({server.version})}, served"


def _pairs(arguments: list[str]) -> Iterator[tuple[str, str]]:
    return zip(["", *arguments[:-1]], arguments, strict=True)


Kind = Callable[[Place, random.Random, list[str]], str]
KINDS: dict[str, tuple[int, Kind]] = {
    "kill": (24, at_a_change),
    "error": (20, at_a_change),
    "power": (16, at_a_change),
    "kill from outside": (5, at_a_moment),
    "interrupt": (3, at_a_moment),
    "terminate": (3, at_a_moment),
    "damage:": (12, damage),
    "full disk:": (4, full_disk),
    "read-only disk:": (1, read_only),
    "file limit:": (2, file_limit),
    "memory limit:": (3, memory_limit),
    "clock:": (2, clock),
    "beside a reader:": (2, beside_a_reader),
    "two loads": (2, two_loads),
    "edits:": (8, edits_between),
    "worker killed": (1, worker_killed),
    "server:": (3, served),
}
