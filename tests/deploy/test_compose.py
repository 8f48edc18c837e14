"""The compose file is whole, says nothing secret, opens nothing to the world, and knows only real settings."""

import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

import treeline
from tests.elasticsearch_download import NEWEST
from treeline.search.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"
OURS = {"service", "codesearchnet", "eval"}  # containers of our own image
ONE_SHOT = {"certificates", "users", "kibana-objects", "codesearchnet", "eval"}
NODES = {"elasticsearch", "elasticsearch-2", "elasticsearch-3"}
VARIABLE = re.compile(r"\$\{(\w+)(:?-|:\?)?([^}]*)\}")

compose: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
services: dict[str, Any] = compose["services"]
example = dict(
    line.lstrip("#").split("=", 1)
    for line in (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    if re.match(r"#?\w+=", line)
)


def test_every_setting_in_the_file_is_one_the_service_knows() -> None:
    known = {PREFIX + row.name.upper() for row in fields(Settings)}
    used = {name for name in services["service"]["environment"] if name.startswith(PREFIX)}
    assert used
    assert used <= known
    dockerfile = set(re.findall(r"\bTREELINE_\w+", (ROOT / "Dockerfile").read_text(encoding="utf-8")))
    script = set(re.findall(r"\bTREELINE_\w+", (ROOT / "deploy" / "start.sh").read_text(encoding="utf-8")))
    assert dockerfile | (script - {"TREELINE_"}) <= known


def test_every_setting_written_into_the_env_file_reaches_the_service() -> None:
    """Compose gives a container only what the file names; a name without a value is looked up in `.env`."""
    of_the_container = {"HOME", "BIND", "KEY_FILE", "EVAL_RESULTS", "EVAL_DATA", "MCP_ROOTS", "MCP_TOKENS"}
    one_of_two_ways = {"ELASTICSEARCH_API_KEY"}
    wanted = {row.name.upper() for row in fields(Settings)} - of_the_container - one_of_two_ways
    assert {PREFIX + name for name in wanted} <= services["service"]["environment"].keys()


def test_every_variable_is_explained_in_the_example_or_has_a_default() -> None:
    for name, kind, _default in VARIABLE.findall(FILE.read_text(encoding="utf-8")):
        assert name in example or kind in (":-", "-"), name


def test_secrets_are_required_and_the_example_holds_none() -> None:
    secrets = {name for name in example if "PASSWORD" in name or "KEY" in name}
    assert secrets == {"ELASTIC_PASSWORD", "KIBANA_PASSWORD", "TREELINE_PASSWORD", "KIBANA_ENCRYPTION_KEY"}
    assert all(example[name] == "" for name in secrets)
    kinds = {(name, kind) for name, kind, _ in VARIABLE.findall(FILE.read_text(encoding="utf-8")) if name in secrets}
    assert kinds == {(name, ":?") for name in secrets}


def test_no_password_is_written_into_the_file() -> None:
    for name, service in services.items():
        for variable, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|ENCRYPTION_?KEY", variable):
                assert str(value).startswith("${"), f"{name}: {variable}"


def test_git_never_takes_the_real_env_file() -> None:
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", services)
def test_images_are_pinned_and_of_one_stack_version(name: str) -> None:
    image = services[name]["image"]
    if name in OURS:
        assert (services[name]["build"]["context"], image) == (".", f"treeline:{treeline.__version__}")
    else:
        assert image.endswith(f":${{STACK_VERSION:-{NEWEST}}}"), image
        assert example["STACK_VERSION"] == NEWEST


@pytest.mark.parametrize("name", services)
def test_what_keeps_running_says_when_it_is_healthy_and_comes_back(name: str) -> None:
    service = services[name]
    if name in ONE_SHOT:
        assert service["restart"] == "no"
        return
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"].keys() >= {"test", "interval", "timeout", "retries", "start_period"}
    assert "mem_limit" in service


@pytest.mark.parametrize("name", services)
def test_whoever_is_waited_for_exists_and_can_reach_that_state(name: str) -> None:
    for other, how in services[name].get("depends_on", {}).items():
        if how["condition"] == "service_completed_successfully":
            assert other in ONE_SHOT
        else:
            assert how["condition"] == "service_healthy"
            assert "healthcheck" in services[other]
        assert "profiles" not in services[other], f"{other} does not always run"


def test_the_superusers_password_does_not_leave_kibanas_container() -> None:
    importer = services["kibana-objects"]
    assert importer["network_mode"] == "service:kibana"
    assert importer["environment"]["KIBANA_URL"] == "http://localhost:5601"


@pytest.mark.parametrize("name", services)
def test_mounts_exist_and_what_comes_from_the_repository_is_read_only(name: str) -> None:
    for mount in services[name].get("volumes", []):
        source, _, *mode = mount.split(":")
        if source.startswith("."):
            assert (ROOT / source).is_dir()
            assert mode == ["ro"]
        else:
            assert source in compose["volumes"]


def test_elasticsearch_has_security_and_tls_everywhere() -> None:
    for name in NODES:
        environment = services[name]["environment"]
        for switch in ("security", "security.http.ssl", "security.transport.ssl"):
            assert environment[f"xpack.{switch}.enabled"] == "true"
        assert environment["xpack.security.http.ssl.key"] == f"certs/{name}/{name}.key"
        assert environment["node.name"] == name


def test_the_cluster_is_three_nodes_that_know_each_other_and_only_the_first_begins_one() -> None:
    """A second node with `cluster.initial_master_nodes` could begin a cluster of its own."""
    for name in NODES:
        environment = services[name]["environment"]
        assert set(environment["discovery.seed_hosts"].split(",")) == NODES
        assert "discovery.type" not in environment
        assert ("cluster.initial_master_nodes" in environment) == (name == "elasticsearch")
        assert (services[name].get("profiles") == ["cluster"]) == (name != "elasticsearch")
        [data] = [mount for mount in services[name]["volumes"] if mount.endswith("/data")]
        assert data.split(":")[0] == name


def test_every_node_can_write_snapshots_to_one_place_which_is_made_its_own() -> None:
    for name in ("certificates", *NODES):
        assert "snapshots:/snapshots" in services[name]["volumes"]
    assert {services[name]["environment"]["path.repo"] for name in NODES} == {"/snapshots"}


def test_the_certificates_are_made_for_exactly_these_nodes() -> None:
    script = (ROOT / "deploy" / "elasticsearch" / "certificates.sh").read_text(encoding="utf-8")
    [line] = re.findall(r"^nodes=\((.*)\)$", script, re.MULTILINE)
    assert set(line.split()) == NODES


@pytest.mark.parametrize("name", services)
def test_nothing_has_or_can_get_rights_it_does_not_need(name: str) -> None:
    service = services[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert ("cap_add" in service) == (service.get("user") == "0") == (name == "certificates")
    assert not service.keys() & {"privileged", "pid", "ipc", "devices"}
    assert 0 < service["pids_limit"] <= 4_096
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_the_service_runs_with_as_few_rights_as_it_needs() -> None:
    service = services["service"]
    assert service["read_only"] is True
    assert service["pids_limit"] and all("size=" in mount for mount in service["tmpfs"])
    assert service["environment"]["TREELINE_ELASTICSEARCH_USER"] == "treeline"
    assert service["environment"]["TREELINE_TRUST_LOOPBACK"] == "0"
    assert service["environment"]["TREELINE_ELASTICSEARCH_URL"].endswith("https://elasticsearch:9200}")


@pytest.mark.parametrize("script", sorted((ROOT / "deploy").rglob("*.sh")), ids=lambda path: path.name)
def test_scripts_parse_stop_at_the_first_error_and_may_be_run(script: Path) -> None:
    shell, text = script.read_text(encoding="utf-8").splitlines()[0].removeprefix("#!"), script.read_text("utf-8")
    subprocess.run([shell, "-n", str(script)], check=True)
    assert re.search(r"^set -eu", text, re.MULTILINE)
    assert script.stat().st_mode & 0o111


def composed(tmp_path: Path, environment: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What compose says to the file; skipped where there is none: the structure above is checked without it."""
    words = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]
    if not shutil.which(words[0]) or subprocess.run([*words, "version"], capture_output=True).returncode:
        pytest.skip("no docker compose here")
    (tmp_path / "env").write_text(environment, encoding="utf-8")
    command = [*words, "--env-file", str(tmp_path / "env"), "--file", str(FILE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("profiles", [[], ["--profile", "cluster"]], ids=["one node", "cluster"])
def test_compose_itself_accepts_the_file(profiles: list[str], tmp_path: Path) -> None:
    secrets = "".join(f"{name}={'x' * 32}\n" for name, value in example.items() if not value)
    done = composed(tmp_path, secrets, *profiles, "config", "--services")
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & NODES == (NODES if profiles else {"elasticsearch"})


def test_compose_refuses_to_start_without_passwords(tmp_path: Path) -> None:
    done = composed(tmp_path, "", "config", "--quiet")
    assert done.returncode != 0
    assert "set it in .env" in done.stderr
