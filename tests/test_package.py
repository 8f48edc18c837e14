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


def built(project: Path, folder: Path) -> Path:
    """The wheel of a project."""
    uv = Path(sys.executable).with_name("uv")
    command: list[str | Path] = [uv, "build", "--quiet", "--wheel", "--out-dir", folder, project]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= 20_000_000


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


def environment(folder: Path, *requirements: str) -> Path:
    """The scripts' folder of a new environment with the wheels and their dependencies."""
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    command: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python"]
    subprocess.run([*command, "-c", ROOT / "constraints.txt", *requirements], check=True)
    return folder / "bin"


@pytest.fixture(scope="session")
def terminal(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without extras."""
    return environment(tmp_path_factory.mktemp("terminal"), str(wheel))


@pytest.fixture(scope="session")
def serving(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the extra `serve`."""
    return environment(tmp_path_factory.mktemp("serving"), f"{wheel}[serve]")


@pytest.mark.slow
def test_the_installed_command_works_in_a_folder_with_packages_of_the_same_names(serving: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name in ("service", "engine", "graph", "search", "corpus"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text('def tame_llamas():\n    """Calm a herd."""\n    return 1\n')
    port = free_port()
    environment = {"PATH": os.environ["PATH"], "TREELINE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "user")}
    treeline = str(serving / "treeline")
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
def test_the_extra_deep_brings_the_models(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    models = built(ROOT / "models", tmp_path_factory.mktemp("models"))
    scripts = environment(tmp_path_factory.mktemp("deep"), f"{wheel}[deep]", str(models))
    (tmp_path / "herd.py").write_text('def tame():\n    """Calm a herd."""\n    return 1\n', encoding="utf-8")
    home = {"PATH": os.environ["PATH"], "TREELINE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "user")}
    for arguments, said in (
        (["calm a herd", "--quality", "best"], "tame"),
        (["index", ".", "--encoder", "deep"], "deep"),
    ):
        done = subprocess.run(
            [scripts / "treeline", *arguments], cwd=tmp_path, env=home, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 and said in done.stdout, done.stderr


MOST_MB = 400  # of a terminal's installation


@pytest.mark.slow
def test_a_terminal_needs_no_extra_and_little_room(terminal: Path, tmp_path: Path) -> None:
    room = subprocess.run(["du", "-sm", terminal.parent], capture_output=True, text=True, check=True)
    assert int(room.stdout.split()[0]) <= MOST_MB
    for number in range(60):  # enough for clusters
        text = f'def tame_{number}():\n    """Calm herd number {number}."""\n    return {number}\n'
        (tmp_path / f"herd_{number}.py").write_text(text, encoding="utf-8")
    home = {"PATH": os.environ["PATH"], "TREELINE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "user")}
    for arguments in (
        ["calm herd number 7"],
        ["index", str(tmp_path), "--name", "herds"],
        ["show", "tame_7", "--name", "herds"],
        ["similar", "tame_7", "--name", "herds"],
        ["--name", "herds", "--json", "calm herd"],
        ["show", "tame_7", "--name", "herds", "--json"],
        ["keys", "list"],
        ["outline", "herd_7.py"],
        ["status"],
        ["install", "--help"],
        ["completion", "bash"],
        ["doctor"],
    ):
        done = subprocess.run(
            [terminal / "treeline", *arguments], cwd=tmp_path, env=home, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    assert "pip install '.[elasticsearch]'" in done.stdout  # a check of the doctor, which went on


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        ("serve", "serve"),
        ("serve --first-index .", "serve"),
        ("lsp", "lsp"),
        ("status --engine elasticsearch", "elasticsearch"),
        ("search --engine elasticsearch words", "elasticsearch"),
        ("doctor --engine elasticsearch", "elasticsearch"),
        ("index . --engine elasticsearch", "elasticsearch"),
        ("index . --name other --encoder deep", "deep"),
        ("index . --name other --encoder some/model", "transformers"),
        ("index codesearchnet:data/train.parquet --name other", "parquet"),
        ("words --quality best", "deep"),
        ("words --rerank cross-encoder", "transformers"),
        ("eval codesearchnet --name other --data . --trec out", "eval"),
        ("eval codesearchnet --data . --html page.html", "eval"),
    ],
)
def test_what_needs_an_extra_says_which(terminal: Path, tmp_path: Path, arguments: str, extra: str) -> None:
    home = {"PATH": os.environ["PATH"], "TREELINE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "user")}
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.parquet").write_bytes(b"PAR1")
    (tmp_path / "words.py").write_text("def words():\n    return 1\n", encoding="utf-8")
    done = subprocess.run(
        [terminal / "treeline", *arguments.split()], cwd=tmp_path, env=home, capture_output=True, text=True, check=False
    )
    said = f"{done.stdout}{done.stderr}"
    assert f".[{extra}]" in said and "Traceback" not in said, said
