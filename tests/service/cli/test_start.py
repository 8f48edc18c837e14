"""Start-up is a feature: what the default path imports, and how long a cold search takes."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.loading import project
from tests.service.cli.test_commands import FILES, ROOT, treeline
from treeline.service import cli

HEAVY = (
    "torch",
    "sentence_transformers",
    "transformers",
    "geoopt",
    "onnxruntime",
    "sklearn",
    "flask",
    "elasticsearch",
    "pyarrow",
)
# Seconds of processor time, of which an idle machine needs one: the clock on the wall tells how busy the others are.
GENEROUS = 5.0


def test_a_cold_search_imports_nothing_heavy_and_is_quick(tmp_path: Path) -> None:
    treeline(tmp_path / "home", "index", str(project(tmp_path / "demo", FILES)))
    script = (
        "import sys; sys.argv = ['treeline', 'search', 'convert int to string']\n"
        "from treeline.service.cli import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    times = []
    for _ in range(3):
        started = processor_time()
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={"TREELINE_HOME": str(tmp_path / "home"), "TREELINE_INDEX": "default", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=240,
            cwd=ROOT,
            check=False,
        )
        times.append(processor_time() - started)
        assert done.returncode == 0, done.stderr
        assert "number_to_text" in done.stdout
        assert "HEAVY []" in done.stderr
    assert min(times) < GENEROUS


def processor_time() -> float:
    """Of all processes that were started here and have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@pytest.mark.parametrize("arguments", [["--help"], ["search", "--help"], ["eval", "--help"]])
def test_help_imports_no_numpy(arguments: list[str]) -> None:
    script = f"import sys; from treeline.service.cli import cli; cli({arguments}, standalone_mode=False)"
    script += "; print('MODULES', 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240, cwd=ROOT, check=True
    )
    assert done.stdout.endswith("MODULES False\n")
    assert "Usage: " in done.stdout


def test_a_quick_end_runs_exit_handlers_and_prints_everything() -> None:
    script = (
        "import atexit, sys; from treeline.service import cli\n"
        "def run(_command):\n"
        "    atexit.register(print, 'handled', file=sys.stderr)\n"
        "    print('x' * 100_000)\n"
        "    return 3\n"
        "cli._run = run\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, cwd=ROOT)
    assert (done.returncode, len(done.stdout), done.stderr) == (3, 100_001, "handled\n")


def test_an_error_that_nobody_expected_is_a_failure_with_its_traceback() -> None:
    script = "from treeline.service import cli; cli._run = lambda _command: 1 / 0; cli.main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, cwd=ROOT)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_a_command_may_have_more_files_open_than_the_shell_says() -> None:
    """Agents and editors open many indexes, and each keeps three dozen files open."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    program = (
        "import resource; from treeline.service import cli;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}));"
        "cli.cli = lambda **_: print(resource.getrlimit(resource.RLIMIT_NOFILE)[0]);"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    wanted = cli.MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, cli.MOST_FILES)
    assert (done.stdout, done.stderr) == (f"{wanted}\n", "")
