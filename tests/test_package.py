"""The wheel holds one import name, `treeline`, with every module and every file that the modules read."""

import os
import subprocess
import sys
import time
import urllib.request
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from tests.elasticsearch_server import free_port

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    uv = Path(sys.executable).with_name("uv")
    command: list[str | Path] = [uv, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_has_one_import_name(wheel: Path) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"treeline"}


def test_the_wheel_has_every_file_of_the_rooms(wheel: Path) -> None:
    rooms = [link.name for link in (ROOT / "treeline").iterdir() if link.is_symlink()]
    assert {"corpus", "encoder", "engine", "eval", "graph", "ingest", "rerank", "search", "service"} == set(rooms)
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *rooms], capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = {f"treeline/{name}" for name in listed.stdout.split() if (ROOT / name).is_file()}
    assert files <= set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts' folder of an empty environment that holds the wheel and its plain dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    command: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python"]
    subprocess.run([*command, "-c", ROOT / "constraints.txt", wheel], check=True)
    return folder / "bin"


@pytest.mark.slow
def test_the_installed_command_works_in_a_folder_with_packages_of_the_same_names(
    installed: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    for name in ("service", "engine", "graph", "search", "corpus"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text('def tame_llamas():\n    """Calm a herd."""\n    return 1\n')
    port = free_port()
    environment = {"PATH": os.environ["PATH"], "TREELINE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    treeline = str(installed / "treeline")
    found = subprocess.run([treeline, "calm a herd"], cwd=project, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "tame_llamas" in found.stdout
    command = [treeline, "serve", "--first-index", str(project), "--port", str(port)]
    process = subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            with (
                suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/search?q=calm+a+herd") as answer,
            ):
                assert "tame_llamas" in answer.read().decode()
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/search?q=calm") as page:
                assert "tame_llamas" in page.read().decode()
                break
            time.sleep(0.3)
        else:
            pytest.fail("the service did not answer")
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.slow
def test_what_needs_an_extra_says_which(installed: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "TREELINE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    for arguments, extra in ((["mcp"], "mcp"), (["status", "--engine", "elasticsearch"], "elasticsearch")):
        done = subprocess.run(
            [installed / "treeline", *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert f"pip install 'treeline-search[{extra}]'" in done.stderr
