"""A real Docker engine with Compose for the tests, and stand-ins for images that cannot be pulled.

An engine that already runs is used as it is. Otherwise root starts one, with its data in a cache outside the checkout,
so that images are built once a machine. Where no registry answers, mmdebstrap makes the base of the Dockerfile, and
Elasticsearch's image comes from the distribution that the other tests use.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.elasticsearch_download import ServerMissing, fetch, java_home
from tests.elasticsearch_server import fit_options

ROOT = Path(__file__).parents[2]
STANDINS = Path(__file__).parent / "standins"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "treeline" / "docker"
COMPOSE = "v2.29.7"
COMPOSE_MODULE = f"github.com/docker/compose/v2/cmd@{COMPOSE}"
START_SECONDS = 60
DEBIAN = "treeline-test/debian:bookworm"


class EngineMissing(RuntimeError):
    """No engine can be had here; the message says why."""


@dataclass(frozen=True)
class Docker:
    """A running engine: the environment in which `docker` and `docker compose` reach it."""

    environment: Mapping[str, str]

    def run(self, *arguments: str, seconds: float = 900, **options: object) -> str:
        """Run `docker ARGUMENTS…` and return what it printed."""
        done = subprocess.run(
            ["docker", *arguments],
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=seconds,
            **options,  # type: ignore[call-overload]
        )
        assert done.returncode == 0, f"docker {' '.join(arguments)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return str(done.stdout)

    def has_image(self, name: str) -> bool:
        asked = subprocess.run(
            ["docker", "image", "inspect", name], env=dict(self.environment), capture_output=True, check=False
        )
        return asked.returncode == 0


@contextmanager
def docker_engine() -> Iterator[Docker]:
    """The engine that runs, or one started for the tests and stopped after them; raises `EngineMissing`."""
    if shutil.which("docker") is None:
        raise EngineMissing("there is no docker command: apt-get install docker.io")
    environment = {**os.environ, "DOCKER_CONFIG": str(compose_plugin()), "DOCKER_BUILDKIT": "0"}
    if answers(environment):
        yield Docker(environment)
        return
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        raise EngineMissing("no Docker engine runs, and only root with docker.io installed can start one")
    with started(environment) as docker:
        yield docker


def answers(environment: Mapping[str, str]) -> bool:
    asked = subprocess.run(["docker", "info"], env=dict(environment), capture_output=True, check=False)
    return asked.returncode == 0


@contextmanager
def started(environment: Mapping[str, str]) -> Iterator[Docker]:
    """A dockerd with its own socket and its images in the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    state = Path(tempfile.mkdtemp(prefix="treeline-dockerd-"))
    host = f"unix://{state}/docker.sock"
    command = ["dockerd", "--host", host, "--data-root", str(CACHE / "data"), "--exec-root", str(state / "exec")]
    command += ["--pidfile", str(state / "docker.pid")]
    with (state / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    docker = Docker({**environment, "DOCKER_HOST": host})
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(docker.environment):
            if process.poll() is not None or time.monotonic() > deadline:
                raise EngineMissing(f"dockerd did not start: {(state / 'log').read_text()[-500:]}")
            time.sleep(0.2)
        yield docker
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(state, ignore_errors=True)


def compose_plugin() -> Path:
    """A configuration folder whose Compose plugin is the installed one, or one built from its Go module."""
    config = CACHE / "config"
    plugin = config / "cli-plugins" / "docker-compose"
    if plugin.exists() or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0:
        config.mkdir(parents=True, exist_ok=True)
        return config
    if shutil.which("go") is None:
        raise EngineMissing("there is no docker compose, and no go to build it with")
    plugin.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        environment = {**os.environ, "GOBIN": scratch, "CGO_ENABLED": "0"}
        flags = f"-s -w -X github.com/docker/compose/v2/internal.Version={COMPOSE}"
        command = ["go", "install", "-trimpath", "-ldflags", flags, COMPOSE_MODULE]
        if subprocess.run(command, env=environment, cwd=scratch, capture_output=True, check=False).returncode:
            raise EngineMissing("docker compose could not be built from its Go module")
        (Path(scratch) / "cmd").rename(plugin)
    return config


def provide_images(docker: Docker, base: str, elasticsearch: str) -> None:
    """Make sure that both images are there: pulled, or as stand-ins under their names."""
    for name, build in ((base, build_base), (elasticsearch, build_elasticsearch)):
        if docker.has_image(name):
            continue
        pulled = subprocess.run(
            ["docker", "pull", "--quiet", name], env=dict(docker.environment), capture_output=True, check=False
        )
        if pulled.returncode:
            build(docker, name)


def build_base(docker: Docker, name: str) -> None:
    """Debian 12 with its Python 3.11, under the name of the Dockerfile's base."""
    debian(docker)
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder)
        shutil.copy(STANDINS / "python.Dockerfile", context / "Dockerfile")
        machine_settings(context / "machine")
        docker.run("build", "--network", "host", "--tag", name, "--build-arg", f"DEBIAN={DEBIAN}", folder)


def build_elasticsearch(docker: Docker, name: str) -> None:
    """The test distribution with the official image's folders, user and environment-to-setting rule."""
    debian(docker)
    version = name.rpartition(":")[2]
    try:
        home, java = fetch(version), java_home(version)
    except ServerMissing as missing:
        raise EngineMissing(str(missing)) from missing
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder)
        shutil.copy(STANDINS / "elasticsearch.Dockerfile", context / "Dockerfile")
        shutil.copy(STANDINS / "elasticsearch-entrypoint.sh", context / "entrypoint.sh")
        shutil.copytree(home, context / "elasticsearch", symlinks=True)
        fit_options(context / "elasticsearch" / "config" / "jvm.options", java)
        shutil.copytree(java, context / "java")  # what its links lead to: Debian's has its settings elsewhere
        machine_settings(context / "machine")
        docker.run("build", "--network", "host", "--tag", name, "--build-arg", f"DEBIAN={DEBIAN}", folder)


def debian(docker: Docker) -> None:
    """A bare Debian 12 with Python, made from Debian's packages."""
    if docker.has_image(DEBIAN):
        return
    if shutil.which("mmdebstrap") is None:
        raise EngineMissing("no image can be pulled, and there is no mmdebstrap: apt-get install mmdebstrap")
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "debian.tar"
        include = "--include=python3,python3-venv,ca-certificates"
        command = ["mmdebstrap", "--quiet", "--variant=minbase", include, "bookworm", str(archive)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            raise EngineMissing("mmdebstrap could not make a Debian image")
        docker.run("import", str(archive), DEBIAN)


def machine_settings(folder: Path) -> None:
    """How this machine reaches its package registries: certificates, pip and apt configuration."""
    for source in (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/pip.conf"), Path("/etc/apt/apt.conf.d")):
        target = folder / source.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy(source, target)
