"""The rules of hadolint that matter here, read from the Dockerfile's own instructions."""

import fnmatch
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import tree_sitter_language_pack

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments), comments dropped and continued lines joined."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", text)
    return [(line.split(None, 1)[0].upper(), line.split(None, 1)[1]) for line in joined.splitlines() if line.strip()]


def of(name: str) -> list[str]:
    return [arguments for instruction, arguments in instructions() if instruction == name]


def final_stage() -> list[tuple[str, str]]:
    every = instructions()
    last = max(number for number, (name, _) in enumerate(every) if name == "FROM")
    return every[last:]


def test_there_are_two_stages_on_one_pinned_slim_base() -> None:
    bases = [arguments.split()[0] for arguments in of("FROM")]
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm", bases[0])


def test_the_last_stage_is_not_root_and_installs_no_python_packages() -> None:
    users = [arguments for name, arguments in final_stage() if name == "USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]), "a number, so that an orchestrator can tell it is not root"
    names = [name for name, _ in final_stage()]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert not any("pip" in arguments for name, arguments in final_stage() if name == "RUN")


def test_packages_are_pinned_and_leave_no_cache() -> None:
    for run in of("RUN"):
        if "pip install" in run:
            assert "--no-cache-dir" in run
            assert "--constraint constraints.txt" in run
        if "apt-get install" in run:
            assert "--no-install-recommends" in run
            assert "--yes" in run
            assert "rm -rf /var/lib/apt/lists/*" in run
            assert run.index("apt-get update") < run.index("apt-get install")


def test_nothing_is_fetched_or_run_that_should_not_be() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert not of("ADD")
    assert not re.search(r"\b(sudo|curl|wget|chmod 777|apt )\b", text)
    assert not re.search(r"(?i)(password|secret|token)\s*=", text)
    assert not any("|" in run for run in of("RUN")), "a pipe hides the failure of all but its last command"


def test_commands_are_lists_so_that_signals_arrive() -> None:
    [entrypoint] = of("ENTRYPOINT")
    assert json.loads(entrypoint) == ["/usr/local/bin/treeline-start"]
    [health] = of("HEALTHCHECK")
    assert json.loads(health.split("CMD", 1)[1])[0] == "python"
    assert "/readyz" in health
    assert len(of("CMD")) == 0
    assert all(folder.startswith("/") for folder in of("WORKDIR"))


def test_everything_that_is_copied_exists_and_passes_the_ignore_file() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    for copy in of("COPY"):
        if "--from=" in copy:
            continue
        sources = [word for word in copy.split() if not word.startswith("--")][:-1]
        for source in sources:
            assert source in allowed, f"{source} is kept out by .dockerignore"


def test_every_package_of_the_project_is_in_the_image() -> None:
    rooms = {link.name for link in (ROOT / "treeline").iterdir() if link.is_symlink()}
    copied = {copy.split()[0] for copy in of("COPY")}
    assert rooms | {"treeline"} <= copied


def test_the_image_has_what_the_deep_models_run_on_and_nothing_larger() -> None:
    [extras] = [argument.partition("=")[2] for argument in of("ARG") if argument.startswith("EXTRAS=")]
    assert f"EXTRAS: ${{TREELINE_EXTRAS:-{extras}}}" in (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    command = [sys.executable, str(ROOT / "scripts" / "requirements.py"), extras]
    wanted = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    names = {re.split(r"[<>=!\[ ]", line)[0] for line in wanted if line}
    assert {"onnxruntime", "elasticsearch"} <= names and not names & {"torch", "transformers"}


def test_the_image_keeps_every_grammar_that_a_language_loads(tmp_path: Path) -> None:
    bindings = tmp_path / "tree_sitter_language_pack" / "bindings"
    bindings.mkdir(parents=True)
    (bindings.parent / "__init__.py").touch()
    folder = Path(tree_sitter_language_pack.__file__).parent / "bindings"
    there = {file.name.split(".")[0] for file in folder.glob("*.so")}
    for name in there:
        (bindings / f"{name}.abi3.so").touch()
    script = ROOT / "scripts" / "remove_unused_grammars.py"
    subprocess.run([sys.executable, str(script)], check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    left = {file.name.split(".")[0] for file in bindings.iterdir()}
    modules = (ROOT / "ingest" / "parsers" / "languages").glob("[a-z]*.py")
    loaded = {
        grammar.pack or grammar.name
        for module in modules
        for grammar in import_module(f"treeline.ingest.parsers.languages.{module.stem}").GRAMMARS
    }
    assert left == loaded & there
    assert {"python", "tsx", "ocaml_interface"} <= left
    assert "cobol" in there - left


def test_secrets_and_data_stay_out_of_the_build() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert not any(fnmatch.fnmatch(".env", rule[1:]) for rule in rules if rule.startswith("!"))
