"""The README's compose commands, run as they stand there against a real Docker engine with everything but Kibana."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import shutil
import subprocess
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.docker_engine import Docker, EngineMissing, docker_engine, provide_images
from tests.elasticsearch_download import NEWEST, VERSION, ServerMissing, java_home
from tests.elasticsearch_server import free_port
from tests.ingest.loading import record

pytestmark = [
    pytest.mark.slow,
    pytest.mark.elasticsearch,
    pytest.mark.docker,
    pytest.mark.timeout(1_800),  # the first run builds images and perhaps Compose itself
]
ROOT = Path(__file__).parents[2]
NODES = ("elasticsearch", "elasticsearch-2", "elasticsearch-3")
PASSWORDS = {"ELASTIC_PASSWORD": "elastic-1", "KIBANA_PASSWORD": "kibana-1", "TREELINE_PASSWORD": "treeline-1"}
TIMEOUT_S = 600  # seconds; only what hangs takes as long
WATERMARK = 0.85  # Elasticsearch's, by default
# Elasticsearch's own check of a node that may be joined by others.
FEW_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 65_535
# A small part of the image itself: a first load of seconds.
FIRST_SOURCE = "/opt/treeline/lib/python3.11/site-packages/click"


@dataclass
class Stack:
    """A copy of the checkout with its `.env`, in which compose commands run."""

    docker: Docker
    folder: Path
    port: int
    environment: dict[str, str] = field(default_factory=dict)

    def shell(self, command: str, seconds: float = TIMEOUT_S) -> str:
        """Run a line as a person types it; it must succeed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env={**self.docker.environment, **self.environment},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}\n{self.logs()}"
        return done.stdout

    def logs(self) -> str:
        """The end of each container's log."""
        environment = {**self.docker.environment, **self.environment}
        told = ""
        for name in ("certificates", "elasticsearch", "users", "service"):
            command = ["docker", "compose", "logs", "--no-color", "--tail", "25", name]
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
            )
            told += done.stdout[-2000:]
        return told

    def get(self, path: str, data: dict[str, Any] | None = None, key: str = "") -> tuple[int, Any]:
        """(status, JSON); status 0 when nothing answers."""
        headers = {"Content-Type": "application/json"} | ({"X-API-Key": key} if key else {})
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, None
        except OSError:
            return 0, None

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while not holds():
            assert time.monotonic() < deadline, f"{what}\n{self.logs()}"
            time.sleep(1)

    def wait_until_ready(self) -> None:
        self.wait_until(lambda: self.get("/readyz")[0] == 200, "the service is not ready")

    def names(self, question: str) -> list[str]:
        """The names of the first results; none while the service has no index to search."""
        status, answer = self.get(f"/api/search?k=5&q={question.replace(' ', '+')}")
        return [result["func_name"] for result in answer["results"]] if status == 200 else []


def readme_commands() -> list[str]:
    """The lines of the README that a person types to run it with compose, in their order."""
    lines = [line.strip() for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()]
    return [re.sub(r"\s{2,}#.*", "", line) for line in lines if line.startswith(("docker compose", "cp .env.example"))]


def write_override(folder: Path) -> None:
    """What the stand-in images need, and Kibana, of which there is none, left out.

    Root may not raise limits in a sandbox; the test distribution keeps the service's user in a file. A node that may be
    joined by others refuses to start with few file descriptors, so there it runs alone.
    """
    alone = ", discovery.type: single-node, cluster.initial_master_nodes: !reset null" if FEW_FILES else ""
    node = (
        "    ulimits: !reset {}\n"
        '    environment: {bootstrap.memory_lock: "false", TEST_USER_PASSWORD: "${TREELINE_PASSWORD}"%s}\n'
        '    volumes: ["./deploy/elasticsearch:/deploy:ro"]\n'
    )
    nodes = "".join(f"  {name}:\n{node % (alone if name == NODES[0] else '')}" for name in NODES)
    (folder / "override.yml").write_text(
        f'services:\n{nodes}  users: {{command: ["true"]}}\n'
        "  kibana: {profiles: [kibana]}\n  kibana-objects: {profiles: [kibana]}\n"
        "  service: {build: {network: host}}\n"
        "  archive:\n    image: treeline:0.2.0\n    depends_on: [service]\n"
        '    entrypoint: ["python", "-m", "http.server", "8000", "--directory", "/files"]\n'
        '    volumes: ["./archive:/files:ro"]\n',
        encoding="utf-8",
    )


def copy_checkout(target: Path) -> None:
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        if source.is_symlink() or source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)


def base_image() -> str:
    [base] = set(re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE))
    return str(base)


def write_archive(folder: Path) -> None:
    """CodeSearchNet in small, as its places have it: an archive of a language, the queries, the annotations."""
    names = ("parse_date", "read_csv", "send_mail", "hash_password", "resize_image", "merge_sort")
    records = []
    for number, name in enumerate(names):
        words = name.split("_")
        body = f'"""{words[0].title()} a {words[1]}."""\n    return 1'
        url = f"https://github.com/farm/tools/blob/{'0' * 40}/tools.py#L{number * 4 + 1}-L{number * 4 + 3}"
        more = {"docstring": f"{words[0].title()} a {words[1]}.", "docstring_tokens": words, "partition": "test"}
        records.append(record(name, body, repo="farm/tools", path="tools.py", url=url, **more))
    lines = "".join(json.dumps(row) + "\n" for row in records)
    folder.mkdir()
    with zipfile.ZipFile(folder / "python.zip", "w") as archive:
        archive.writestr("python/final/jsonl/test/python_test_0.jsonl.gz", gzip.compress(lines.encode()))
    queries = ("parse a date", "send a mail")
    (folder / "queries.csv").write_text("query\n" + "".join(f"{query}\n" for query in queries), encoding="utf-8")
    judged = "".join(
        f"Python,{query},{records[place]['url']},3,\n" for query, place in zip(queries, (0, 2), strict=True)
    )
    (folder / "annotationStore.csv").write_text("Language,Query,GitHubUrl,Relevance,Notes\n" + judged, encoding="utf-8")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("compose") / "treeline"
    folder.mkdir()
    copy_checkout(folder)
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    elasticsearch = re.sub(r"\$\{STACK_VERSION.*", stack_version(), compose["services"]["elasticsearch"]["image"])
    write_override(folder)
    write_archive(folder / "archive")
    project = f"treeline-test-{os.getpid()}"
    environment = {"COMPOSE_FILE": "docker-compose.yml:override.yml", "COMPOSE_PROJECT_NAME": project}
    try:
        with docker_engine() as docker:
            refuse_full_disk(Path(docker.run("info", "--format", "{{.DockerRootDir}}").strip()))
            provide_images(docker, base_image(), elasticsearch)
            forget_image(docker, compose["services"]["service"]["image"])
            made = Stack(docker, folder, free_port(), environment)
            try:
                yield made
            finally:
                made.shell("docker compose --profile cluster --profile tools down --volumes --timeout 30")
    except EngineMissing as missing:
        pytest.skip(str(missing))


def stack_version() -> str:
    """The default; the one before where the machine has only the Java of Debian 12."""
    try:
        java_home(NEWEST)
    except ServerMissing:
        return VERSION
    return NEWEST


def refuse_full_disk(folder: Path) -> None:
    """Fail in one line, instead of waiting for shards that Elasticsearch puts on no disk as full as this."""
    used = 1 - shutil.disk_usage(folder).free / shutil.disk_usage(folder).total
    if used > WATERMARK:
        pytest.fail(f"the disk of {folder} is {used:.0%} full; Elasticsearch puts no index on it: make room", False)


def forget_image(docker: Docker, name: str) -> None:
    """Have compose build the service's image from this checkout; its layers stay as the builder's cache."""
    if docker.has_image(name):
        docker.run("tag", name, "treeline-test/cache")
        docker.run("image", "rm", name)


def write_secrets(stack: Stack) -> None:
    """What the person sets in `.env`: the secrets, and here a free port, a small source and small nodes."""
    file = stack.folder / ".env"
    lines = dict(line.split("=", 1) for line in file.read_text().splitlines() if re.match(r"\w+=", line))
    lines |= PASSWORDS | {"KIBANA_ENCRYPTION_KEY": "0123456789abcdef" * 2, "SERVICE_PORT": str(stack.port)}
    lines |= {"TREELINE_FIRST_SOURCE": FIRST_SOURCE, "ELASTICSEARCH_MEMORY": "1g", "STACK_VERSION": stack_version()}
    lines |= {"TREELINE_CODESEARCHNET": "http://archive:8000"}
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), encoding="utf-8")


def test_the_readmes_commands_bring_it_up(stack: Stack) -> None:
    commands = readme_commands()
    assert commands[0] == "cp .env.example .env"
    up = next(position for position, command in enumerate(commands) if " up" in command)
    for command in commands[: up + 1]:
        stack.shell(command, 1800)
        if command.startswith("cp "):
            write_secrets(stack)
    stack.wait_until_ready()
    assert "echo" in stack.names("print a message to the terminal")


def test_the_image_is_well_under_a_gigabyte(stack: Stack) -> None:
    """What is added to the base counts: the real slim image has 125 MB, its stand-in more."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    names = (compose["services"]["service"]["image"], base_image())
    size, base = (int(stack.docker.run("image", "inspect", "--format", "{{.Size}}", name)) for name in names)
    assert size - base < 750_000_000


def test_elasticsearch_wants_a_password_and_speaks_tls(stack: Stack) -> None:
    curl = "docker compose exec -T elasticsearch curl --silent --output /dev/null --write-out '%{http_code}'"
    authority = "--cacert config/certs/ca/ca.crt"
    assert stack.shell(f"{curl} {authority} https://localhost:9200/_cluster/health") == "401"
    user = f"--user treeline:{PASSWORDS['TREELINE_PASSWORD']}"
    assert stack.shell(f"{curl} {authority} {user} https://localhost:9200/treeline-default/_count") == "200"
    assert stack.shell(f"{curl} {authority} {user} https://localhost:9200/_security/user") == "403"


def test_a_key_made_in_the_container_lets_a_program_vote(stack: Stack) -> None:
    _, answer = stack.get("/api/search?k=1&q=print+a+message")
    vote = {"query": "print a message", "function": answer["results"][0]["id"], "signal": "up"}
    assert stack.get("/api/feedback", vote)[0] in (401, 403)
    made = stack.shell("docker compose exec -T service treeline keys create me --scope write")
    key = next(word for word in made.split() if len(word) > 30)
    assert stack.get("/api/feedback", vote, key)[0] in (200, 201)


def test_a_load_beside_the_service_disturbs_no_search(stack: Stack) -> None:
    farm = stack.folder / "farm"
    farm.mkdir()
    (farm / "llamas.py").write_text('def tame_llamas(herd):\n    """Calm a herd."""\n    return sorted(herd)\n')
    load = (
        'docker compose run --rm --no-TTY --volume "$PWD/farm:/src/farm:ro" '
        "--entrypoint treeline service index /src/farm --name default"
    )
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(stack.shell, load)
        statuses = set()
        while not loading.done():
            statuses.add(stack.get("/api/search?q=print+a+message")[0])
            time.sleep(0.2)
        loading.result()
    assert statuses == {200}
    stack.wait_until(lambda: stack.names("calm a herd")[:1] == ["tame_llamas"], "the load is not served")


def test_it_stops_within_its_grace_period_and_comes_back_with_its_data(stack: Stack) -> None:
    stack.shell("docker compose stop service")
    assert "(137)" not in stack.shell("docker compose ps --all service"), "it was killed after its grace period"
    stack.shell("docker compose start service")
    stack.wait_until_ready()
    stack.shell("docker compose down")
    stack.shell("docker compose up --detach")
    stack.wait_until_ready()
    stack.wait_until(lambda: stack.names("calm a herd")[:1] == ["tame_llamas"], "the data is not kept")


def documented(page: str, first: str) -> str:
    """The indented block of a page that begins with this line."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    begin = next(position for position, line in enumerate(lines) if line.strip().startswith(first))
    block = []
    for line in lines[begin:]:
        if not line.startswith("    "):
            break
        block.append(re.sub(r"\s{2,}# .*", "", line.strip()))
    return "\n".join(block)


def test_a_dropped_index_comes_back_from_a_snapshot(stack: Stack) -> None:
    block = documented(operations_page(), "es() {").splitlines()
    restore = next(position for position, line in enumerate(block) if "_restore" in line)
    stack.shell("\n".join(block[:restore]))
    stack.shell("docker compose exec -T service treeline status --name default --drop")
    function = "\n".join(line for line in block[:restore] if not line.startswith("es "))
    stack.shell(f"{function}\n{block[restore]}")
    stack.wait_until(lambda: stack.names("calm a herd")[:1] == ["tame_llamas"], "the restored index is not served")


def test_the_readmes_commands_load_codesearchnet_and_score_it(stack: Stack) -> None:
    after = readme_commands()[[" up" in command for command in readme_commands()].index(True) + 1 :]
    assert after == ["docker compose run --rm codesearchnet", "docker compose run --rm eval"]
    printed = [stack.shell(command.replace("run --rm", "run --rm --no-TTY")) for command in after]
    assert "6" in printed[0]
    assert "ndcg" in printed[1].lower()
    stack.wait_until(lambda: stack.names("parse a date")[:1] == ["parse_date"], "CodeSearchNet is not served")


def operations_page() -> str:
    return next(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md") if "es() {" in page.read_text())


@pytest.mark.skipif(FEW_FILES, reason="Elasticsearch needs 65,535 open files to form a cluster in containers")
def test_three_nodes_survive_the_death_of_one(stack: Stack) -> None:
    urls = ",".join(f"https://{name}:9200" for name in NODES)
    with (stack.folder / ".env").open("a") as file:
        file.write(f"COMPOSE_PROFILES=cluster\nELASTICSEARCH_URL={urls}\n")
    stack.shell("docker compose up --detach")
    health = (
        "docker compose exec -T elasticsearch-2 curl --silent --cacert config/certs/ca/ca.crt "
        f"--user elastic:{PASSWORDS['ELASTIC_PASSWORD']} 'https://localhost:9200/_cluster/health'"
    )

    def green() -> bool:
        told = json.loads(stack.shell(f"{health} || echo '{{}}'") or "{}")
        return (told.get("status"), told.get("number_of_nodes")) == ("green", 3)

    stack.wait_until(green, "three nodes do not become green")
    stack.wait_until_ready()
    stack.shell("docker compose kill elasticsearch-3")
    stack.wait_until(lambda: stack.get("/api/search?q=calm+a+herd")[0] == 200, "no answer after a node died")
    assert stack.names("calm a herd")[0] == "tame_llamas"
